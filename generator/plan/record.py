"""A planned scene: what it holds, before anything has a place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generator.scene.exchange import Exchange


@dataclass(frozen=True)
class Planned:
    """What a scene shall hold, before anything has a place.

    `objects`: (category, attribute values by kind), left object first. `depth_order`: for each of them its rank from
    front to behind, 0 the nearest to the camera. `rests_on` and `clumps` are those of a Layout (relations.py).

    A scene and its twin (twins.py) have the same contents, those of the scene, and the same `exchange`; `twin_of` of
    the twin is the scene's id. `record` is a scene of another world as it recorded it (JSON): it is rendered as it is,
    and nothing else of the plan matters.
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
    record: str | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Planned":
        """The inverse of dataclasses.asdict, also when the data went through JSON."""
        objects = tuple((category, attributes) for category, attributes in data["objects"])
        exchange = Exchange(*data["exchange"]) if data.get("exchange") else None
        return cls(
            data["scene_id"], data["cluster_id"], objects, tuple(data["depth_order"]), data["environment"],
            tuple(data["rests_on"]), tuple(data["clumps"]), exchange, data.get("twin_of"), data.get("record"),
        )  # fmt: skip
