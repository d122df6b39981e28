"""The folder of a run: names of its files, and reading a finished run."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.protocols.records import ResultsRecord, RunRecord
from evaluator.provenance.contamination import marked_today
from evaluator.runs.parts import (
    Splits,
    items_in_splits,
    limit_items,
    read_splits,
    splits_of,
    with_splits,
    write_splits,
)
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.base.paths import check_benchmark_name, check_own_files, split_name
from generator.base.store import is_url
from generator.dataset.reader import Benchmark, Dataset, World

IDENTITY_FILE = ".begun.json"
"""Marks an unfinished run, and says which run it is."""
DESCRIPTIONS_FILE = "descriptions.json"
"""The record of a run of descriptions (evaluator/runs/described.py), which has no run.json."""
ATTRIBUTES_FILE = "attributes.json"
"""The record of a run of attributes (evaluator/runs/attributes.py), which has no run.json."""
UNFINISHED_ITEMS = ".items.json"
"""Marks an unfinished run of scores from elsewhere."""


@dataclass(frozen=True)
class Run:
    """A finished run."""

    folder: Path
    """Its folder."""
    record: dict[str, Any]
    """The contents of run.json (evaluator.protocols.records.RunRecord)."""
    world: World | None
    """The world of its dataset; None for published benchmarks and scores from elsewhere."""
    benchmark: Benchmark
    """The questions that were asked: without items outside the run's splits and its limit."""
    splits: Splits | None = None
    """Partitions that replace the splits of `benchmark`; None if it has its own."""

    @property
    def channels(self) -> list[str]:
        """The channels of the model's scores; the first is the model's default."""
        return list(self.record.get("channels", ["cosine"]))


def open_run(folder: Path, moved: Sequence[Path] = ()) -> Run:
    """Read the run in a folder, which may come from someone else: a URL that it names is not
    opened, and links in it are refused.

    Args:
        folder: The folder of the run.
        moved: Folders of datasets that were moved since. The dataset with the run's world is read
            in place of the folder that the run names.

    Returns:
        The run.

    Raises:
        UserError: There is no run, or the dataset is missing or changed since it was scored.
    """
    check_own_files(folder)
    if (folder / DESCRIPTIONS_FILE).exists():
        raise UserError(
            f"{folder} has descriptions, which this command does not read beside other runs; "
            f"`score report`, `score compare` and `score measure` read them alone."
        )
    if (folder / ATTRIBUTES_FILE).exists():
        raise UserError(
            f"{folder} has answers about attributes, which this command does not read beside "
            f"other runs; `score report` reads them alone, `score compare` beside a run of "
            f"descriptions of the same images."
        )
    if not (folder / "run.json").exists():
        raise UserError(
            f"{folder} is not a finished run; give a folder written by `score run` or `score "
            f"measure --items`."
        )
    record = read_json(folder / "run.json", RunRecord)
    record = marked_today(record, record.get("info", {}))
    if record["dataset"] is None:
        splits = splits_of(folder)
        benchmark = _asked_items(_own_benchmark(folder, record), record)
        return Run(folder, record, None, with_splits(benchmark, splits), splits)
    dataset = find_dataset(folder, record, moved)
    benchmark = dataset.benchmark(record["benchmark_name"])
    if (benchmark.digest, dataset.world.digest) != (record["benchmark"], record["world"]):
        raise UserError(
            f"The dataset {record['dataset']} changed since {folder} was scored; run `score run` "
            f"again with another --out."
        )
    return Run(folder, record, dataset.world, _asked_items(benchmark, record))


def find_dataset(folder: Path, record: dict[str, Any], moved: Sequence[Path]) -> Dataset:
    """Open the dataset of a run: among the moved ones, else where the run says.

    Args:
        folder: The folder of the run.
        record: Its record, with `dataset` and `world`.
        moved: Folders of datasets that were moved since.

    Returns:
        The dataset.

    Raises:
        UserError: It is missing, or at a URL.
    """
    if is_url(str(record["dataset"])):
        raise UserError(
            f"{folder / 'run.json'} names a dataset at a URL ({record['dataset']}), and URLs in "
            f"files are not "
            "opened; download it and write its folder there."
        )
    # All are opened before one is chosen: a folder that is not a dataset is a mistake of the user.
    for dataset in [Dataset.open(path) for path in moved]:
        if dataset.world.digest == record["world"]:
            return dataset
    path = Path(record["dataset"])
    if not path.exists():
        raise UserError(
            f"The dataset of {folder} is not at {record['dataset']} any more; put it back, or give "
            f"`score report` its place with --dataset."
        )
    return Dataset.open(path)


def _asked_items(benchmark: Benchmark, record: dict[str, Any]) -> Benchmark:
    """The benchmark with only the items that a run was asked."""
    in_splits = items_in_splits(benchmark, record.get("split") or ())
    return limit_items(in_splits, record.get("limit"))


