"""Reads a finished run of attributes (evaluator/runs/attributes.py asks them), without its dataset
or model."""

from pathlib import Path
from typing import Any

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from evaluator.runs.answered_run import AnsweredRun, Line, RunFiles
from evaluator.runs.folder import ATTRIBUTES_FILE
from generator.base.errors import UserError

ROWS_FILE = "attributes.csv"
"""The rows of the results."""
FACTS_FILE = "attributes.jsonl"
"""A line for each fact: its question, the whole answer, the value that was read, its verdict."""


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
    info: dict[str, Any]
    """The loaded model, for readers."""
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


def _check_features(line: Line, path: Path) -> None:
    """Raise UserError if a question names an object by something else than pairs."""
    if any(len(feature) != 2 for feature in line["features"]):
        raise UserError(
            f"{path} is damaged: a question about the image '{line['scene_id']}' names its object "
            f"by something else than a kind and a value; ask the model again."
        )


_FILES = RunFiles(
    record=ATTRIBUTES_FILE,
    record_type=AttributesRecord,
    lines=FACTS_FILE,
    line_type=FactLine,
    check_line=_check_features,
)
AttributesRun = AnsweredRun
"""A finished run of attributes; its record is an AttributesRecord, its lines are FactLine."""
is_attributes = _FILES.are_in
"""Whether FOLDER or NAME=FOLDER is a finished run of attributes."""
read_attributes = _FILES.read
"""Reads FOLDER or NAME=FOLDER; raises UserError if a file is missing or damaged."""
