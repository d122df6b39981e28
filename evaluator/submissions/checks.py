"""Check a submission: everything is computed again from its scores, and what does not match the
datasets of the board is refused."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NotRequired

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from evaluator.protocols import protocol_names
from evaluator.protocols.items import MISSING
from evaluator.protocols.records import Results, RunRecord
from evaluator.protocols.results import ProtocolResults
from evaluator.provenance.contamination import unknown_training
from evaluator.runs.folder import Run, find_dataset, in_folder, open_run
from evaluator.runs.measure import measure_protocols
from evaluator.runs.request import DESCRIBE
from evaluator.runs.rules import choose_rules
from evaluator.runs.summary import summarize_run
from evaluator.runs.tables import write_tables
from evaluator.scoring.needs import SAMPLE, collect_needs
from evaluator.scoring.words.files import ANSWERS
from evaluator.statistics.intervals import LEVEL
from evaluator.submissions.claims import check_claims
from evaluator.submissions.declared import question_set_of
from evaluator.submissions.described import (
    LABELS_OF_ROWS,
    is_description,
    judge_run,
    open_description,
)
from evaluator.submissions.forms import Form, Place, PlacedDataset, place_of
from evaluator.submissions.identity import model_digest
from evaluator.submissions.read import Submission
from evaluator.submissions.records import CLAIMS_FILE, SubmittedRun
from evaluator.submissions.training import (
    check_training,
    training_of_run,
    training_seed_of,
)
from generator.base.errors import UserError, one_line
from generator.base.files import check_shape, read_json
from generator.base.paths import file_in
from generator.base.tables import read_table
from generator.dataset.certificate import describe_certificate
from generator.dataset.questions import Candidates, make_questions
from generator.dataset.records import SCORES

_MOST_UNSCORED = 0.01
"""Largest share of items without a score. Items without a score do not count, so leaving out the
wrong ones would raise a result by this much at most."""
_CLAIMED = " (claimed by the sender)"
"""Stands behind what cannot be computed from scores."""
_SAME_SCORE = 1e-6
"""Scores of a text with two images are equal that differ by less, relative to the largest score."""


class _TrainedOn(TypedDict, total=False):
    """The entries of `info.trained_on` that are read."""

    name: str
    """Name of the benchmark."""
    benchmark: str
    """Its digest."""
    world: str
    """Digest of its world."""
    method: str
    """Method of the training."""
    recipe: dict[str, Any]
    """Options of the training."""
    base: dict[str, Any] | None
    """The model that training began with."""


class _Info(TypedDict, total=False):
    """The entries of `info` of run.json that are read."""

    trained_on: _TrainedOn | None
    """What is recorded of the training."""


class _Training(TypedDict):
    """The entries of `training` of run.json that are read."""

    status: str
    """Status with respect to the benchmark (evaluator.provenance.contamination)."""
    sentence: str
    """The status as a sentence."""


class _ReadRecord(TypedDict):
    """The entries of run.json that RunRecord leaves open."""

    info: NotRequired[_Info]
    """What the model says of itself."""
    training: NotRequired[_Training]
    """What is known of its training."""


@dataclass(frozen=True, kw_only=True)
class CheckedRun:
    """A run whose results were computed again."""

    entry: SubmittedRun | None
    """Its entry in the manifest of its submission; None for a plain run."""
    run: Run
    """The run."""
    place: Place
    """The form, track and world that it answers."""
    results: Results | None
    """Its results, with the certificate of the board's dataset; None for descriptions."""
    described: Sequence[Mapping[str, Any]]
    """The rows of its descriptions (evaluator.descriptions.results.result_rows); () for others."""
    wrong: Mapping[str, Mapping[str, bool]]
    """By protocol and item, whether the answer is wrong by the protocol's first metric; of
    descriptions by scene, whether anything is missing or wrong."""
    reads_images: bool | None
    """Whether scores of a text differ between images, or descriptions do; None if no text was
    scored with two."""

    @property
    def question_set(self) -> str:
        """What the run answers, without turn and form: runs of one question set are pooled over
        turns and compared over forms."""
        record = self.run.record
        form = record["words"]["form"] if record.get("words") else record.get("form", "")
        return question_set_of(self.run.benchmark, str(form))

    @property
    def training(self) -> Mapping[str, Any]:
        """What is known of the model's training; the sentence names who says so."""
        training = self.run.record.get("training") or unknown_training()
        return {**training, "sentence": f"{training['sentence']}{_CLAIMED}"}

    @property
    def training_seed(self) -> int | str | None:
        """The seed of the model's training; None if it is not recorded."""
        return training_seed_of(self.run.record)

    @property
    def world_name(self) -> str:
        """The world of its track; for a dataset of no suite the name of the benchmark."""
        return self.place.world or self.run.benchmark.name

    @property
    def column(self) -> str:
        """Track, world and question set, such as `bind/color`."""
        if not self.place.title:
            return self.world_name
        return f"{self.place.title} {self.question_set}".strip()


