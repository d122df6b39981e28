"""Reads PUG:SPARE (Koishigarina et al. 2026): labels of images with two animals, each of one
colour."""

import re
from collections.abc import Iterator
from pathlib import Path

from evaluator.benchmarks.files import read_records
from evaluator.benchmarks.question import ImageRef, PublishedQuestion, QuestionLabels

WORLD = "world"
"""Label of questions: the environment of the image."""
_COLUMNS = ("character_texture", "character_name", "character2_texture", "character2_name")
"""The columns with the colour and the name of each of the two animals."""


def read_pug_spare(path: Path) -> Iterator[PublishedQuestion]:
    """Yield a question for each row of labels.csv or PUG_SPARE.csv: "red deer stag and blue fox"
    against the exchanged colours.

    Questions of the same two animals with the same two colours, in any order, are one cluster.

    Raises:
        UserError: A column is missing.
    """
    for record in read_records(path):
        color, animal, color2, animal2 = (_split_words(record.text(name)) for name in _COLUMNS)
        world = record.text("world_name")
        file = record.text("filename")
        animals = sorted((animal, animal2))
        colors = sorted((color, color2))
        yield PublishedQuestion(
            item=f"{world}/{file}",
            images=(ImageRef((f"{world}/{file}", file)),),
            texts=(
                f"{color} {animal} and {color2} {animal2}",
                f"{color2} {animal} and {color} {animal2}",
            ),
            origin=record.origin,
            labels=QuestionLabels(
                kind=world, cluster="+".join(animals + colors), filterable={WORLD: world}
            ),
        )


def _split_words(name: str) -> str:
    """
    >>> _split_words("DeerStag")
    'deer stag'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
