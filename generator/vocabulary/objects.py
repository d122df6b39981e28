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


ADJECTIVE = "{value}"
_GRAMMAR = ("a", "an", "and", "the", "is", "are", "that", "not", "no", "there", "it", "in the image")


class Phrasing(Declared):
    """How captions say the values of an attribute kind.

    The phrase "{value}" alone makes adjectives: "a red fox". Any other phrase stands after the noun and after "is":
    "made of {value}" gives "a fox made of wood" and "the fox is made of wood".
    """

    phrase: Annotated[str, Field(pattern=r"^([a-z][a-z'-]* )*\{value\}( [a-z][a-z'-]*)*$")] = ADJECTIVE

    def of(self, value: str) -> str:
        """A value in the phrase.

        >>> Phrasing(phrase="made of {value}").of("wood")
        'made of wood'
        """
        return self.phrase.replace(ADJECTIVE, value)


def check_phrasing(kind: str, phrasing: Phrasing) -> None:
    """Raise ValueError where captions could not tell the phrase of an attribute kind from the words around it."""
    first = phrasing.phrase.split()[0]
    if first in _GRAMMAR:
        raise ValueError(
            f"kinds.{kind}: the phrase '{phrasing.phrase}' begins with '{first}', which captions need for themselves; "
            f"begin "
            f'with another word, as in "made of {ADJECTIVE}".'
        )
