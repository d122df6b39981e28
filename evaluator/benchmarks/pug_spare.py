"""PUG:SPARE (Koishigarina et al. 2026): labels of images of two animals, each of one colour."""

import re
from collections.abc import Iterator
from pathlib import Path

from evaluator.benchmarks.asked import Asked, Shown
from evaluator.benchmarks.questions import Question
from evaluator.benchmarks.records import Record, read_records

WORLD = "world"
_COLUMNS = ("character_texture", "character_name", "character2_texture", "character2_name")


def read_pug_spare(path: Path) -> Iterator[Asked]:
    """A question for each row of labels.csv or PUG_SPARE.csv: "red deer stag and blue fox" against the exchanged colours. Questions of the
    same two animals with the same two colours, in any order, are one cluster. Raises UserError for columns that are missing."""
    for record in read_records(path):
        yield _asked(record)


def _asked(record: Record) -> Asked:
    first, one, second, other = (_words(record.text(name)) for name in _COLUMNS)
    world, file = record.text("world_name"), record.text("filename")
    shown = Shown((f"{world}/{file}", file))
    question = Question(
        f"{world}/{file}", (shown.id,), (f"{first} {one} and {second} {other}", f"{second} {one} and {first} {other}"), ((True, False),),
        "+".join([*sorted((one, other)), *sorted((first, second))]), world,
    )  # fmt: skip
    return Asked(question, (shown,), record.place, record.file, {WORLD: world})


def _words(name: str) -> str:
    """
    >>> _words("DeerStag")
    'deer stag'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
