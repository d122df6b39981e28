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
from generator.base.tables import metadata_of, read_schema

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


class ViewedPlanRow(PlanRow):
    """A scene to render, of a world with viewpoints."""

    azimuth: Annotated[
        float,
        pa.float64(),
        "turn of the camera about the vertical, degrees; of a turn twin, that of its scene",
    ]
    turn: Annotated[
        float | None,
        pa.float64(),
        "turn of the camera between the two scenes of a turn twin, degrees",
    ]


class PlannedOwnSide(TypedDict):
    """A direction in an object's own frame, which the plan of a scene decides."""

    subject: Annotated[int, "position of the object that stands there"]
    relation: Annotated[str, "name of the direction, such as own-left"]
    object: Annotated[int, "position of the object that looks"]
    is_straight: Annotated[bool, "whether neither direction of the other axis holds"]


class OwnSidesColumn(TypedDict):
    """What is added to a scene to render, of a world in which directions of objects' own frames are
    held out."""

    own_sides: Annotated[
        list[PlannedOwnSide] | None,
        "where the other object stands in the own frame of those whose heading the plan decides; "
        "null if it decides none",
    ]


class PlannedLadder(TypedDict):
    """The place of a scene in its ladder."""

    factor: Annotated[str, "what the ladder grades, such as contrast"]
    magnitudes: Annotated[
        list[float],
        pa.list_(pa.float64()),
        "magnitude of the factor at each step, from the easiest to the hardest",
    ]
    step: Annotated[int, "step of the scene, from 0"]
    is_exchanged: Annotated[bool, "whether the two targets have exchanged their values"]
    targets: Annotated[list[int], "positions of the two objects that every caption names"]
    distractors: Annotated[
        list[int], "positions of the other objects, in the order in which they appear or interfere"
    ]


class LadderPlanRow(PlanRow):
    """A scene to render, of a world of ladders."""

    ladder: Annotated[PlannedLadder, "its step of a ladder"]


class RenderedObject(TypedDict):
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


class RenderedRelation(TypedDict):
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
    objects: Annotated[list[RenderedObject], "the objects, from left to right"]
    relations: Annotated[
        list[RenderedRelation], "the relations that hold by more than their margins"
    ]
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
    """A column, or a field of the structs in it."""

    name: str
    """As in the table."""
    type: pa.DataType
    """Of its cells."""
    meaning: str
    """In words, for docs/dataset.md and Croissant."""
    fields: "tuple[Column, ...]" = ()
    """Of its structs; empty for plain values."""


def columns_of(row: Any) -> tuple[Column, ...]:
    """List the columns of a table.

    Args:
        row: The declaration of its rows, a TypedDict such as SceneRow.

    Returns:
        The columns in their order.

    Example:
        >>> [column.name for column in columns_of(PoolRow)]
        ['pool_id', 'text_id']
    """
    hints = get_type_hints(row, include_extras=True)
    return tuple(_column(name, hint) for name, hint in hints.items())


def _column(name: str, hint: Any) -> Column:
    """A column from its annotation: Annotated[Python type, Arrow type if needed, meaning]."""
    python_type, *arrow_types, meaning = get_args(hint)
    # Without the None of a column that may be null.
    if NoneType in get_args(python_type):
        (python_type,) = (part for part in get_args(python_type) if part is not NoneType)
    is_list = get_origin(python_type) is list
    element = get_args(python_type)[0] if is_list else python_type
    fields = columns_of(element) if is_typeddict(element) else ()
    if arrow_types:
        return Column(name, arrow_types[0], meaning, fields)
    if get_origin(python_type) is dict:
        return Column(name, pa.map_(pa.string(), pa.string()), meaning, fields)
    if fields:
        arrow_type = pa.struct([(column.name, column.type) for column in fields])
    else:
        arrow_type = _ARROW[element]
    return Column(name, pa.list_(arrow_type) if is_list else arrow_type, meaning, fields)


def _schema(row: Any) -> pa.Schema:
    return pa.schema([(column.name, column.type) for column in columns_of(row)])


