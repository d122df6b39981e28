"""A planned scene: what it holds, before anything has a place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from generator.scene.exchange import Exchange


@dataclass(frozen=True)
class Planned:
    """What a scene shall hold, before anything has a place.

    `objects`: (category, attribute values by kind), left object first. `depth_order`: for each of them its rank from
    front to behind, 0 the nearest to the camera. `rests_on` and `clumps` are those of a Layout (scene/layouts.py).

    A scene and its twin (minimal_pairs.py) have the same contents, those of the scene, and the same `exchange`;
    `twin_of` of the twin is the scene's id. `part` and `split` say which part of the world and which of its splits the
    scene is made for, None over the grid; `named` lists its objects in the order in which its label names them (class
    lists).

    `record` is a scene of another world as it recorded it (JSON): it is rendered as it is, and nothing else of the plan
    matters.
    """

    scene_id: str
    cluster_id: str
    objects: tuple[tuple[str, dict[str, str]], ...]
    depth_order: tuple[int, ...]
    environment: str
    rests_on: tuple[int | None, ...] = ()
    clumps: tuple[int, ...] = ()
    exchange: Exchange | None = None
    twin_of: str | None = None
    part: int = 0
    split: str | None = None
    named: tuple[int, ...] = ()
    record: str | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Planned":
        """The inverse of dataclasses.asdict, also when the data went through JSON."""
        objects = tuple((category, attributes) for category, attributes in data["objects"])
        exchange = Exchange(*data["exchange"]) if data["exchange"] else None
        tuples = {name: tuple(data[name]) for name in ("depth_order", "rests_on", "clumps", "named")}
        return cls(**{**data, **tuples, "objects": objects, "exchange": exchange})


class Scenes(Protocol):
    """Planned scenes that can be counted, and gone through more than once."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Planned]: ...


def scene_id(number: int) -> str:
    """The id of the scene of that number in a plan."""
    return f"{number:06d}"
