"""Write a submission: one folder with the runs of one model, without anything of the user's
machine."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from evaluator.runs.described import is_described
from evaluator.runs.folder import (
    DESCRIPTIONS_FILE,
    Run,
    find_dataset,
    folder_name,
    open_run,
    read_results,
)
from evaluator.runs.request import DESCRIBE
from evaluator.submissions.checks import check_submission
from evaluator.submissions.claims import claims_of
from evaluator.submissions.described import (
    ANSWERS_FILE,
    LABELS_OF_ROWS,
    is_description,
    open_description,
    write_answers,
)
from evaluator.submissions.finding import RUN_RECORD, find_runs
from evaluator.submissions.forms import PlacedDataset, place_of
from evaluator.submissions.identity import WEIGHTS, model_digest
from evaluator.submissions.public import check_public, public_record, public_spec
from evaluator.submissions.read import read_submission
from evaluator.submissions.records import (
    CLAIMS_FILE,
    POOLS_FOLDER,
    RUNS_FOLDER,
    SUBMISSION_FILE,
    SUBMISSION_FORMAT,
    ModelDescription,
    Opening,
    SubmissionRecord,
    SubmittedRun,
)
from evaluator.submissions.training import training_of_run, training_seed_of
from generator.base.errors import UserError, did_you_mean
from generator.base.files import draft_folder_of, json_text, read_json, sha256, write_text
from generator.base.paths import check_own_files, file_in

_SCORES_FILES = ("scores.parquet", "answers.parquet")
"""Files of a run with what the model answered; a run has one of them."""
_LONGEST_NAME = 100
"""Characters of the name of a model."""


@dataclass(frozen=True)
class SubmittedSource:
    """A run that is put into a submission."""

    run: Run
    """The run."""
    placed: PlacedDataset
    """Its dataset, and the form, track and world that it is."""


def open_sources(folders: Sequence[Path], model: str | None = None) -> list[SubmittedSource]:
    """Open the runs of a submission.

    Args:
        folders: Folders of runs, or folders that hold such folders.
        model: Name of the model whose runs to open; None for all.

    Returns:
        The runs.

    Raises:
        UserError: A folder has no finished run, no run is of the model, or a run is not of all
            questions of a dataset.
    """
    runs = find_runs(folders)
    if model is None:
        return [_open_source(folder) for folder in runs]
    name_of = {folder: _name_in(folder) for folder in runs}
    chosen = [folder for folder, name in name_of.items() if name == model]
    if not chosen:
        known = list(dict.fromkeys(name_of.values()))
        raise UserError(f"No run is of the model '{model}': {did_you_mean(model, known)}")
    return [_open_source(folder) for folder in chosen]


def _name_in(folder: Path) -> str:
    """The name of the model in the record of a run."""
    record = DESCRIPTIONS_FILE if is_described(str(folder)) else RUN_RECORD
    return str(read_json(file_in(folder, record))["model"])


def write_submission(
    sources: Sequence[SubmittedSource],
    out: Path,
    *,
    name: str | None = None,
    opening: Opening | None = None,
) -> SubmissionRecord:
    """Write a submission. The folder appears whole or not at all.

    Args:
        sources: The runs of one model.
        out: The folder of the submission; it must not exist, or be empty.
        name: Name of the model on the board; None for the SPEC of its runs.
        opening: What opens the commitment to the model; None without a commitment.

    Returns:
        The manifest of the submission.

    Raises:
        UserError: The runs are of several models, two of them answer the same questions, something
            of this machine would be passed on, or a board would refuse the submission.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is not empty; choose another --out.")
    board_name = _name_of(sources, name)
    folder_of = _folders_of(sources)
    out.parent.mkdir(parents=True, exist_ok=True)
    with draft_folder_of(out) as draft:
        entries = []
        for source, folder in zip(sources, folder_of, strict=True):
            _write_run(source, draft / folder, board_name)
            entries.append(_entry_of(source, folder))
        record = SubmissionRecord(
            format=SUBMISSION_FORMAT,
            name=board_name,
            date=today(),
            model=_describe_model(sources),
            versions=_versions_of(sources),
            runs=entries,
            files=_digests_below(draft),
        )
        if opening is not None:
            record["opening"] = opening
        text = json_text(record)
        check_public(text, SUBMISSION_FILE)
        write_text(draft / SUBMISSION_FILE, text)
        # The sender learns now what the board would refuse later.
        with tempfile.TemporaryDirectory() as tables:
            datasets = [source.placed for source in sources]
            check_submission(read_submission(draft), datasets, Path(tables))
    return record


def today() -> str:
    """Return the day in UTC, such as `2026-11-29`."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


def _open_source(folder: Path) -> SubmittedSource:
    """Open a run of the user's own. Raises UserError if it cannot be compared with others."""
    # A link would put files from elsewhere on this machine into the submission.
    check_own_files(folder)
    run = open_description(folder) or open_run(folder)
    record = run.record
    if record["dataset"] is None:
        raise UserError(
            f"{folder} was not scored on a dataset of `gen render`, so nobody could check its "
            f"questions; leave it out."
        )
    # A sender could choose the part on which a model does best.
    for option in ("limit", "split"):
        if record.get(option):
            raise UserError(
                f"{folder} answers only a part of its questions ({option} {record[option]}); score "
                f"the model on all of them."
            )
    dataset = find_dataset(folder, record, ())
    return SubmittedSource(run, PlacedDataset(dataset, place_of(dataset)))


