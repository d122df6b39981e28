"""Scenes to render: planned scenes, which have no positions yet, and scenes that a world
recorded."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from generator.scene.exchange import Exchange
from generator.scene.ladder import Ladder
from generator.scene.own_side import OwnSide

Attributes = dict[str, str]
"""Attribute values by kind."""


class Planned(NamedTuple):
    """The planned contents of a scene, without positions."""

    scene_id: str
    """Its number in the plan, with six digits; it names the scene's files."""
    cluster_id: str
    """The cluster of its arrangement (holdout/membership.py)."""
    objects: tuple[tuple[str, Attributes], ...]
    """(Category, attribute values by kind) of each object, left object first."""
    depth_order: tuple[int, ...]
    """The rank of each object from front to behind, 0 nearest to the camera."""
    environment: str
    """The name of its place in the vocabulary."""
    rests_on: tuple[int | None, ...] = ()
    """As in a Layout (scene/layouts.py)."""
    clumps: tuple[int, ...] = ()
    """As in a Layout."""
    own_sides: tuple[OwnSide, ...] = ()
    """As in a Layout."""
    exchange: Exchange | None = None
    """What distinguishes the two scenes of a minimal pair, which both have the same plan; None if
    the scene has no twin."""
    twin_of: str | None = None
    """For a twin, the id of its scene."""
    part: int = 0
    """The part of the world that the scene is made for."""
    split: str | None = None
    """The split of that part that the scene is made for; None over the grid, and where several
    holdouts share all scenes."""
    named: tuple[int, ...] = ()
    """Of class lists: the objects, by index, in the order of the scene's label."""
    yaw: float = 0.0
    """As in a Scene."""
    azimuth: float | None = None
    """Of the camera, as in a Scene; for a turn twin, that of its scene."""
    turn: float | None = None
    """By how many degrees the camera is turned between the two scenes of a turn twin, which both
    have the same plan; None if there is no such twin."""
    ladder: Ladder | None = None
    """Its step of a ladder; all scenes of a ladder have the same objects and the same exchange.
    None in other worlds."""

    def arrangement(self, kind: str) -> tuple[tuple[str, str], ...]:
        """(value of an attribute kind, category) of each object, left object first."""
        return tuple((attributes[kind], category) for category, attributes in self.objects)

    def to_row(self) -> dict[str, Any]:
        """A row of `generator.dataset.records.plan_schema`, JSON-ready. It has only the columns
        that the scene needs."""
        none_of_each = (None,) * len(self.objects)
        objects = []
        for (category, attributes), depth, lower, clump in zip(
            self.objects,
            self.depth_order,
            self.rests_on or none_of_each,
            self.clumps or none_of_each,
            strict=True,
        ):
            objects.append(
                {
                    "category": category,
                    "attributes": attributes,
                    "depth": depth,
                    "rests_on": lower,
                    "clump": clump,
                }
            )
        viewpoint = {}
        if self.azimuth is not None:
            viewpoint = {"azimuth": self.azimuth, "turn": self.turn}
        ladder = {}
        if self.ladder is not None:
            ladder = {"ladder": self.ladder._asdict()}
        own_sides = {}
        if self.own_sides:
            own_sides = {"own_sides": [side._asdict() for side in self.own_sides]}
        return {
            **{name: getattr(self, name) for name in _SAME_IN_ROW},
            **viewpoint,
            **ladder,
            **own_sides,
            "named": list(self.named),
            "objects": objects,
            "exchange": self.exchange._asdict() if self.exchange else None,
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Planned":
        """The inverse of `to_row`. Raises KeyError, TypeError or ValueError for anything else."""
        objects, exchange, ladder = row["objects"], row["exchange"], row.get("ladder")
        rests_on = tuple(obj["rests_on"] for obj in objects)
        clumps = tuple(obj["clump"] for obj in objects)
        own_sides = row.get("own_sides") or ()
        contents = []
        for obj in objects:
            # Arrow stores attributes as pairs (kind, value).
            contents.append((obj["category"], dict(obj["attributes"])))
        return cls(
            **{name: row[name] for name in _SAME_IN_ROW},
            named=tuple(row["named"]),
            objects=tuple(contents),
            depth_order=tuple(obj["depth"] for obj in objects),
            rests_on=() if all(lower is None for lower in rests_on) else rests_on,
            clumps=() if None in clumps else clumps,
            own_sides=tuple(map(OwnSide.from_row, own_sides)),
            exchange=Exchange(**exchange) if exchange else None,
            azimuth=row.get("azimuth"),
            turn=row.get("turn"),
            ladder=Ladder.from_row(ladder) if ladder else None,
        )


_SAME_IN_ROW = ("scene_id", "cluster_id", "twin_of", "part", "split", "environment", "yaw")
"""The fields of `Planned` that a row has under the same name with the same value."""


class Recorded(NamedTuple):
    """A scene as a world recorded it; it is rendered without changes."""

    scene_id: str
    """As in `Planned`."""
    scene: str
    """The JSON of a Scene."""
    cluster_id: str = ""
    """As in `Planned`; "" for a scene of no world."""
    twin_of: str | None = None
    """As in `Planned`."""

    def to_row(self) -> dict[str, Any]:
        """The fields by name, JSON-ready."""
        return self._asdict()


Job = Planned | Recorded
"""A scene to render."""


def read_job(row: Mapping[str, Any]) -> Job:
    """The inverse of `to_row`: a scene to render."""
    return Recorded(**row) if "scene" in row else Planned.from_row(row)


SceneJob = TypeVar("SceneJob", bound=Job, covariant=True)


class Scenes(Protocol[SceneJob]):
    """Scenes to render, with a length; they can be iterated repeatedly."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[SceneJob]: ...


def scene_id(number: int) -> str:
    """The id of the scene of that number in a plan."""
    return f"{number:06d}"
