"""Find the runs in folders, by names of files alone: a wrong folder is named before anything heavy
is imported."""

from collections.abc import Sequence
from pathlib import Path

from generator.base.errors import UserError

RUN_RECORD = "run.json"
"""The record of a run of a submission, and of runs of items."""
_RECORDS = (RUN_RECORD, "descriptions.json")
"""Records of runs that a submission can have. Those of attributes have another name, and no scores
that a board could compute."""
_DEEPEST = 4
"""Folders between a given folder and its runs: TRACK/WORLD/TURN, and one more."""


def find_runs(folders: Sequence[Path]) -> list[Path]:
    """Find the runs in folders.

    Args:
        folders: Folders of runs, or folders that hold such folders, as `score suite` writes them.

    Returns:
        The folders of the runs, sorted within each given folder. Runs of attributes are left
        out.

    Raises:
        UserError: There is no run in a folder.
    """
    runs = []
    for folder in folders:
        if is_run(folder):
            runs.append(folder)
            continue
        # Level by level, since rglob would also read all that lies deeper.
        below = []
        for depth in range(1, _DEEPEST + 1):
            pattern = "/".join(["[!.]*"] * depth)
            for path in folder.glob(pattern):
                if path.is_dir() and is_run(path):
                    below.append(path)
        if not below:
            raise UserError(
                f"{folder} has no finished run; give a folder written by `score run`, `score ask` "
                f"or `score suite`."
            )
        runs += sorted(below)
    return runs


def is_run(folder: Path) -> bool:
    """Whether a folder holds a finished run that a submission can have.

    Args:
        folder: Any path.

    Returns:
        Whether it has such a record.
    """
    return any((folder / record).is_file() for record in _RECORDS)
