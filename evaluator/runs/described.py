"""Read the folder of a run of descriptions (evaluator/runs/describe.py), which may come from
someone else."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from evaluator.descriptions.measures import ImageMeasures
from evaluator.models.contracts import FAILED, Answer
from evaluator.runs.answered_run import AnsweredRun, Line, RunFiles
from evaluator.runs.folder import DESCRIPTIONS_FILE, find_dataset
from generator.base.clusters import SEPARATOR, Clusters
from generator.base.errors import UserError
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.image_truths import read_truths
from generator.dataset.reader import Benchmark, World

RESULTS_FILE = DESCRIPTIONS_FILE
"""The record of a run of descriptions, with its results."""
ROWS_FILE = "descriptions.csv"
"""The rows of the results."""
IMAGES_FILE = "descriptions.jsonl"
"""A line for each image: its whole answer, what was read, and every atom with its verdict."""


class DescriptionsRecord(TypedDict):
    """The entries of descriptions.json that are read."""

    model: str
    """The name of the model."""
    benchmark: str
    """Digest of the benchmark."""
    benchmark_name: str
    """Its name."""
    world: str
    """Digest of the world."""
    dataset: str
    """Folder or URL of the dataset."""
    certificate: str
    """Status of the benchmark's certificate, in words."""
    level: float
    """Level of the intervals."""
    rules: dict[str, Any]
    """How descriptions were asked for: `form`, `words`, `relations`, `question`."""
    training: dict[str, Any]
    """What the training of the model showed (evaluator.provenance.contamination)."""
    info: dict[str, Any]
    """The loaded model, for readers."""
    answers: dict[str, int]
    """How many images have an answer, and how much of the answers was read."""
    sentence: str
    """The main result."""
    rows: list[dict[str, Any]]
    """The rows of the results (evaluator.descriptions.results.result_rows)."""


class AtomRecord(TypedDict):
    """An atom of a line (generator.dataset.descriptions.judging.Atom)."""

    kind: str
    """An attribute kind, the world's word for categories, or `relation`."""
    value: str
    """What is said."""
    objects: list[int]
    """Index of the described object; of a relation, its two objects."""
    verdict: str
    """A value of generator.dataset.descriptions.judging.Verdict."""
    span: list[int] | None
    """First character in the answer and the one after the last; None for JSON."""


class UnreadRecord(TypedDict):
    """A part of an answer that was not read."""

    start: int
    """Its first character."""
    end: int
    """The character after its last."""
    reason: str
    """Why it was not read."""


class _JudgedPart(TypedDict, total=False):
    """What a line has if the image has an answer."""

    described: list[dict[str, Any]]
    """The described objects: category, values, and `matches`, the index of the object of the
    image."""
    unread: list[UnreadRecord]
    """What was not read."""
    atoms: list[AtomRecord]
    """Everything that the answer says, with its verdict."""
    counts: dict[str, int]
    """The fields of ImageMeasures."""
    reader_answer: str
    """The JSON into which another model turned the answer; only of a run with a reader."""
    reader_finish: str
    """Why that model's answer ended."""


class ImageLine(_JudgedPart):
    """A line of descriptions.jsonl."""

    scene_id: str
    """The scene."""
    cluster_id: str
    """Its cluster."""
    split: str | None
    """Its split."""
    objects: list[dict[str, str]]
    """The objects of the image: category and values."""
    bindings: list[str]
    """Their bindings under test, as VALUE:OBJECT, sorted."""
    answer: str
    """The whole answer."""
    finish: str
    """Why the answer ended."""


class DescribedRun(AnsweredRun):
    """A finished run of descriptions: its record is a DescriptionsRecord, its lines ImageLines."""

    @property
    def judged_lines(self) -> list[Line]:
        """The lines of the images that have an answer."""
        return [line for line in self.lines if "counts" in line]

    @property
    def relations(self) -> bool:
        """Whether the model was asked for relations."""
        return bool(self.record["rules"].get("relations"))


