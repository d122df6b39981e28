"""Runs of descriptions in submissions: how they are written, and judged again by the board.

`score ask --form describe` writes its own files (evaluator.runs.described). A submission has the
same run.json for all its runs, and for descriptions the answers of the images in ANSWERS_FILE:
objects, atoms and measures follow from them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from evaluator.descriptions.judged_answer import JudgedAnswer
from evaluator.models.contracts import Answer
from evaluator.runs.describe import (
    judge_answers,
    question_of_rules,
    results_of_judged,
)
from evaluator.runs.described import (
    is_described,
    open_described_dataset,
    read_described,
)
from evaluator.runs.folder import Run
from evaluator.runs.images import read_evaluated
from evaluator.runs.request import DESCRIBE
from evaluator.statistics.intervals import LEVEL
from generator.base.errors import UserError, one_line
from generator.base.files import check_shape, parse_json, read_text
from generator.base.paths import file_in
from generator.dataset.descriptions.description import AnswerForm
from generator.dataset.descriptions.json_reader import WordsAllowed
from generator.dataset.descriptions.question import DescriptionQuestion
from generator.dataset.descriptions.truth import ImageTruth

ANSWERS_FILE = "answers.jsonl"
"""A line for each image of a submitted run of descriptions: its scene, and the whole answer."""
LABELS_OF_ROWS = ("measure", "split", "objects", "interference", "load")
"""What tells the rows of descriptions apart."""
_MOST_BYTES = 1 << 30
"""Most bytes of ANSWERS_FILE: a hundred thousand answers of ten thousand characters."""


class _Rules(TypedDict):
    """The entries of `rules` of run.json that are read."""

    form: AnswerForm
    """How an answer is written."""
    words: WordsAllowed
    """Whether the question names the world's words."""
    relations: bool
    """Whether it asks how objects stand to each other."""
    temperature: float | None
    """Of the answers."""
    max_tokens: Annotated[int, Field(gt=0, lt=1 << 31)]
    """Most tokens of an answer."""


class _AnswerLine(TypedDict):
    """A line of ANSWERS_FILE."""

    scene_id: str
    """The scene of the image."""
    answer: str
    """The whole answer."""
    finish: str
    """Why the answer ended."""


@dataclass(frozen=True, kw_only=True)
class JudgedRun:
    """The descriptions of a run, judged again."""

    rows: Sequence[Mapping[str, Any]]
    """The rows of the measures (evaluator.descriptions.results.result_rows)."""
    wrong: Mapping[str, bool]
    """By scene, whether the description is not complete and right."""
    n_failed: int
    """Images without an answer."""
    differ: bool
    """Whether two images have different answers."""

    @property
    def n_images(self) -> int:
        """The number of images."""
        return self.n_failed + len(self.wrong)


def is_description(record: Mapping[str, Any]) -> bool:
    """Whether a run.json of a submission is that of descriptions.

    Args:
        record: Its contents.

    Returns:
        Whether its form says so.
    """
    return record.get("form") == DESCRIBE


def open_description(folder: Path) -> Run | None:
    """Open a run of descriptions of the user's own, as other runs of a submission are opened.

    Args:
        folder: The folder of a run.

    Returns:
        The run, whose record has the form of run.json; None if the folder has no descriptions.

    Raises:
        UserError: The run is damaged, its dataset changed, or another model read its answers.
    """
    if not is_described(str(folder)):
        return None
    described = read_described(str(folder))
    if "reader" in described.record:
        raise UserError(
            f"{folder} was read by another model (--reader), which a board could not ask again; "
            f"ask for descriptions without it, or leave the run out."
        )
    world, benchmark = open_described_dataset(described)
    results = ("rows", "sentence", "answers")
    # The board computes these again; a copy in run.json could contradict them.
    record = {name: value for name, value in described.record.items() if name not in results}
    return Run(folder, {**record, "protocols": [DESCRIBE]}, world, benchmark)


def write_answers(source: Path, path: Path) -> list[Mapping[str, Any]]:
    """Write the answers of a run of descriptions into a submission.

    Args:
        source: The folder of the run.
        path: The file to write.

    Returns:
        The rows of the results, which the sender claims.
    """
    described = read_described(str(source))
    lines = []
    for line in described.lines:
        entry = {"scene_id": line["scene_id"], "answer": line["answer"], "finish": line["finish"]}
        lines.append(json.dumps(entry))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(described.record["rows"])


