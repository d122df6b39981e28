"""What the arguments alone show to be wrong, said before torch and pandas are imported.

Importing them takes seconds, on a busy machine most of a minute: a typo must not cost that.
"""

from collections.abc import Sequence
from pathlib import Path

from evaluator.protocols import check_protocol
from evaluator.runs.request import names
from generator.base.errors import UserError

_OF_A_RUN = frozenset(
    {"run.json", ".begun.json", "scores.parquet", "answers.parquet", "descriptions.json"}
)
"""Files of which a folder of a run has one. Scores without run.json are measured again."""
_OF_A_MODEL = "jackalope.json"
"""The file of a trained model."""


def check_protocols(protocols: str | Sequence[str]) -> None:
    """Raise UserError for an unknown protocol."""
    for protocol in names(protocols):
        check_protocol(protocol)


def check_run_folder(out: Path | None) -> None:
    """Raise UserError for a folder with something else than a run; None if it is not known yet."""
    files = _files(out)
    # A run that begins has only hidden files; `evaluator.runs.run` checks which run it is.
    if any(not name.startswith(".") for name in files) and not files & _OF_A_RUN:
        raise UserError(f"{out} is not empty and holds no run; choose another --out.")


def check_model_folder(out: Path) -> None:
    """Raise UserError for a folder with something else than a model; `evaluator.training.session`
    checks which model it is."""
    files = _files(out)
    if files and _OF_A_MODEL not in files:
        raise UserError(f"{out} is not empty; choose another --out.")


def check_dataset(dataset: str | Path, benchmark: str | None) -> None:
    """Raise UserError if a folder is not a dataset, or lacks the benchmark. URLs, published
    benchmarks (NAME:PATH) and names with `{turn}` are checked when they are opened."""
    from generator.dataset.reader import TURN, Dataset

    if ":" in str(dataset) or Path(dataset).is_file():
        return
    opened = Dataset.open(str(dataset))
    if TURN not in (benchmark or ""):
        opened.benchmark(benchmark)


def _files(folder: Path | None) -> set[str]:
    if folder is None or not folder.is_dir():
        return set()
    return {path.name for path in folder.iterdir()}