def _check_places(line: Mapping[str, Any], path: Path) -> None:
    """Raise UserError if a line refers to an object that it does not have."""
    described = line.get("described", [])
    n_objects = len(line["objects"])
    are_matches = True
    for one in described:
        match = one.get("matches")
        # `type`, since True is an int for isinstance.
        is_place = type(match) is int and 0 <= match < n_objects
        are_matches = are_matches and (match is None or is_place)
    are_places = True
    for atom in line.get("atoms", []):
        for place in atom["objects"]:
            are_places = are_places and 0 <= place < len(described)
    if not (are_matches and are_places):
        raise UserError(
            f"{path} is damaged: the image '{line['scene_id']}' has an atom of an object that is "
            f"not there; restore it, or ask the model again."
        )


_FILES = RunFiles(
    record=RESULTS_FILE,
    record_type=DescriptionsRecord,
    lines=IMAGES_FILE,
    line_type=ImageLine,
    check_line=_check_places,
)
is_described = _FILES.are_in
"""Whether FOLDER or NAME=FOLDER is a finished run of descriptions."""


def read_described(source: str) -> DescribedRun:
    """Read a run of descriptions.

    Args:
        source: FOLDER or NAME=FOLDER, where NAME replaces the model's name.

    Returns:
        The run.

    Raises:
        UserError: A file is missing or damaged.
    """
    run = _FILES.read(source)
    return DescribedRun(run.folder, run.name, run.record, run.lines)


def open_described_dataset(
    run: DescribedRun, moved: Sequence[Path] = ()
) -> tuple[World, Benchmark]:
    """Open the dataset that a run described.

    Args:
        run: The run.
        moved: Folders of datasets that were moved since.

    Returns:
        The world and the benchmark.

    Raises:
        UserError: The dataset is missing or changed since.
    """
    dataset = find_dataset(run.folder, dict(run.record), moved)
    benchmark = dataset.benchmark(run.record["benchmark_name"])
    digests = (benchmark.digest, dataset.world.digest)
    if digests != (run.record["benchmark"], run.record["world"]):
        raise UserError(
            f"The dataset {run.record['dataset']} changed since {run.folder} was made; run `score "
            f"ask` again with another --out."
        )
    return dataset.world, benchmark


def truths_of_lines(run: DescribedRun, world: World, benchmark: Benchmark) -> dict[str, ImageTruth]:
    """Read the records of the images of a run.

    Args:
        run: The run.
        world: The world that it described.
        benchmark: Its benchmark.

    Returns:
        The record of each image by its scene_id, in the order of the run.

    Raises:
        UserError: The run has an image that the world does not have.
    """
    splits = {line["split"] for line in run.lines}
    of_scene = {truth.scene_id: truth for truth in read_truths(world, benchmark, splits)}
    truths = {}
    for line in run.lines:
        scene = line["scene_id"]
        if scene not in of_scene:
            raise UserError(
                f"{run.folder / IMAGES_FILE} has an image '{scene}' that its dataset does not "
                f"have; restore the file, or ask the model again."
            )
        truths[scene] = of_scene[scene]
    return truths


def answer_of_line(line: Mapping[str, Any]) -> Answer:
    """Return the stored answer of a line.

    Args:
        line: A line of a run.

    Returns:
        The answer, as the model gave it.
    """
    stored = {}
    for field in fields(Answer):
        if field.name in line:
            stored[field.name] = line[field.name]
    return Answer(text=line["answer"], **stored)


def reading_of_line(line: Mapping[str, Any]) -> Answer:
    """Return what another model made of the answer of a line.

    Args:
        line: A line of a run with a reader.

    Returns:
        Its JSON, as an answer.
    """
    return Answer(str(line.get("reader_answer", "")), str(line.get("reader_finish", FAILED)))


def clusters_of_lines(lines: Sequence[Mapping[str, Any]]) -> Clusters:
    """Return what the images of lines share, for intervals.

    Args:
        lines: Lines of n images.

    Returns:
        Their clusters, bindings and scenes.
    """
    return Clusters.from_names(
        [line["cluster_id"] for line in lines],
        [SEPARATOR.join(line["bindings"]) for line in lines],
        [line["scene_id"] for line in lines],
    )


def measures_of(line: Mapping[str, Any]) -> ImageMeasures:
    """Return the counts of a line.

    Args:
        line: A line of an image with an answer.

    Returns:
        The counts.

    Raises:
        UserError: The line was written by another version.
    """
    try:
        return ImageMeasures(**line["counts"])
    except TypeError:
        raise UserError(
            "The counts of the descriptions were written by another version; run `score measure` "
            "on the folder."
        ) from None