TRAIN = "train"
"""The protocol of the items that train a model, and their split."""
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
"""The declaration of each table's rows, by the name of its file."""
KEYS = {
    "plan": ("scene_id",),
    "scenes": ("scene_id",),
    "splits": ("scene_id",),
    "texts": ("text_id",),
    "items": ("item_id",),
    "candidates": ("item_id", "scene_id", "text_id"),
    "pools": ("pool_id", "text_id"),
}
"""The columns that identify a row of each table."""
PLAN, SCENES, PACKED, TRUTH, SCORES = (
    _schema(ROWS[name]) for name in ("plan", "scenes", "packed", "truth", "scores")
)
PLAN_WITH_VIEWPOINTS = _schema(ViewedPlanRow)
"""The plan of a world with viewpoints. Other plans keep the columns that they had before."""
PLAN_OF_LADDERS = _schema(LadderPlanRow)
"""The plan of a world of ladders."""
OWN_SIDES = _schema(OwnSidesColumn).field("own_sides")
"""The column that is added to the plan of a world in which directions of objects' own frames are
held out."""
BENCHMARK_TABLES = {
    name: _schema(ROWS[name]) for name in ("splits", "texts", "items", "candidates", "pools")
}
TEXTS, ITEMS, CANDIDATES = (BENCHMARK_TABLES[name] for name in ("texts", "items", "candidates"))

# JSON files

Pair = Annotated[list[str], Field(min_length=2, max_length=2)]
Triple = Annotated[list[str], Field(min_length=3, max_length=3)]


class ClassRecord(TypedDict, total=False):
    """A label of the design gzsl."""

    split: str
    """The split of the images that show it."""
    label: Annotated[list[str], Field(min_length=2, max_length=3)]
    """A binding [value, category], or a triple [category, relation, category]."""


class DoseRecord(TypedDict):
    """Held-out bindings that training shows a counted number of times, in a HoldoutRecord."""

    times: int
    """Training scenes that show each of the bindings."""
    bindings: list[Pair]
    """Each [value, category]."""
    scenes: list[str]
    """scene_id of the training scenes that show one of them."""


class HoldoutRecord(TypedDict, total=False):
    """holdout.json, and a holdout in a request: what training never shows.

    `generator.holdout.holdout.Holdout` is its object.
    """

    kind: str
    """The attribute kind under test, such as color."""
    category: str
    """The vocabulary's word for categories, such as shape."""
    values: list[str]
    """Values of the held-out block."""
    objects: list[str]
    """Categories of the held-out block."""
    block_seed: int
    """Seed that drew the block."""
    bindings: list[Pair]
    """Every held-out [value, category]."""
    triples: list[Triple]
    """Every held-out [category, relation, category], closed under converse and, if `opposites`,
    under opposite."""
    opposites: bool
    """Whether the opposite of a held-out relation is held out too."""
    absent_values: list[str]
    """Values that training does not show at all (design systematicity)."""
    absent_objects: list[str]
    """Categories that training does not show at all."""
    design: str
    """Name of the design."""
    asked: list[str]
    """The values of --holdout."""
    classes: list[ClassRecord]
    """Labels of the design gzsl; empty for others."""
    task: str | None
    """Task of the design gzsl; None for others."""
    asymmetric: bool
    """Whether clusters in which truth and foil differ in familiarity have splits of their own."""
    turn: int | None
    """Number of the turn of a rotation, from 0; None for other designs."""
    value_groups: list[list[str]]
    """Groups of values of a rotation, or of own directions; turn k holds out group i with group
    i + k of the objects."""
    object_groups: list[list[str]]
    """Groups of categories of a rotation."""
    doses: list[DoseRecord]
    """Held-out bindings that training shows a counted number of times; empty for none."""


class RequestRecord(TypedDict, total=False):
    """The request of a world or plan: everything that decides its bytes."""

    family: str
    """Name of the family."""
    vocabulary: str
    """Text of vocabulary.toml."""
    width: int
    """Of the images, in pixels."""
    height: int
    """Of the images, in pixels."""
    seed: int
    """Of the scenes."""
    block_seed: int | list[int]
    """One seed for each holdout that is drawn."""
    objects: list[int]
    """Smallest and largest number of objects of a scene."""
    outputs: list[str]
    """Outputs besides images, such as masks."""
    quality: dict[str, Any]
    """Settings of the renderer, as blender_assets/quality.toml declares them."""
    device: str
    """Class of the device that rendered: cpu or a kind of GPU."""
    blender: str
    """Version of Blender."""
    design: str
    """Name of the design of the holdouts."""
    opposites: bool
    """Whether the opposite of a held-out relation is held out too."""
    pairs: bool
    """Whether half of the evaluation scenes are twins of the others."""
    exchange: str | None
    """What twins exchange; None for the family's default."""
    viewpoints: int
    """Number of azimuths of the camera; absent without viewpoints and turn twins."""
    turns: list[float]
    """Turns of the camera between a scene and its turn twin, degrees; empty without such twins."""
    own_sides: bool
    """Whether the plan decides on which own side of an object another stands; absent if not."""
    even_bindings: bool
    """Whether combinations are equally frequent too; absent if not."""
    shard: list[int]
    """Number and count of the part of the scenes that this world has."""
    tar_bytes: int
    """Size of the tars that hold the files; absent if they are in folders."""
    assets: dict[str, Any]
    """Name and digest of the set of meshes."""
    holdouts: list[HoldoutRecord]
    """The holdouts that the scenes are planned for."""


