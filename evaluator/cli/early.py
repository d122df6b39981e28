"""Checks of arguments that need neither torch nor pandas.

Importing those takes seconds, on a busy machine most of a minute: a typo must not cost that.
"""

from collections.abc import Sequence
from pathlib import Path

from evaluator.protocols import check_protocol
from evaluator.runs.request import names
from generator.base.errors import UserError

_RUN_FILES = frozenset(
    {"run.json", ".begun.json", "scores.parquet", "answers.parquet", "descriptions.json"}
)
"""Files of which a folder of a run has one. Scores without run.json are measured again."""
_MODEL_FILE = "jackalope.json"
"""The file of a trained model."""


def check_protocols(protocols: str | Sequence[str]) -> None:
    """Check the names of protocols.

    Args:
        protocols: A name or several.

    Raises:
        UserError: A protocol is unknown.
    """
    for protocol in names(protocols):
        check_protocol(protocol)


def check_run_folder(out: Path | None) -> None:
    """Check that a folder can hold a run.

    Args:
        out: The folder; None if it is not known yet.

    Raises:
        UserError: The folder has files, and none of a run.
    """
    files = _files(out)
    # A run that begins has only hidden files; `evaluator.runs.run` checks which run it is.
    if any(not name.startswith(".") for name in files) and not files & _RUN_FILES:
        raise UserError(f"{out} is not empty and holds no run; choose another --out.")


def check_model_folder(out: Path) -> None:
    """Check that a folder can hold a model; `evaluator.training.session` checks which model it is.

    Args:
        out: The folder.

    Raises:
        UserError: The folder has files, and none of a model.
    """
    files = _files(out)
    if files and _MODEL_FILE not in files:
        raise UserError(f"{out} is not empty; choose another --out.")


def check_dataset(dataset: str | Path, benchmark: str | None) -> None:
    """Check a dataset that is a folder. URLs, published benchmarks (NAME:PATH), files of a corpus
    and names with `{turn}` are checked when they are opened.

    Args:
        dataset: The dataset.
        benchmark: Its benchmark; None for the only one.

    Raises:
        UserError: The folder is not a dataset, or lacks the benchmark.
    """
    from generator.dataset.reader import TURN, Dataset

    if ":" in str(dataset) or Path(dataset).is_file():
        return
    opened = Dataset.open(str(dataset))
    if TURN not in (benchmark or ""):
        opened.benchmark(benchmark)


def _files(folder: Path | None) -> set[str]:
    """Names of the files in a folder; none if there is no folder."""
    if folder is None or not folder.is_dir():
        return set()
    return {path.name for path in folder.iterdir()}
