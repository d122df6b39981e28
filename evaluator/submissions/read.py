"""Read a submission, which may come from anyone: only regular files that its manifest lists, each
with the digest that it lists."""

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from evaluator.submissions.records import (
    CLAIMS_FILE,
    POOLS_FOLDER,
    RUNS_FOLDER,
    SUBMISSION_FILE,
    SUBMISSION_FORMAT,
    Claims,
    SubmissionRecord,
)
from generator.base.errors import UserError, one_line
from generator.base.files import read_json, sha256
from generator.base.paths import check_own_files, file_in, folder_in

_MOST_FILES = 20_000
"""Most files of a submission: 2000 runs have ten each."""
_FILES_OF_RUN = re.compile(
    r"(?:run\.json|claims\.json|scores\.parquet|answers\.(?:parquet|jsonl)|"
    r"pools/[A-Za-z0-9_.-]+\.npy)"
)
"""Files that a run of a submission may have."""


@dataclass(frozen=True)
class Submission:
    """A submission whose files are those that its manifest lists."""

    folder: Path
    """Its folder."""
    record: SubmissionRecord
    """Its manifest."""
    digest: str
    """SHA-256 of the manifest, which fixes all files."""

    @property
    def name(self) -> str:
        """The name of its model, on one line."""
        return one_line(self.record["name"])

    def claims(self, run: str) -> Claims:
        """Read the numbers that the sender computed.

        Args:
            run: The folder of the run in the submission.

        Returns:
            The numbers.

        Raises:
            UserError: The file is missing or damaged.
        """
        path = file_in(self.folder, f"{run}/{CLAIMS_FILE}")
        if not path.exists():
            raise UserError(f"{self.folder} lacks {run}/{CLAIMS_FILE}; submit the runs again.")
        claims: Claims = read_json(path, Claims)  # type: ignore[assignment]  # its shape is checked
        return claims


def is_submission(folder: Path) -> bool:
    """Whether a folder holds a submission.

    Args:
        folder: Any path.

    Returns:
        Whether it has a manifest.
    """
    return (folder / SUBMISSION_FILE).is_file()


def read_submission(folder: Path) -> Submission:
    """Read the manifest of a submission, and check every file.

    Args:
        folder: The folder of the submission.

    Returns:
        The submission. Its scores are not read yet.

    Raises:
        UserError: The manifest is damaged; a file is missing, has other bytes than the manifest
            says, is not listed, or may not be in a submission; or the folder has a link.
    """
    if not is_submission(folder):
        raise UserError(f"{folder} has no {SUBMISSION_FILE}; give a folder of `score submit`.")
    # Before anything is read: a folder of millions of files would take hours.
    _check_number_of_files(folder)
    check_own_files(folder)
    path = file_in(folder, SUBMISSION_FILE)
    record: SubmissionRecord = read_json(path, SubmissionRecord)  # type: ignore[assignment]
    if record["format"] != SUBMISSION_FORMAT:
        raise UserError(
            f"{path} has the format '{one_line(record['format'])}', expected "
            f"'{SUBMISSION_FORMAT}'; submit the runs again with this version."
        )
    _check_runs(folder, record)
    _check_files(folder, record)
    return Submission(folder, record, sha256(path))


def _check_number_of_files(folder: Path) -> None:
    """Raise UserError for more files than a submission may have."""
    number = 0
    for _, _, names in os.walk(folder):
        number += len(names)
        if number > _MOST_FILES:
            raise UserError(f"{folder} has more than {_MOST_FILES:,} files; it is not read.")


def _check_runs(folder: Path, record: SubmissionRecord) -> None:
    """Raise UserError for a run outside RUNS_FOLDER, or a run that is listed twice."""
    listed = set()
    for run in record["runs"]:
        folder_in(folder, run["folder"])
        if not run["folder"].startswith(f"{RUNS_FOLDER}/"):
            raise UserError(f"{folder} has a run outside its folder '{RUNS_FOLDER}'.")
        if run["folder"] in listed:
            raise UserError(f"{folder} lists the run {one_line(run['folder'])} twice.")
        listed.add(run["folder"])


def _check_files(folder: Path, record: SubmissionRecord) -> None:
    """Raise UserError if the files are not those of the manifest."""
    runs = {run["folder"] for run in record["runs"]}
    listed = record["files"]
    for name, digest in listed.items():
        if not _is_of_run(name, runs):
            raise UserError(
                f"{folder} lists '{one_line(name)}', which is not a file of one of its runs."
            )
        # By its path from the folder, so that no name leads out of it.
        path = file_in(folder, name)
        if not path.exists():
            raise UserError(f"{folder} lacks {name}, which its manifest lists.")
        if sha256(path) != digest:
            raise UserError(f"{path} has another digest than {SUBMISSION_FILE} says.")
    # The other way round: a file that is not listed has no digest, and could be changed unnoticed.
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != SUBMISSION_FILE and name not in listed:
            raise UserError(
                f"{folder} has the file '{one_line(name)}', which its manifest does not list."
            )


def _is_of_run(name: str, runs: set[str]) -> bool:
    """Whether a path is that of a file which a run may have."""
    path = PurePosixPath(name)
    folder = path.parent
    if folder.name == POOLS_FOLDER:
        folder = folder.parent
    run = folder.as_posix()
    return run in runs and _FILES_OF_RUN.fullmatch(name.removeprefix(f"{run}/")) is not None