class WorldManifest(TypedDict, total=False):
    """manifest.json of a world."""

    version: str
    """Of the code that wrote it."""
    sums: str
    """SHA-256 of SHA256SUMS: the digest of the world."""
    request: RequestRecord
    """Everything that decides its bytes."""
    scenes: int
    """Number of scenes, failed ones included."""
    failed: int
    """Number of scenes that could not be placed or rendered."""


class TextsRecord(TypedDict, total=False):
    """Counts of a benchmark's items, in its manifest."""

    items: dict[str, int]
    """Items by protocol."""
    dropped: dict[str, int]
    """Items that were not written, by reason."""
    refused: dict[str, int]
    """Foils that were refused, by reason."""


class BenchmarkManifest(TypedDict, total=False):
    """manifest.json of a benchmark."""

    version: str
    """Of the code that wrote it."""
    sums: str
    """SHA-256 of SHA256SUMS: the digest of the benchmark."""
    name: str
    """Name of its folder."""
    world: str
    """Digest of its world."""
    holdout: HoldoutRecord | None
    """What training never shows; None if nothing is held out."""
    held_out: str
    """The holdout in words."""
    scenes: dict[str, int]
    """Scenes by split."""
    texts: TextsRecord
    """How the texts were drawn, and how many there are."""
    request: dict[str, Any]
    """Options of `gen describe`: everything that decides its texts."""
    declared_leaks: list[str]
    """Leaks of the published design that the preset keeps, each named."""
    empty_cells: list[str]
    """Protocol, kind and split without questions, each named."""


class IndexRecord(TypedDict, total=False):
    """dataset.json: the digests of the components."""

    world: str | None
    """None while the world is unfinished."""
    benchmarks: dict[str, str]
    """Digest by name."""


def plan_schema(request: Mapping[str, Any]) -> pa.Schema:
    """Make the schema of a plan.

    Args:
        request: The request that it was planned for.

    Returns:
        PLAN, or PLAN_WITH_VIEWPOINTS for a world with viewpoints, or PLAN_OF_LADDERS for one of
        ladders; with OWN_SIDES where directions in objects' own frames are held out. Its metadata
        have the request and the format.
    """
    # Columns are added only where a world needs them, so that the plans of all others keep their
    # bytes.
    columns = PLAN
    if "viewpoints" in request:
        columns = PLAN_WITH_VIEWPOINTS
    elif "ladder" in request:
        columns = PLAN_OF_LADDERS
    if request.get("own_sides"):
        columns = columns.append(OWN_SIDES)
    return columns.with_metadata({"format": FORMAT, "request": json.dumps(request, sort_keys=True)})


def plan_request(folder: Path) -> dict[str, Any] | None:
    """Read the request of a plan.

    Args:
        folder: The folder of a world.

    Returns:
        The request, or None if the folder has no plan.

    Raises:
        UserError: The file is damaged, or of another format.
    """
    path = folder / PLAN_FILE
    if not path.exists():
        return None
    try:
        schema = read_schema(path)
        metadata = metadata_of(schema)
        request = parse_json(metadata["request"], path)
        # The columns follow from the request; a table that lacks one is of another version.
        is_plan = isinstance(request, dict) and schema.equals(plan_schema(request))
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise UserError(
            f"{path} is damaged ({error}); plan it again into another folder."
        ) from None
    if not is_plan or metadata.get("format") != FORMAT:
        raise UserError(
            f"{path} is not a plan of this version ('{FORMAT}'); plan it again into another folder."
        )
    check_shape(request, RequestRecord, path)
    return dict(request)
