"""How captions say the values of an attribute kind: as adjectives, or in a phrase after the noun."""

from typing import Annotated

from pydantic import Field

from generator.base.declarations import Declared

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
            f"kinds.{kind}: the phrase '{phrasing.phrase}' begins with '{first}', which captions need for themselves; begin "
            f'with another word, as in "made of {ADJECTIVE}".'
        )