def check_submission(
    submission: Submission, datasets: Sequence[PlacedDataset], tables: Path
) -> list[CheckedRun]:
    """Check all runs of a submission.

    Args:
        submission: The submission, whose files are those of its manifest.
        datasets: The datasets of the board. Images may be missing.
        tables: A folder for the tables of items, which pooling over turns reads; it must exist as
            long as the runs are used.

    Returns:
        The runs, with results that follow from the scores.

    Raises:
        UserError: Something does not match; the message names the submission.
    """
    checked = []
    answered: set[tuple[Any, ...]] = set()
    for entry in submission.record["runs"]:
        run = _check_run(submission, entry, datasets=datasets, tables=tables)
        for protocol in run.run.record["protocols"]:
            # Several trainings are pooled, and none can be chosen, if each names its seed.
            benchmark = run.run.benchmark.name
            key = (run.place, benchmark, run.question_set, protocol, run.training_seed)
            if key in answered:
                raise UserError(
                    f"{submission.name} answers {protocol} of {run.column} twice; one of the "
                    f"answers could be chosen."
                )
            answered.add(key)
        checked.append(run)
    return checked


def check_plain_run(folder: Path, moved: Sequence[Path], tables: Path) -> CheckedRun:
    """Compute the results of a plain run from its scores.

    Args:
        folder: The folder of the run.
        moved: Folders of datasets, as in `open_run`.
        tables: As for `check_submission`.

    Returns:
        The run.

    Raises:
        UserError: As `open_run`, and for damaged scores.
    """
    run = open_description(folder) or open_run(folder, moved)
    if run.world is None:
        raise UserError(
            f"{folder} was not scored on a dataset of `gen render`, and has no place beside "
            f"submissions; make a board of plain runs alone."
        )
    place = place_of(find_dataset(folder, run.record, moved))
    if is_description(run.record):
        return _judged(str(folder), run, entry=None, place=place)
    return _computed(run, None, place=place, tables=tables)


def _check_run(
    submission: Submission,
    entry: SubmittedRun,
    *,
    datasets: Sequence[PlacedDataset],
    tables: Path,
) -> CheckedRun:
    """Check one run. Raises UserError if it does not match."""
    # Names and folders are the sender's words: on one line, so that a message cannot imitate
    # others.
    name = f"{submission.name} ({one_line(entry['folder'])})"
    folder = submission.folder / entry["folder"]
    placed = _find_dataset(name, entry, datasets)
    _check_place(name, entry, placed)
    record_path = file_in(folder, "run.json")
    if not record_path.exists():
        raise UserError(f"{name} has no run.json.")
    # Before the run is opened: opening it reads how the model was trained.
    check_shape(read_json(record_path, RunRecord), _ReadRecord, record_path)
    run = open_run(folder, [placed.dataset.root])
    record = run.record
    _check_record(name, entry, record)
    if entry["model"] != model_digest(record.get("info", {})):
        raise UserError(f"{name} describes another model in its run than in its manifest.")
    # The manifest repeats what run.json says, so that whoever reads only the manifest is not
    # deceived.
    training = training_of_run(record, placed.dataset)
    if entry["training"] != training:
        raise UserError(f"{name} says another training in its run than in its manifest.")
    check_training(name, training, run.benchmark, placed.dataset)
    claims_path = folder / CLAIMS_FILE
    claims = submission.claims(entry["folder"])
    # Claims are at the level of the sender; values do not depend on it.
    if is_description(record):
        checked = _judged(name, run, entry=entry, place=placed.place)
        check_claims(name, claims, rows=checked.described, path=claims_path, labels=LABELS_OF_ROWS)
        return checked
    if record.get("words") is None:
        _check_pairs(name, run)
    else:
        _check_answers(name, run)
    checked = _computed(run, entry, place=placed.place, tables=tables)
    assert checked.results is not None
    check_claims(name, claims, rows=checked.results["rows"], path=claims_path)
    return checked