def _name_of(sources: Sequence[SubmittedSource], name: str | None) -> str:
    """The name of the model on the board. Raises UserError if runs have several names."""
    if name is not None:
        if not name.strip() or len(name) > _LONGEST_NAME:
            raise UserError(
                f"Expected a name of 1 to {_LONGEST_NAME} characters, got {len(name)}; choose "
                f"another --name."
            )
        return name
    names = list(dict.fromkeys(str(source.run.record["model"]) for source in sources))
    if len(names) > 1:
        raise UserError(
            f"The runs are of {len(names)} models ({', '.join(names[:3])}); choose one with "
            f"--model, or, if they are the turns of one, name it with --name."
        )
    return public_spec(names[0])[:_LONGEST_NAME]


def _folders_of(sources: Sequence[SubmittedSource]) -> list[str]:
    """The folder of each run in the submission. Raises UserError if two answer the same."""
    folders: dict[str, Path] = {}
    runs_of_questions: dict[str, list[Run]] = {}
    for source in sources:
        record = source.run.record
        place = source.placed.place
        parts = [RUNS_FOLDER, place.form.name, *place.title.split("/"), record["benchmark_name"]]
        if is_description(record):
            parts.append(DESCRIBE)
        words = record.get("words")
        if words is not None:
            parts.append(words["form"])
        folder = "/".join(folder_name(part) for part in parts if part)
        seed = training_seed_of(record)
        if seed is not None:
            folder += f"/seed{folder_name(str(seed))}"
        same_questions = runs_of_questions.setdefault(folder, [])
        for other in same_questions:
            if set(other.record["protocols"]) & set(record["protocols"]):
                raise UserError(
                    f"{other.folder} and {source.run.folder} answer the same questions; leave one "
                    f"out."
                )
        if same_questions:
            # A world may be asked in several runs, each with protocols of its own.
            folder += f"-{folder_name('-'.join(record['protocols']))}"
        same_questions.append(source.run)
        folders[folder] = source.run.folder
    return list(folders)


def _write_run(source: SubmittedSource, folder: Path, name: str) -> None:
    """Write the files of a run: its record, its scores or answers, and its numbers."""
    run = source.run
    folder.mkdir(parents=True)
    dataset = source.placed.place.title or run.benchmark.name
    record = public_record(run.record, dataset)
    # The name of a run may be the path of a model, and the board has a name for it.
    record["model"] = name
    if is_description(run.record):
        rows = write_answers(run.folder, folder / ANSWERS_FILE)
        claims = claims_of(rows, LABELS_OF_ROWS)
    else:
        claims = claims_of(read_results(run)["rows"])
    files = {RUN_RECORD: record, CLAIMS_FILE: claims}
    # As text, so that no entry at any depth is left unchecked.
    for file, content in files.items():
        text = json_text(content)
        check_public(text, f"{file} of {run.folder}")
        write_text(folder / file, text)
    for file in _SCORES_FILES:
        if (run.folder / file).exists():
            shutil.copyfile(run.folder / file, folder / file)
    pools = sorted((run.folder / POOLS_FOLDER).glob("[!.]*.npy"))
    for pool in pools:
        (folder / POOLS_FOLDER).mkdir(exist_ok=True)
        shutil.copyfile(pool, folder / POOLS_FOLDER / pool.name)


def _entry_of(source: SubmittedSource, folder: str) -> SubmittedRun:
    """The entry of a run in the manifest."""
    record, place = source.run.record, source.placed.place
    return SubmittedRun(
        folder=folder,
        form=place.form.record(),
        track=place.track,
        world=place.world,
        benchmark_name=record["benchmark_name"],
        benchmark=record["benchmark"],
        world_digest=record["world"],
        model=model_digest(_public_info(record)),
        training=training_of_run(record, source.placed.dataset),
    )


def _public_info(record: Mapping[str, Any]) -> dict[str, Any]:
    """The description of the model as the submission has it."""
    return dict(public_record(record, "")["info"])


def _describe_model(sources: Sequence[SubmittedSource]) -> ModelDescription:
    """The model of all runs."""
    specs: dict[str, None] = {}
    weights: dict[str, None] = {}
    revisions: dict[str, None] = {}
    for source in sources:
        record = source.run.record
        info = _public_info(record)
        spec = info.get("weights")
        if spec in (None, "", "none"):  # baselines have no weights
            spec = record["model"]
        specs[public_spec(str(spec))] = None
        weights[str(info.get(WEIGHTS) or "none")] = None
        revisions[_revision_of(str(record["model"]), info)] = None
    return ModelDescription(specs=list(specs), weights=list(weights), revision=", ".join(revisions))


def _revision_of(spec: str, info: Mapping[str, Any]) -> str:
    """The revision or tag of published weights, after the "@" of a SPEC; else `unknown`."""
    for text in (str(info.get("weights") or ""), spec):
        revision = text.partition(",")[0].rpartition("@")[2]
        # The "@" of an api: model is a part of its address, as one before a "/" is.
        is_revision = "@" in text and bool(revision) and "/" not in revision
        if is_revision and not text.startswith("api:"):
            return revision
    return "unknown"


def _versions_of(sources: Sequence[SubmittedSource]) -> dict[str, str]:
    """Versions of Python and of packages; where runs differ, all of them."""
    versions: dict[str, dict[str, None]] = {}
    for source in sources:
        record = source.run.record
        of_run = {"python": record.get("python", "unknown"), **record.get("versions", {})}
        for package, version in of_run.items():
            versions.setdefault(package, {})[str(version)] = None
    return {package: ", ".join(of_package) for package, of_package in versions.items()}


def _digests_below(folder: Path) -> dict[str, str]:
    """SHA-256 of each file, by its path from the folder."""
    digests = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = PurePosixPath(path.relative_to(folder)).as_posix()
            digests[name] = sha256(path)
    return digests
