"""What the JSON files of a dataset hold. A damaged file is named in a sentence where it is read, not in a traceback where it is used."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from generator.base.errors import UserError

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

    sums: str
    name: str
    world: str
    holdout: HoldoutRecord | None
    held_out: str
    scenes: dict[str, int]
    texts: TextsRecord
    request: dict[str, Any]
    declared_leaks: list[str]


class IndexRecord(TypedDict, total=False):
    """dataset.json: the digests of the components."""

    world: str | None
    benchmarks: dict[str, str]


_SHAPES: dict[Any, TypeAdapter[Any]] = {}


def check_shape(data: Mapping[str, Any], shape: Any, path: Path) -> None:
    """Raise UserError where the record in the file `path` has a value of another type than `shape`, a TypedDict, says.

    Keys that it lacks are told where they are needed (`generator.base.files.Record`); others are let through.
    """
    if shape not in _SHAPES:
        _SHAPES[shape] = TypeAdapter(shape)
    try:
        _SHAPES[shape].validate_python(data, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        told = f"{place}: {first['msg'][0].lower()}{first['msg'][1:]}" if place else first["msg"]
        raise UserError(f"{path} is damaged ({told}); restore it or make it again.") from None