def _find_dataset(
    name: str, entry: SubmittedRun, datasets: Sequence[PlacedDataset]
) -> PlacedDataset:
    """The board's dataset that a run answers. Raises UserError without one."""
    for placed in datasets:
        # By the digest and not by the stated place: what counts is which world was asked.
        if placed.dataset.world.digest == entry["world_digest"]:
            return placed
    form = Form.of_record(entry["form"])
    stated = Place(form, entry["track"], entry["world"])
    for placed in datasets:
        place = placed.place
        if place.track and place == stated:
            raise UserError(
                f"{name} was scored on another world than the board's {place.title}: its digest is "
                f"{entry['world_digest'][:8]}, expected {placed.dataset.world.digest[:8]}."
            )
    raise UserError(
        f"{name} was scored on {one_line(form.title)}, whose dataset the board does not have; only "
        f"forms of the organiser count."
    )


def _check_place(name: str, entry: SubmittedRun, placed: PlacedDataset) -> None:
    """Raise UserError if a run says another form, track, world or benchmark than its dataset."""
    place = placed.place
    stated = Place(Form.of_record(entry["form"]), entry["track"], entry["world"])
    if stated != place:
        raise UserError(
            f"{name} says that it answers {one_line(stated.title)} of "
            f"{one_line(stated.form.title)}, and its dataset is {place.title} of "
            f"{place.form.title}."
        )
    dataset = placed.dataset
    if entry["benchmark_name"] not in dataset.benchmark_names():
        raise UserError(
            f"{name} answers the benchmark '{one_line(entry['benchmark_name'])}', which the "
            f"board's dataset does not have."
        )
    digest = dataset.benchmark(entry["benchmark_name"]).digest
    if digest != entry["benchmark"]:
        raise UserError(
            f"{name} was scored on another benchmark {entry['benchmark_name']} than the board's: "
            f"its digest is {entry['benchmark'][:8]}, expected {digest[:8]}."
        )


def _check_record(name: str, entry: SubmittedRun, record: Mapping[str, Any]) -> None:
    """Raise UserError if run.json contradicts the manifest, or is of a part of the questions."""
    stated_values = {
        "benchmark": entry["benchmark"],
        "benchmark_name": entry["benchmark_name"],
        "world": entry["world_digest"],
    }
    for key, stated in stated_values.items():
        if record[key] != stated:
            raise UserError(f"{name} names another {key} in its run than in its manifest.")
    for option in ("limit", "split"):
        if record.get(option):
            raise UserError(f"{name} answers only a part of its questions (--{option}).")
    # Of fewer false texts the best one is easier to beat.
    for pool, number in record.get("sampled_pools", {}).items():
        if number != SAMPLE:
            raise UserError(
                f"{name} samples {number} false texts of the pool {one_line(str(pool))}, expected "
                f"{SAMPLE}."
            )
    known = [DESCRIBE] if is_description(record) else protocol_names()
    unknown = [protocol for protocol in record["protocols"] if protocol not in known]
    if unknown:
        raise UserError(f"{name} has the unknown protocol '{one_line(unknown[0])}'.")


def _check_pairs(name: str, run: Run) -> None:
    """Raise UserError for scores of pairs that the dataset does not have, and for two scores of one
    pair, of which one could be chosen."""
    path = run.folder / "scores.parquet"
    if not path.exists():
        raise UserError(f"{name} has no scores.")
    table = read_table(path, SCORES)
    needs = collect_needs(run.benchmark, run.record["protocols"])
    for column, known in (("image_id", needs.images), ("text_id", needs.texts)):
        is_known = pc.is_in(table[column], value_set=known)
        n_unknown = table.num_rows - (pc.sum(is_known).as_py() or 0)
        if n_unknown:
            what = "images" if column == "image_id" else "texts"
            raise UserError(f"{name} has {n_unknown:,} scores of {what} that nobody asked about.")
    keys = ["image_id", "text_id", "channel"]
    n_distinct = table.select(keys).group_by(keys).aggregate([]).num_rows
    if n_distinct < table.num_rows:
        raise UserError(
            f"{name} has several scores of {table.num_rows - n_distinct:,} pairs of image and text."
        )


def _check_answers(name: str, run: Run) -> None:
    """Raise UserError if the answers are not to all questions, each as often as was asked."""
    words, benchmark = run.record["words"], run.benchmark
    questions = make_questions(
        benchmark,
        Candidates(benchmark),
        protocols=run.record["protocols"],
        form=words["form"],
        orders=words["orders"],
    )
    expected = set()
    for question in questions:
        for sample in range(words["samples"]):
            key = (question.item, question.form, question.options, question.order, sample)
            expected.add(key)
    answered = []
    path = file_in(run.folder, "answers.parquet")
    if not path.exists():
        raise UserError(f"{name} has no answers.")
    for row in read_table(path, ANSWERS).to_pylist():
        options = tuple(row["options"] or ())
        key = (row["item_id"], row["form"], options, row["order"], row["sample"])
        answered.append(key)
    # Equal sets alone would allow two answers to one question, of which one could be chosen.
    distinct = set(answered)
    if distinct != expected or len(answered) != len(expected):
        n_missing = len(expected - distinct)
        raise UserError(
            f"{name} has {len(answered):,} answers to {len(expected):,} questions, and none to "
            f"{n_missing:,} of them."
        )


