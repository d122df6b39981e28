"""Reads a finished run of attributes (evaluator/runs/attributes.py asks them), without its dataset
or model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from evaluator.runs.folder import ATTRIBUTES_FILE
from generator.base.errors import UserError
from generator.base.files import check_shape, parse_json, read_json, read_text
from generator.base.paths import check_own_files, split_name

ROWS_FILE = "attributes.csv"
"""The rows of the results."""
FACTS_FILE = "attributes.jsonl"
"""A line for each fact: its question, the whole answer, the value that was read, its verdict."""
_MOST_BYTES = 4 << 30
"""Most bytes of attributes.jsonl."""


class AttributesRecord(TypedDict):
    """The entries of attributes.json that are read."""

    model: str
    """The name of the model."""
    benchmark: str
    """Digest of the benchmark."""
    benchmark_name: str
    """Its name."""
    world: str
    """Digest of the world."""
    category_word: str
    """The world's word for categories, such as `shape`."""
    level: float
    """Level of the intervals."""
    answers: dict[str, int]
    """How many questions have an answer, and how many answers are unread."""
    certificate: str
    """Status of the benchmark's certificate, in words."""
    training: dict[str, Any]
    """What the training of the model showed (evaluator.provenance.contamination)."""
    rows: list[dict[str, Any]]
    """The rows of the results (evaluator.descriptions.results.rows_with_floors)."""


class FactLine(TypedDict):
    """A line of attributes.jsonl."""

    scene_id: str
    """The scene."""
    split: str | None
    """Its split."""
    object: int
    """Index of the object in the image."""
    kind: str
    """What is asked: an attribute kind, or the world's word for categories."""
    features: list[list[str]]
    """What the question names the object by: (kind, value) of each."""
    value: str
    """The true value."""
    held_out: bool | None
    """Whether it is the value of a held-out binding; None if of no binding under test."""
    verdict: str | None
    """right, exchanged, invented or unread; None if the request failed."""


@dataclass(frozen=True)
class AttributesRun:
    """A finished run of attributes."""

    folder: Path
    """Its folder."""
    name: str
    """The name of its model: that of NAME=RUN, else the record's."""
    record: Mapping[str, Any]
    """The contents of attributes.json (AttributesRecord)."""
    lines: Sequence[Mapping[str, Any]]
    """The facts with their answers (FactLine)."""


def is_attributes(source: str) -> bool:
    """Whether a source is the folder of a finished run of attributes.

    Args:
        source: FOLDER or NAME=FOLDER.

    Returns:
        False for other folders, and for a file.
    """
    return (split_name(source)[1] / ATTRIBUTES_FILE).is_file()


def read_attributes(source: str) -> AttributesRun:
    """Read a run of attributes, which may come from someone else.

    Args:
        source: FOLDER or NAME=FOLDER, where NAME replaces the model's name.

    Returns:
        The run.

    Raises:
        UserError: A file is missing or damaged.
    """
    name, folder = split_name(source)
    check_own_files(folder)
    path = folder / FACTS_FILE
    if not path.exists():
        raise UserError(f"{folder} lacks {FACTS_FILE}; restore it, or ask the model again.")
    record = read_json(folder / ATTRIBUTES_FILE, AttributesRecord)
    lines = []
    for number, text in enumerate(read_text(path, _MOST_BYTES).rstrip("\n").split("\n"), 1):
        try:
            line = parse_json(text, path)
        except ValueError as error:
            raise UserError(
                f"{path} is damaged in line {number} ({error}); restore it, or ask the model again."
            ) from None
        check_shape(line, FactLine, path)
        if any(len(feature) != 2 for feature in line["features"]):
            raise UserError(f"{path} is damaged in line {number}; ask the model again.")
        lines.append(line)
    return AttributesRun(folder, name or str(record["model"]), record, lines)
