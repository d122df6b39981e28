"""Filters of questions: what the code of benchmarks leaves out without saying so, here by name and named in the results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluator.benchmarks.as_read import YES
from generator.base.errors import UserError, did_you_mean

FIRST, PRESENT = "first", "present"
_GENERAL = {FIRST: "N", PRESENT: "yes"}
"""Filters of every benchmark whose layout is declared, with what they are given."""


@dataclass(frozen=True)
class Filters:
    """first: at most so many questions of each file, None for all. present: leave out those whose images are not there. labels:
    what the labels of a question must be."""

    first: int | None
    present: bool
    labels: Mapping[str, str]

    @property
    def given(self) -> dict[str, str]:
        """Each filter by name with its value, as results name them."""
        found = {} if self.first is None else {FIRST: str(self.first)}
        return found | ({PRESENT: YES} if self.present else {}) | dict(self.labels)


def parse_filters(texts: Sequence[str], own: Sequence[str], benchmark: str) -> Filters:
    """Filters from NAME or NAME=VALUE. own: the names of the benchmark's own labels.

    >>> parse_filters(["first=1000", "corpus=laion"], ["corpus"], "crepe").given
    {'first': '1000', 'corpus': 'laion'}

    Raises UserError for a name that the benchmark does not have, one that is given twice, and a value that cannot be.
    """
    given: dict[str, str] = {}
    known = [*_GENERAL, *own]
    for text in texts:
        name, equals, value = text.partition("=")
        if name not in known:
            raise UserError(f"Unknown filter '{name}' of {benchmark}: {did_you_mean(name, known)}")
        if name in given:
            raise UserError(f"The filter '{name}' is given twice; give it once.")
        if equals and not value:
            raise UserError(f"Expected a value after '{name}=', got none; write --filter {name}=VALUE.")
        given[name] = value or YES
    first = given.pop(FIRST, None)
    if first is not None and not (first.isascii() and first.isdigit() and int(first)):
        raise UserError(
            f"Expected a number of questions from 1 up, got {FIRST}={first}; write for example {FIRST}=1000."
        )
    present = given.pop(PRESENT, None)
    if present not in (None, YES):
        raise UserError(f"Expected {PRESENT} without a value, got {PRESENT}={present}.")
    return Filters(None if first is None else int(first), present is not None, given)