def _computed(run: Run, entry: SubmittedRun | None, *, place: Place, tables: Path) -> CheckedRun:
    """Compute the results of a run. Raises UserError for damaged scores, and if too many items of a
    submission have none."""
    rules = choose_rules(run, level=LEVEL)
    measured = measure_protocols(run, rules)
    if entry is not None:
        for protocol, of_protocol in measured.items():
            _check_scored(f"{run.folder}", protocol, of_protocol)
    results = summarize_run(run, measured, rules)
    # Tables of the sender would not count, so they are written anew, in a folder of their own.
    folder = Path(tempfile.mkdtemp(dir=tables))
    write_tables(replace(run, folder=folder), measured, results)
    certificate = "not verified"
    if run.world is not None:
        certificate = describe_certificate(run.benchmark, run.world)
    sentence = f"{results['training']['sentence']}{_CLAIMED}"
    training = {**results["training"], "sentence": sentence}
    return CheckedRun(
        entry=entry,
        run=run,
        place=place,
        results=in_folder({**results, "certificate": certificate, "training": training}, folder),
        described=(),
        wrong={protocol: _wrong_items(of_protocol) for protocol, of_protocol in measured.items()},
        reads_images=_reads_images(run),
    )


def _judged(name: str, run: Run, *, entry: SubmittedRun | None, place: Place) -> CheckedRun:
    """Judge the descriptions of a run. Raises UserError for damaged answers, and if too many images
    of a submission have none."""
    judged = judge_run(name, run)
    if entry is not None and judged.n_failed > _MOST_UNSCORED * judged.n_images:
        raise UserError(
            f"{name} has no answer about {judged.n_failed:,} of {judged.n_images:,} images; images "
            f"without an answer do not count, and may be at most {_MOST_UNSCORED:.0%}."
        )
    return CheckedRun(
        entry=entry,
        run=run,
        place=place,
        results=None,
        described=judged.rows,
        wrong={DESCRIBE: judged.wrong},
        reads_images=judged.differ,
    )


def _check_scored(name: str, protocol: str, results: ProtocolResults) -> None:
    """Raise UserError if more items have no score than may be left out."""
    items = results.items
    n = len(items)
    n_unscored = int((~items.scored).sum())
    if n_unscored <= _MOST_UNSCORED * n:
        return
    n_missing = int((items.unscored == MISSING).sum())
    why = f", {n_missing:,} of them since scores are missing" if n_missing else ""
    raise UserError(
        f"{name} has no score of {n_unscored:,} of {n:,} items of {protocol}{why}; items without a "
        f"score do not count, and may be at most {_MOST_UNSCORED:.0%}."
    )


def _wrong_items(results: ProtocolResults) -> dict[str, bool]:
    """By item, whether the first outcome is below 1; items without a score are missing. Of several
    samples the last one counts."""
    items = results.items
    wrong = {}
    values = results.outcomes[0].value
    for item, value, is_scored in zip(items.item_id, values, items.scored, strict=True):
        if is_scored:
            wrong[str(item)] = bool(value < 1)
    return wrong


def _reads_images(run: Run) -> bool | None:
    """Whether the scores of a text differ between its images; None if that is not known."""
    path = run.folder / "scores.parquet"
    if run.record.get("words") is not None or not path.exists():
        return None
    table = read_table(path, SCORES)
    table = table.filter(pc.equal(table["channel"], run.channels[0]))
    of_text = table.group_by("text_id").aggregate(
        [("score", "min"), ("score", "max"), ("score", "count")]
    )
    # The score of a text with one image cannot differ between images.
    of_text = of_text.filter(pc.greater(of_text["score_count"], 1))
    if not of_text.num_rows:
        return None
    least = _floats(of_text["score_min"])
    most = _floats(of_text["score_max"])
    # Relative to the scores, which are on any scale.
    scale = float(np.abs(most).max(initial=0.0)) or 1.0
    differs = most - least > _SAME_SCORE * scale
    return bool(differs.any())


def _floats(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
