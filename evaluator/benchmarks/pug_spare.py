"""Reads PUG:SPARE (Koishigarina et al. 2026): labels of images with two animals, each of one
colour."""

import re
from collections.abc import Iterator
from pathlib import Path

from evaluator.benchmarks.files import read_records
from evaluator.benchmarks.question import Question, Shown

WORLD = "world"
"""Label of questions: the environment of the image."""
_COLUMNS = ("character_texture", "character_name", "character2_texture", "character2_name")


def read_pug_spare(path: Path) -> Iterator[Question]:
    """Yields a question for each row of labels.csv or PUG_SPARE.csv: "red deer stag and blue fox"
    against the exchanged colours. Questions of the same two animals with the same two colours, in
    any order, are one cluster. Raises UserError for missing columns.
    """
    for record in read_records(path):
        first, one, second, other = (_words(record.text(name)) for name in _COLUMNS)
        world, file = record.text("world_name"), record.text("filename")
        yield Question(
            f"{world}/{file}",
            (Shown((f"{world}/{file}", file)),),
            (f"{first} {one} and {second} {other}", f"{second} {one} and {first} {other}"),
            place=record.place,
            file=record.file,
            cluster="+".join([*sorted((one, other)), *sorted((first, second))]),
            kind=world,
            labels={WORLD: world},
        )


def _words(name: str) -> str:
    """
    >>> _words("DeerStag")
    'deer stag'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
