"""What the files of a dataset hold: its JSON records and its tables, with the columns and types of each."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from pydantic import Field
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from generator.base.errors import UserError
from generator.base.files import check_shape, parse_json
from generator.base.parquet import read_schema

Pair = Annotated[list[str], Field(min_length=2, max_length=2)]
Triple = Annotated[list[str], Field(min_length=3, max_length=3)]


class ClassRecord(TypedDict, total=False):
    """A label of the design gzsl."""

    split: str
    bindings: list[Pair]
    triple: Triple


class HoldoutRecord(TypedDict, total=False):
    """holdout.json, and a holdout in a request; `generator.holdout.holdout.Holdout` says what each key means."""

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


class RequestRecord(TypedDict, total=False):
    """What a world or plan was asked for."""

    family: str
    vocabulary: str
    width: int
    height: int
    seed: int
    block_seed: int | list[int]
    objects: list[int]
    outputs: list[str]
    quality: dict[str, Any]
    engine: str
    device: str
    blender: str
    design: str
    opposites: bool
    pairs: bool
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
    """Counts of a benchmark's items by protocol, and of what was dropped and refused by reason."""

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
    balance: dict[str, dict[str, dict[str, int]]]
    request: dict[str, Any]
    declared_leaks: list[str]


class IndexRecord(TypedDict, total=False):
    """dataset.json: the digests of the components."""

    world: str | None
    benchmarks: dict[str, str]


FORMAT = "jackalope/1"
VERSION = version("jackalope")
"""Of the code that writes a component: the same version makes the same bytes again."""

PLAN = pa.schema(
    [
        ("scene_id", pa.string()),
        ("cluster_id", pa.string()),
        ("twin_of", pa.string()),
        ("part", pa.int32()),
        ("split", pa.string()),
        ("named", pa.list_(pa.int32())),
        ("environment", pa.string()),
        (
            "objects",
            pa.list_(
                pa.struct(
                    [
                        ("category", pa.string()),
                        ("attributes", pa.map_(pa.string(), pa.string())),
                        ("depth", pa.int32()),
                        ("rests_on", pa.int32()),
                        ("clump", pa.int32()),
                    ]
                )
            ),
        ),
        ("exchange", pa.struct([("kind", pa.string()), ("first", pa.int32()), ("second", pa.int32())])),
    ]
)

SCENES = pa.schema(
    [
        ("scene_id", pa.string()),
        ("cluster_id", pa.string()),
        ("twin_of", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        (
            "objects",
            pa.list_(
                pa.struct(
                    [
                        ("index", pa.int32()),
                        ("category", pa.string()),
                        ("attributes", pa.map_(pa.string(), pa.string())),
                        ("amodal_box", pa.list_(pa.int32(), 4)),
                        ("visible_fraction_estimate", pa.float32()),
                    ]
                )
            ),
        ),
        (
            "relations",
            pa.list_(
                pa.struct(
                    [
                        ("subject", pa.int32()),
                        ("relation", pa.string()),
                        ("object", pa.int32()),
                        ("margin", pa.float64()),
                        ("holds", pa.bool_()),
                    ]
                )
            ),
        ),
        ("scene", pa.string()),
    ]
)

PACKED = pa.schema(
    [
        ("path", pa.string()),
        ("tar", pa.string()),
        ("offset", pa.int64()),
        ("size", pa.int64()),
        ("sha256", pa.string()),
    ]
)

SPLITS = pa.schema(
    [
        ("scene_id", pa.string()),
        ("split", pa.string()),
        ("held_out_bindings", pa.list_(pa.string())),
        ("held_out_triples", pa.list_(pa.string())),
    ]
)

TEXTS = pa.schema(
    [
        ("text_id", pa.string()),
        ("text", pa.string()),
        ("form", pa.string()),
        ("template", pa.string()),
        ("level", pa.string()),
        ("n_objects", pa.int32()),
        ("n_attributes", pa.int32()),
        ("n_relations", pa.int32()),
    ]
)

ITEMS = pa.schema(
    [
        ("item_id", pa.string()),
        ("protocol", pa.string()),
        ("kind", pa.string()),
        ("skill", pa.string()),
        ("split", pa.string()),
        ("cluster_id", pa.string()),
        ("pool_id", pa.string()),
        ("held_out_positive", pa.int32()),
        ("held_out_negative", pa.int32()),
    ]
)

CANDIDATES = pa.schema(
    [
        ("item_id", pa.string()),
        ("scene_id", pa.string()),
        ("text_id", pa.string()),
        ("slot", pa.string()),
        ("truth", pa.bool_()),
        ("kind", pa.string()),
        ("changed", pa.list_(pa.string())),
        ("of", pa.string()),
    ]
)

POOLS = pa.schema([("pool_id", pa.string()), ("text_id", pa.string())])

SCORES = pa.schema(
    [
        ("image_id", pa.string()),
        ("text_id", pa.string()),
        ("channel", pa.string()),
        ("score", pa.float32()),
        ("unscored", pa.string()),
    ]
)

BENCHMARK_TABLES = {
    "splits": SPLITS,
    "texts": TEXTS,
    "items": ITEMS,
    "candidates": CANDIDATES,
    "pools": POOLS,
}


PLAN_FILE = "plan.parquet"


def plan_schema(request: Mapping[str, Any]) -> pa.Schema:
    """schema.PLAN with the request and the format in its metadata."""
    return PLAN.with_metadata({"format": FORMAT, "request": json.dumps(request, sort_keys=True)})


def plan_request(folder: Path) -> dict[str, Any] | None:
    """What the plan in the folder of a world was asked for; None where the folder has no plan.

    Raises UserError when the file is damaged or of another format.
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
        raise UserError(f"{path} is damaged ({error}); plan it again into another folder.") from None
    if not whole or metadata.get("format") != FORMAT:
        raise UserError(f"{path} is not a plan of this version ('{FORMAT}'); plan it again into another folder.")
    check_shape(request, RequestRecord, path)
    return dict(request)
