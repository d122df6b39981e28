"""A scene: objects with attributes and poses, camera and lamps; written and read as JSON."""

import json
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from generator.base.errors import UserError

Point = tuple[float, float, float]
"""World coordinates in metres, z up; or three numbers such as a colour."""


@dataclass(frozen=True)
class SceneObject:
    """An object and its pose."""

    category: str
    """A name of the vocabulary's objects."""
    attributes: dict[str, str]
    """Values by attribute kind."""
    position: Point
    """The point under its centre on which it stands, in metres, z up: on the ground (z = 0), or on
    the top of the object that carries it."""
    heading: float
    """Its turn about the vertical in radians, counter-clockwise seen from above; 0 faces +x."""


@dataclass(frozen=True)
class Camera:
    """A pinhole camera; up is +z."""

    position: Point
    """Metres."""
    target: Point
    """The point in the middle of the image, metres."""
    lens: float
    """The focal length, millimetres."""
    sensor: float
    """The width of the sensor, millimetres; it spans the longer side of the image."""


@dataclass(frozen=True)
class Lamp:
    """A lamp that shines at the origin."""

    type: str
    """area or sun."""
    energy: float
    """Watts (area), or watts per square metre (sun)."""
    size: float | None
    """The side of an area lamp, metres; None for a sun."""
    color: Point
    """Linear red, green and blue."""
    position: Point
    """Metres."""


class Rung(NamedTuple):
    """The step of a ladder that a scene is (generator/scene/ladder.py)."""

    factor: str
    """What the ladder grades, such as contrast."""
    magnitude: float
    """How much of the factor the scene has. Of the factor caption-length, the most objects that a
    caption names."""
    targets: tuple[int, int]
    """The two objects, from left to right, that captions name at every step."""


@dataclass(frozen=True)
class Scene:
    """Everything needed to render an image again, except its size and quality."""

    objects: tuple[SceneObject, ...]
    """The objects, from left to right as the camera sees them."""
    camera: Camera
    """Where the camera stands; its position is jittered by scene."""
    lamps: dict[str, Lamp]
    """The lamps by name."""
    environment: str
    """The name of its place in the vocabulary."""
    yaw: float = 0.0
    """The viewing direction of the camera, degrees; in a photographed place, to the right of the
    panorama's left edge."""
    azimuth: float | None = None
    """How far the camera stands turned about the vertical from the family's camera, degrees,
    counter-clockwise as seen from above; None in worlds without viewpoints."""
    rung: Rung | None = None
    """Its step of a ladder; None in other worlds."""

    def to_json(self) -> str:
        """Compact JSON with sorted keys; numbers read back exactly."""
        data = asdict(self)
        # Scenes without a direction, an azimuth or a rung are written as before there were any.
        if not self.yaw:
            del data["yaw"]
        if self.azimuth is None:
            del data["azimuth"]
        if self.rung is None:
            del data["rung"]
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Scene":
        """The inverse of `to_json`.

        Raises:
            UserError: this is other JSON, as a damaged table of scenes may hold.
        """
        try:
            return cls._from_data(json.loads(text))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise UserError(
                f"The world has a damaged scene ({type(error).__name__}: {error}); restore its "
                f"scenes.parquet or make the world again."
            ) from None

    @classmethod
    def _from_data(cls, data: dict[str, Any]) -> "Scene":
        objects = tuple(
            SceneObject(
                category=_text(obj["category"]),
                attributes=_texts(obj["attributes"]),
                position=_point(obj["position"]),
                heading=obj["heading"],
            )
            for obj in data["objects"]
        )
        camera = Camera(
            position=_point(data["camera"]["position"]),
            target=_point(data["camera"]["target"]),
            lens=data["camera"]["lens"],
            sensor=data["camera"]["sensor"],
        )
        lamps = {
            name: Lamp(
                type=lamp["type"],
                energy=lamp["energy"],
                size=lamp["size"],
                color=_point(lamp["color"]),
                position=_point(lamp["position"]),
            )
            for name, lamp in data["lamps"].items()
        }
        yaw, azimuth = data.get("yaw", 0.0), data.get("azimuth")
        rung = _rung(data["rung"]) if "rung" in data else None
        return cls(objects, camera, lamps, data["environment"], yaw, azimuth, rung)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r:.40}")
    return value


def _texts(values: dict[str, Any]) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}


def _rung(values: list[Any]) -> Rung:
    factor, magnitude, (first, second) = values
    return Rung(_text(factor), float(magnitude), (int(first), int(second)))


def _point(values: list[float]) -> Point:
    x, y, z = values
    return (x, y, z)
