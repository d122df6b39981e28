"""The questions that a suite asks, which are those that count on a board."""

from collections.abc import Sequence

import pyarrow.compute as pc

from evaluator.protocols import protocol_names
from evaluator.runs.request import DESCRIBE
from evaluator.submissions.forms import Form, PlacedDataset
from generator.dataset.reader import Benchmark, Dataset
from generator.suite.definition import SuiteRun
from generator.suite.record import DECLARATION, suite_of_folder

QuestionKey = tuple[str, str, str]
"""World, question set and protocol: what a model may leave out."""


def question_set_of(benchmark: Benchmark, words: str) -> str:
    """Name what a run asks of a world, without turn and form of the suite.

    Args:
        benchmark: The benchmark that is asked.
        words: The form of the questions in words; "" for scores of pairs.

    Returns:
        "" for the benchmarks that the world was rendered with, such as turns, else the name of the
        benchmark; and the form of questions in words.
    """
    holdout = benchmark.holdout or {}
    is_of_turn = holdout.get("turn") is not None
    # All turns ask one question set: each by its own model.
    is_rendered = is_of_turn or bool(benchmark.manifest.get("with_world"))
    name = "" if is_rendered else benchmark.name
    return " ".join(part for part in (name, words) if part)


def declared_questions(
    datasets: Sequence[PlacedDataset],
) -> dict[tuple[Form, str], set[QuestionKey]]:
    """Read which questions the suites of datasets ask.

    Args:
        datasets: The datasets of a board.

    Returns:
        By form and track, the questions of protocols. Datasets of no suite, and suites without a
        declaration, are missing.

    Raises:
        UserError: A declaration is damaged.
    """
    questions: dict[tuple[Form, str], set[QuestionKey]] = {}
    for placed in datasets:
        place, dataset = placed.place, placed.dataset
        # `gen suite` writes the world of a track as SUITE/TRACK/WORLD.
        suite_folder = dataset.root.resolve().parent.parent
        # Without a declaration it is not known what counts, and the board takes what most models
        # answer.
        if not place.track or not (suite_folder / DECLARATION).is_file():
            continue
        track = suite_of_folder(suite_folder).tracks.get(place.track)
        world = None if track is None else track.worlds.get(place.world)
        if world is None:
            continue
        of_track = questions.setdefault((place.form, place.track), set())
        for run in world.runs:
            for question_set, protocol in _questions_of_run(run, dataset):
                of_track.add((place.world, question_set, protocol))
    return questions


def _questions_of_run(run: SuiteRun, dataset: Dataset) -> list[tuple[str, str]]:
    """The question set and the protocols of a declared run. Questions about items in words are left
    out: in their tracks most models answer with scores. Descriptions have tracks of their own."""
    is_description = run.form == DESCRIBE
    if run.command == "ask" and not is_description:
        return []
    questions = []
    for name in dataset.benchmark_names():
        benchmark = dataset.benchmark(name)
        if question_set_of(benchmark, "") != (run.benchmark or ""):
            continue
        question_set = question_set_of(benchmark, DESCRIBE if is_description else "")
        if is_description:
            questions.append((question_set, DESCRIBE))
            continue
        protocols = run.protocols or _measured_protocols(benchmark)
        questions += [(question_set, protocol) for protocol in protocols]
    return questions


def _measured_protocols(benchmark: Benchmark) -> list[str]:
    """The protocols of a benchmark that can be measured."""
    present = set(pc.unique(benchmark.items["protocol"]).to_pylist())
    return [name for name in protocol_names() if name in present]
