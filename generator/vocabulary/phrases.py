"""How the values of an attribute kind are said: as adjectives, or in a phrase after the noun."""

from typing import Annotated

from pydantic import Field

from generator.dataset.declarations import Declared

ADJECTIVE = "{value}"
_GRAMMAR = ("a", "an", "and", "the", "is", "are", "that", "not", "no", "there", "in the image")


class KindSpec(Declared):
    """The phrase of an attribute kind: "{value}" alone for adjectives, "a red fox"; else it stands after the noun and
    after "is": "made of {value}" gives "a fox made of wood" and "the fox is made of wood"."""

    phrase: Annotated[str, Field(pattern=r"^([a-z][a-z'-]* )*\{value\}( [a-z][a-z'-]*)*$")] = ADJECTIVE

    def said(self, value: str) -> str:
        """A value in the phrase.

        >>> KindSpec(phrase="made of {value}").said("wood")
        'made of wood'
        """
        return self.phrase.replace(ADJECTIVE, value)


def check_phrase(kind: str, spec: KindSpec) -> None:
    """Raise ValueError where the phrase of a kind could not be told from the words around it."""
    first = spec.phrase.split()[0]
    if first in _GRAMMAR:
        raise ValueError(
            f"kinds.{kind}: the phrase '{spec.phrase}' begins with '{first}', which captions need for themselves; begin with "
            f'another word, as in "made of {ADJECTIVE}".'
        )
