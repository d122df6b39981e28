"""The objects of a family: their words and meshes, how they turn, and what can rest on them."""

from typing import Annotated, Literal

from pydantic import Field

from generator.base.declarations import Declared, Positive


class Top(Declared):
    """A flat top on which others can rest: its height above the foot, and the radius of the disc on which it is flat.

    Both are in units of the object's scale.
    """

    height: Positive
    radius: Positive


class ObjectSpec(Declared):
    """A category of objects: its words, its mesh (by default that of its name), and how it stands.

    `turn` is the range of its random heading in degrees, about the direction in which it shows the camera its front
    or either side (`shows`). `top` is where others can rest on it. `foot`, in units of its scale, is the radius of
    the disc about its axis that has to be supported when it rests on another; None: it rests on nothing.
    """

    mesh: str | None = None
    synonyms: tuple[str, ...] = ()
    article: Literal["a", "an"] | None = None
    plural: str | None = None
    turn: Annotated[float, Field(ge=0, le=360)] = 360
    shows: Literal["front", "side"] = "front"
    top: Top | None = None
    foot: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