def judge_run(name: str, run: Run) -> JudgedRun:
    """Judge the answers of a run again.

    Args:
        name: The submission, for messages.
        run: The run, whose folder has ANSWERS_FILE, or is that of a run of `score ask`.

    Returns:
        Its measures, and what is wrong.

    Raises:
        UserError: An answer is missing, is there twice, or is about no evaluation image.
    """
    assert run.world is not None
    truths = read_evaluated(run.benchmark, run.world)
    answers = answers_of(name, run, truths)
    # How answers are read depends on the question: JSON or prose, and whose words.
    question = question_of(run)
    judged = judge_answers(answers, answers, truths=truths, question=question)
    # At one level for all, so that intervals of a table can be compared.
    results = results_of_judged(judged, truths, relations=question.relations, level=LEVEL)
    wrong = {}
    for truth, judged_answer in zip(truths, judged, strict=True):
        if judged_answer is not None:
            wrong[truth.scene_id] = not _is_right(judged_answer)
    return JudgedRun(
        rows=results["rows"],
        wrong=wrong,
        n_failed=len(truths) - len(wrong),
        differ=len({answer.text for answer in answers}) > 1,
    )


def question_of(run: Run) -> DescriptionQuestion:
    """Read how the descriptions of a run were asked for.

    Args:
        run: A run of descriptions.

    Returns:
        The question.

    Raises:
        UserError: The record does not say it.
    """
    path = run.folder / "run.json"
    rules: Mapping[str, Any] = run.record["rules"]
    check_shape(rules, _Rules, path)
    return question_of_rules(rules, path)


def describable_scenes(run: Run) -> list[str]:
    """List the scenes that a run describes.

    Args:
        run: A run of descriptions.

    Returns:
        Their scene_ids, sorted.
    """
    assert run.world is not None
    return sorted(truth.scene_id for truth in read_evaluated(run.benchmark, run.world))


def answers_of(name: str, run: Run, truths: Sequence[ImageTruth]) -> list[Answer]:
    """Read the answers of a run.

    Args:
        name: The submission, for messages.
        run: The run, as for `judge_run`.
        truths: (n,) the records of the images.

    Returns:
        (n,) the answers, in the order of the images.

    Raises:
        UserError: They are not one for each image.
    """
    answer_of: dict[str, Answer] = {}
    for line in _lines_of(name, run):
        scene = line["scene_id"]
        if scene in answer_of:
            raise UserError(
                f"{name} describes the image '{one_line(scene)}' twice; one could be chosen."
            )
        answer_of[scene] = Answer(line["answer"], line["finish"])
    # Every image must be described, so that nobody leaves out what a model does badly.
    expected = {truth.scene_id for truth in truths}
    n_unknown = len(answer_of.keys() - expected)
    if n_unknown:
        raise UserError(f"{name} describes {n_unknown:,} images that nobody asked about.")
    n_missing = len(expected - answer_of.keys())
    if n_missing:
        raise UserError(f"{name} does not describe {n_missing:,} of {len(expected):,} images.")
    return [answer_of[truth.scene_id] for truth in truths]


def _lines_of(name: str, run: Run) -> list[Mapping[str, Any]]:
    """The lines with answers, of a submission or of the user's own run."""
    if is_described(str(run.folder)):
        return list(read_described(str(run.folder)).lines)
    path = file_in(run.folder, ANSWERS_FILE)
    if not path.exists():
        raise UserError(f"{name} has no answers.")
    lines = []
    for text in read_text(path, _MOST_BYTES).rstrip("\n").split("\n"):
        try:
            line = parse_json(text, path)
        except ValueError as error:
            raise UserError(f"{path} is damaged: {error}.") from None
        check_shape(line, _AnswerLine, path)
        lines.append(line)
    return lines


def _is_right(judged: JudgedAnswer) -> bool:
    """Whether a description names every object with all its values, and nothing else."""
    measures = judged.measures
    # As many complete objects as are described and as are there: nothing is missing, and nothing is
    # added.
    return measures.complete == measures.described == measures.actual