def split_run(folder: Path, partitions: Path) -> None:
    """Use the partitions in a folder of `score familiarity` as the splits of a run.

    Args:
        folder: The folder of the run.
        partitions: The folder of `score familiarity`.

    Raises:
        UserError: As `open_run` and `read_splits`; and for a run on a dataset, whose own splits
            depend on its training.
    """
    record = open_run(folder).record
    if record["dataset"] is not None:
        raise UserError(
            f"{folder} was scored on {record['dataset']}, which has splits of its own; leave "
            f"--splits out, or give a "
            "run of a published benchmark."
        )
    write_splits(folder, read_splits(partitions, _own_benchmark(folder, record)))


def _own_benchmark(folder: Path, record: dict[str, Any]) -> Benchmark:
    """The benchmark in the folder of a run that has no dataset."""
    return Benchmark(folder / "benchmarks" / check_benchmark_name(record["benchmark_name"]))


def read_results(run: Run) -> dict[str, Any]:
    """Read the results of a run.

    Args:
        run: A finished run.

    Returns:
        The results, and their `folder`, where the items of the run are.

    Raises:
        UserError: The run has no results.
    """
    if not (run.folder / "results.json").exists():
        raise UserError(
            f"{run.folder} has no results; write them with `score measure {run.folder}`."
        )
    results = in_folder(read_json(run.folder / "results.json", ResultsRecord), run.folder)
    return marked_today(results, run.record.get("info", {}))


def in_folder(results: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Add the `folder` of a run to its results, where pooling reads the items of several runs.

    Args:
        results: The results of the run.
        folder: Its folder.

    Returns:
        A copy of the results with the entry `folder`.
    """
    with_folder = copy(results)  # unlike dict(), keeps the file's name for errors about keys
    with_folder["folder"] = str(folder)
    return with_folder


def as_written(results: dict[str, Any]) -> dict[str, Any]:
    """Remove the `folder` that `in_folder` added.

    Args:
        results: The results of a run.

    Returns:
        A copy as results.json holds it.

    Example:
        >>> as_written(in_folder({"model": "m"}, Path("run")))
        {'model': 'm'}
    """
    return {key: value for key, value in results.items() if key != "folder"}


@dataclass(frozen=True)
class NamedRun:
    """A measured run with the model name that a report shows."""

    run: Run
    """The run."""
    results: dict[str, Any]
    """Its results, with their `folder`."""


def read_named(source: str, moved: Sequence[Path] = ()) -> NamedRun:
    """Read a run and its results.

    Runs of one NAME count as runs of one model. If their training is not recorded, each model spec
    counts as a separate training.

    Args:
        source: FOLDER or NAME=FOLDER, where NAME replaces the model's name.
        moved: As for `open_run`.

    Returns:
        The run and its results.

    Raises:
        UserError: There is no run, or it has no results.
    """
    name, folder = split_name(source)
    run = open_run(folder, moved)
    return NamedRun(run, named_results(read_results(run), name))


def named_results(results: dict[str, Any], name: str | None) -> dict[str, Any]:
    """Rename the model of results, which are changed.

    Args:
        results: The results of a run.
        name: The new name; None or "" keeps the old one.

    Returns:
        The results.
    """
    if not name:
        return results
    factors = results["factors"]
    training_seed = factors["training_seed"]
    if training_seed is None:
        training_seed = results["model"]
    results["model"] = name
    results["factors"] = {
        **factors,
        "model": name,
        "treatment": {},
        "training_seed": training_seed,
    }
    return results


def is_unfinished(source: str) -> bool:
    """Whether a folder has a run that was started and not finished.

    Args:
        source: FOLDER or NAME=FOLDER.

    Returns:
        False for a finished run, and for a folder without a run.
    """
    folder = split_name(source)[1]
    if (folder / "run.json").exists():
        return False
    return (folder / IDENTITY_FILE).exists() or (folder / UNFINISHED_ITEMS).exists()


def folder_name(name: str) -> str:
    """Turn the name of a model or a file into the name of a folder.

    Args:
        name: Any text.

    Returns:
        The name with "_" in place of characters other than letters, digits, "-" and ".".

    Example:
        >>> folder_name("open_clip:ViT-B-32@openai"), folder_name("../..")
        ('open_clip_ViT-B-32_openai', 'unnamed')
    """
    characters = [c if c.isalnum() or c in "-." else "_" for c in name]
    return "".join(characters).strip("._") or "unnamed"


def tables_folder(folder: Path) -> Path:
    """The folder of a run's tables, which is created if missing.

    Args:
        folder: The folder of the run.

    Returns:
        Its subfolder `tables`.
    """
    tables = folder / "tables"
    tables.mkdir(exist_ok=True)
    return tables
