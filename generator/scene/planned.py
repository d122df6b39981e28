"""Scenes to render: planned scenes, which have no positions yet, and scenes that a world
recorded."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from generator.scene.exchange import Exchange

Attributes = dict[str, str]
"""Attribute values by kind."""


class Planned(NamedTuple):
    """The planned contents of a scene, without positions.

    `objects`: (category, attribute values by kind), left object first. `depth_order`: the rank of
    each object from
    front to behind, 0 nearest to the camera. `rests_on`, `clumps`: as in a Layout
    (scene/layouts.py). `yaw`: as in a
    Scene.

    A twin (minimal_pairs.py) has the contents and the `exchange` of its scene; its `twin_of` is the
    scene's id. `part`,
    `split`: the part of the world, and its split, that the scene is made for; `split` is None over
    the grid. `named`:
    the objects, by index, in the order of the scene's label (class lists).
    """

    scene_id: str
    cluster_id: str
    objects: tuple[tuple[str, Attributes], ...]
    depth_order: tuple[int, ...]
    environment: str
    rests_on: tuple[int | None, ...] = ()
    clumps: tuple[int, ...] = ()
    exchange: Exchange | None = None
    twin_of: str | None = None
    part: int = 0
    split: str | None = None
    named: tuple[int, ...] = ()
    yaw: float = 0.0

    def arrangement(self, kind: str) -> tuple[tuple[str, str], ...]:
        """(value of an attribute kind, category) of each object, left object first."""
        return tuple((attributes[kind], category) for category, attributes in self.objects)

    def to_row(self) -> dict[str, Any]:
        """A row of `generator.dataset.records.PLAN`, JSON-ready."""
        unknown = (None,) * len(self.objects)
        layouts = zip(
            self.objects,
            self.depth_order,
            self.rests_on or unknown,
            self.clumps or unknown,
            strict=True,
        )
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            "named": list(self.named),
            "objects": [
                {
                    "category": category,
                    "attributes": attributes,
                    "depth": depth,
                    "rests_on": lower,
                    "clump": clump,
                }
                for (category, attributes), depth, lower, clump in layouts
            ],
            "exchange": self.exchange._asdict() if self.exchange else None,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Planned":
        """The inverse of `to_row`. Raises KeyError, TypeError or ValueError for anything else."""
        objects, exchange = row["objects"], row["exchange"]
        depths, rests_on, clumps = (
            tuple(each[name] for each in objects) for name in ("depth", "rests_on", "clump")
        )
        return cls(
            **{name: row[name] for name in _PLAIN},
            named=tuple(row["named"]),
            objects=tuple((each["category"], dict(each["attributes"])) for each in objects),
            depth_order=depths,
            rests_on=() if all(lower is None for lower in rests_on) else rests_on,
            clumps=() if None in clumps else clumps,
            exchange=Exchange(**exchange) if exchange else None,
        )


_PLAIN = ("scene_id", "cluster_id", "twin_of", "part", "split", "environment", "yaw")


class Recorded(NamedTuple):
    """A scene as a world recorded it (JSON of a Scene); it is rendered without changes."""

    scene_id: str
    scene: str
    cluster_id: str = ""
    twin_of: str | None = None

    def to_row(self) -> dict[str, Any]:
        """The fields by name, JSON-ready."""
        return self._asdict()


Job = Planned | Recorded
"""A scene to render."""


def read_job(row: Mapping[str, Any]) -> Job:
    """The inverse of `to_row`: a scene to render."""
    return Recorded(**row) if "scene" in row else Planned.from_row(row)


Each = TypeVar("Each", bound=Job, covariant=True)


class Scenes(Protocol[Each]):
    """Scenes to render, with a length; they can be iterated repeatedly."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Each]: ...


def scene_id(number: int) -> str:
    """The id of the scene of that number in a plan."""
    return f"{number:06d}"
