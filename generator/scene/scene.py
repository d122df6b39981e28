"""A scene: objects with attributes and poses, camera and lamps; written and read as JSON."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from generator.base.errors import UserError

Point = tuple[float, float, float]
"""World coordinates in metres, z up; or three numbers such as a colour."""


@dataclass(frozen=True)
class SceneObject:
    """An object: its category, attribute values by kind, and pose.

    `position` is the point under its centre on which it stands, in metres, z up: on the ground (z =
    0), or on the top
    of the object that carries it. `heading` turns it about the vertical, in radians,
    counter-clockwise seen from
    above, 0 facing +x.
    """

    category: str
    attributes: dict[str, str]
    position: Point
    heading: float


@dataclass(frozen=True)
class Camera:
    """A pinhole camera: position and target in metres, lens and sensor width in millimetres; up is
    +z."""

    position: Point
    target: Point
    lens: float
    sensor: float


@dataclass(frozen=True)
class Lamp:
    """A lamp that shines at the origin.

    `type` is "area" or "sun"; `energy` is in watts (area) or watts per square metre (sun); `size`
    and `position` are in
    metres; `color` is linear red, green and blue.
    """

    type: str
    energy: float
    size: float | None
    color: Point
    position: Point


@dataclass(frozen=True)
class Scene:
    """Everything needed to render an image again, except its size and quality.

    `yaw`: the viewing direction of the camera, degrees; in a photographed place, to the right of
    the panorama's left
    edge.
    """

    objects: tuple[SceneObject, ...]
    camera: Camera
    lamps: dict[str, Lamp]
    environment: str
    yaw: float = 0.0

    def to_json(self) -> str:
        """Compact JSON with sorted keys; numbers read back exactly."""
        data = asdict(self)
        if not self.yaw:
            del data["yaw"]
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Scene":
        """The inverse of `to_json`. Raises UserError for other JSON, as a damaged table of scenes
        may hold."""
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
                _text(o["category"]), _texts(o["attributes"]), _point(o["position"]), o["heading"]
            )
            for o in data["objects"]
        )
        camera = data["camera"]
        lamps = {
            name: Lamp(v["type"], v["energy"], v["size"], _point(v["color"]), _point(v["position"]))
            for name, v in data["lamps"].items()
        }
        return cls(
            objects,
            Camera(
                _point(camera["position"]),
                _point(camera["target"]),
                camera["lens"],
                camera["sensor"],
            ),
            lamps,
            data["environment"],
            data.get("yaw", 0.0),
        )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r:.40}")
    return value


def _texts(values: dict[str, Any]) -> dict[str, str]:
    return {name: _text(value) for name, value in values.items()}


def _point(values: list[float]) -> Point:
    x, y, z = values
    return (x, y, z)
