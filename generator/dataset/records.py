"""Declares the files of a dataset: its tables, with the meaning of every column, and its JSON
records.

Arrow schemas, Croissant (card.py) and the tables of docs/dataset.md are made from these
declarations.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pyarrow as pa
from pydantic import Field
from typing_extensions import TypedDict, is_typeddict  # pydantic takes no other before Python 3.12

from generator.base.errors import UserError
from generator.base.files import check_shape, parse_json
from generator.base.tables import read_schema

FORMAT = "jackalope/1"
VERSION = version("jackalope")
"""Version of the code that writes a component: the same version makes the same bytes again."""
PLAN_FILE = "plan.parquet"

# Tables. An annotation has a column's Python type, an Arrow type if that is not enough, and last
# the column's meaning.

_ARROW: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int32(),
    bool: pa.bool_(),
    float: pa.float64(),
}


class PlannedObject(TypedDict):
    """An object of a planned scene."""

    category: Annotated[str, "category of the object"]
    attributes: Annotated[dict[str, str], "its values by attribute kind"]
    depth: Annotated[int, "rank from front to behind, 0 the nearest to the camera"]
    rests_on: Annotated[int | None, "position of the object that carries it; null on the ground"]
    clump: Annotated[
        int | None,
        "number of its group of near objects; null where near and far are left to chance",
    ]


class PlannedExchange(TypedDict):
    """What a minimal pair exchanges."""

    kind: Annotated[str | None, "attribute kind whose values are exchanged; null for positions"]
    first: Annotated[int, "position of the first of the two objects"]
    second: Annotated[int, "position of the second of the two objects"]


class PlanRow(TypedDict):
    """A scene to render."""

    scene_id: Annotated[str, "id of the scene"]
    cluster_id: Annotated[
        str, "group of scenes with the same values and objects in any order or pairing"
    ]
    twin_of: Annotated[str | None, "scene_id of its minimal pair"]
    part: Annotated[int, "number, from 0, of the holdout that it is planned for"]
    split: Annotated[
        str | None, "split that it is planned for; null if every benchmark has its own splits"
    ]
    named: Annotated[
        list[int] | None, "for class lists, the objects in the order in which the label names them"
    ]
    environment: Annotated[str, "name of its environment"]
    yaw: Annotated[
        float, pa.float64(), "direction in which the camera looks in its environment, degrees"
    ]
    objects: Annotated[list[PlannedObject], "its objects, from left to right"]
    exchange: Annotated[PlannedExchange | None, "the exchange that makes a minimal pair"]


class ShownObject(TypedDict):
    """An object of a rendered scene."""

    category: Annotated[str, "category of the object"]
    attributes: Annotated[dict[str, str], "its values by attribute kind"]
    amodal_box: Annotated[
        list[int],
        pa.list_(pa.int32(), 4),
        "its box as if nothing hid it: left, top, right, bottom in whole pixels, right and bottom "
        "exclusive",
    ]
    visible_fraction: Annotated[
        float, pa.float32(), "share of its pixels that no other object hides, 0 to 1"
    ]


class ShownRelation(TypedDict):
    """A relation that holds between two objects of a rendered scene by more than its margin."""

    subject: Annotated[int, "position of the first object"]
    relation: Annotated[str, "name of the relation"]
    object: Annotated[int, "position of the second object"]


class SceneRow(TypedDict):
    """A scene and its image."""

    scene_id: Annotated[str, "id of the scene and name of its image"]
    cluster_id: Annotated[
        str, "group of scenes with the same values and objects in any order or pairing"
    ]
    twin_of: Annotated[str | None, "scene_id of its minimal pair"]
    status: Annotated[str, "ok or failed"]
    reason: Annotated[str | None, "why the scene failed"]
    width: Annotated[int, "pixels"]
    height: Annotated[int, "pixels"]
    objects: Annotated[list[ShownObject], "the objects, from left to right"]
    relations: Annotated[list[ShownRelation], "the relations that hold by more than their margins"]
    scene: Annotated[
        str | None, "JSON: poses, attributes, camera and lamps, enough to render it again"
    ]


class PackedRow(TypedDict):
    """A file of a scene in a tar."""

    path: Annotated[str, "the file"]
    tar: Annotated[str, "the tar"]
    offset: Annotated[int, pa.int64(), "where the file begins in the tar, bytes"]
    size: Annotated[int, pa.int64(), "bytes of the file"]
    sha256: Annotated[str, "SHA-256 of the file"]


class SplitRow(TypedDict):
    """A scene in a benchmark."""

    scene_id: Annotated[str, "the scene"]
    split: Annotated[
        str | None, "train, val, seen, partial or unseen; null for a scene in no split"
    ]
    held_out_bindings: Annotated[list[str], "held-out bindings that the scene shows"]
    held_out_triples: Annotated[list[str], "held-out relation triples that the scene shows"]


class TextRow(TypedDict):
    """A distinct text."""

    text_id: Annotated[str, "content hash of the text"]
    text: Annotated[str, "the words"]
    form: Annotated[str | None, "JSON: what the text asserts"]
    template: Annotated[str | None, "name of the grammar's template"]
    level: Annotated[str | None, "how much the text names: O objects, A attributes, R relations"]
    n_objects: Annotated[int | None, "objects that the text names"]
    n_attributes: Annotated[int | None, "attributes that the text names"]
    n_relations: Annotated[int | None, "relations that the text names"]


class ItemRow(TypedDict):
    """A question to a model."""

    item_id: Annotated[str, "the question"]
    protocol: Annotated[str, "protocol that asks it"]
    kind: Annotated[str | None, "kind of question within the protocol"]
    skill: Annotated[str | None, "skill that it tests"]
    split: Annotated[str | None, "split of its scene"]
    cluster_id: Annotated[str, "group that intervals are computed over"]
    pool_id: Annotated[str | None, "pool of texts that it is asked against; null if it has none"]
    held_out_positive: Annotated[int | None, "held-out bindings in its true texts"]
    held_out_negative: Annotated[
        int | None, "held-out bindings in its false texts; null if it has none"
    ]


class CandidateRow(TypedDict):
    """A pair of image and text of an item."""

    item_id: Annotated[str, "the question"]
    scene_id: Annotated[str, "the image"]
    text_id: Annotated[str, "the text"]
    slot: Annotated[str, "role of the pair in its item"]
    truth: Annotated[bool, "whether the text is true of the image"]
    kind: Annotated[str | None, "kind of falsehood, if an item has several, else null"]
    changed: Annotated[list[str] | None, "changes that made it, as position:kind:old>new"]
    of: Annotated[str | None, "text_id of the text that it was made from"]


class PoolRow(TypedDict):
    """A text of a retrieval pool."""

    pool_id: Annotated[str, "the pool"]
    text_id: Annotated[str, "a text of it"]


class TruthRow(TypedDict):
    """What the judge decided about a scene (truth.parquet)."""

    scene_id: Annotated[str, "the scene"]
    true_texts: Annotated[
        list[int], "rows of texts.parquet, from 0, whose text is true of the scene"
    ]
    undecided_texts: Annotated[
        list[int], "rows of texts.parquet, from 0, whose text is neither true nor false of it"
    ]


class ScoreRow(TypedDict):
    """A scored pair of a run."""

    image_id: Annotated[str, "the image"]
    text_id: Annotated[str, "the text"]
    channel: Annotated[str, "name of the score, for models with several"]
    score: Annotated[float | None, pa.float32(), "the score"]
    unscored: Annotated[str | None, "why the pair has no score"]


@dataclass(frozen=True)
class Column:
    """A column, or a field of the structs in it: its name, Arrow type, meaning and fields."""

    name: str
    type: pa.DataType
    meaning: str
    fields: "tuple[Column, ...]" = ()


def columns_of(row: Any) -> tuple[Column, ...]:
    """The columns of a table, from the declaration of its rows."""
    return tuple(
        _column(name, hint) for name, hint in get_type_hints(row, include_extras=True).items()
    )


def _column(name: str, hint: Any) -> Column:
    declared, *known, meaning = get_args(hint)
    optional = (
        [each for each in get_args(declared) if each is not NoneType]
        if NoneType in get_args(declared)
        else []
    )
    plain = optional[0] if optional else declared
    inner = get_args(plain)[0] if get_origin(plain) is list else plain
    fields = columns_of(inner) if is_typeddict(inner) else ()
    if known:
        kind = known[0]
    elif get_origin(plain) is dict:
        kind = pa.map_(pa.string(), pa.string())
    else:
        kind = pa.struct([(each.name, each.type) for each in fields]) if fields else _ARROW[inner]
        kind = pa.list_(kind) if get_origin(plain) is list else kind
    return Column(name, kind, meaning, fields)


def _schema(row: Any) -> pa.Schema:
    return pa.schema([(each.name, each.type) for each in columns_of(row)])


RAW = "raw"
"""The kind of the items of raw retrieval, which have no foils (CREPE, appendix A.5)."""
ROWS = {
    "plan": PlanRow,
    "scenes": SceneRow,
    "packed": PackedRow,
    "splits": SplitRow,
    "texts": TextRow,
    "items": ItemRow,
    "candidates": CandidateRow,
    "pools": PoolRow,
    "truth": TruthRow,
    "scores": ScoreRow,
}
KEYS = {
    "plan": ("scene_id",),
    "scenes": ("scene_id",),
    "splits": ("scene_id",),
    "texts": ("text_id",),
    "items": ("item_id",),
    "candidates": ("item_id", "scene_id", "text_id"),
    "pools": ("pool_id", "text_id"),
}
PLAN, SCENES, PACKED, TRUTH, SCORES = (
    _schema(ROWS[name]) for name in ("plan", "scenes", "packed", "truth", "scores")
)
BENCHMARK_TABLES = {
    name: _schema(ROWS[name]) for name in ("splits", "texts", "items", "candidates", "pools")
}
TEXTS, ITEMS, CANDIDATES = (BENCHMARK_TABLES[name] for name in ("texts", "items", "candidates"))

# JSON files

Pair = Annotated[list[str], Field(min_length=2, max_length=2)]
Triple = Annotated[list[str], Field(min_length=3, max_length=3)]


class ClassRecord(TypedDict, total=False):
    """A label of the design gzsl: a binding or a triple."""

    split: str
    label: Annotated[list[str], Field(min_length=2, max_length=3)]


class DoseRecord(TypedDict):
    """Held-out bindings that training shows a counted number of times, in a HoldoutRecord."""

    times: int
    bindings: list[Pair]
    scenes: list[str]


class HoldoutRecord(TypedDict, total=False):
    """holdout.json, and a holdout in a request; `generator.holdout.holdout.Holdout` says what each
    key means."""

    kind: str
    category: str
    values: list[str]
    objects: list[str]
    block_seed: int
    bindings: list[Pair]
    triples: list[Triple]
    opposites: bool
    absent_values: list[str]
    absent_objects: list[str]
    design: str
    asked: list[str]
    classes: list[ClassRecord]
    task: str | None
    asymmetric: bool
    turn: int | None
    value_groups: list[list[str]]
    object_groups: list[list[str]]
    doses: list[DoseRecord]


class RequestRecord(TypedDict, total=False):
    """The request of a world or plan."""

    family: str
    vocabulary: str
    width: int
    height: int
    seed: int
    block_seed: int | list[int]
    objects: list[int]
    outputs: list[str]
    quality: dict[str, Any]
    device: str
    blender: str
    design: str
    opposites: bool
    pairs: bool
    exchange: str | None
    shard: list[int]
    tar_bytes: int
    assets: dict[str, Any]
    holdouts: list[HoldoutRecord]


class WorldManifest(TypedDict, total=False):
    """manifest.json of a world."""

    version: str
    sums: str
    request: RequestRecord
    scenes: int
    failed: int


class TextsRecord(TypedDict, total=False):
    """Counts of a benchmark's items by protocol, and of dropped items and refused foils by
    reason."""

    items: dict[str, int]
    dropped: dict[str, int]
    refused: dict[str, int]


class BenchmarkManifest(TypedDict, total=False):
    """manifest.json of a benchmark."""

    version: str
    sums: str
    name: str
    world: str
    holdout: HoldoutRecord | None
    held_out: str
    scenes: dict[str, int]
    texts: TextsRecord
    request: dict[str, Any]
    declared_leaks: list[str]
    empty_cells: list[str]


class IndexRecord(TypedDict, total=False):
    """dataset.json: the digests of the components."""

    world: str | None
    benchmarks: dict[str, str]


def plan_schema(request: Mapping[str, Any]) -> pa.Schema:
    """PLAN with the request and the format in its metadata."""
    return PLAN.with_metadata({"format": FORMAT, "request": json.dumps(request, sort_keys=True)})


def plan_request(folder: Path) -> dict[str, Any] | None:
    """The request of the plan in the folder of a world; None if the folder has no plan.

    Raises UserError if the file is damaged or of another format.
    """
    path = folder / PLAN_FILE
    if not path.exists():
        return None
    try:
        found = read_schema(path)
        metadata = {key.decode(): value.decode() for key, value in (found.metadata or {}).items()}
        request = parse_json(metadata["request"], path)
        whole = isinstance(request, dict) and found.equals(PLAN)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise UserError(
            f"{path} is damaged ({error}); plan it again into another folder."
        ) from None
    if not whole or metadata.get("format") != FORMAT:
        raise UserError(
            f"{path} is not a plan of this version ('{FORMAT}'); plan it again into another folder."
        )
    check_shape(request, RequestRecord, path)
    return dict(request)
