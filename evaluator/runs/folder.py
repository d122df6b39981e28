"""The folder of a run: where its files are, and reading a finished one."""

from dataclasses import dataclass
from pathlib import Path
from typing import (
    Annotated,
    Any,
    NotRequired,  # pydantic takes no other before Python 3.12
)

from pydantic import Field
from typing_extensions import TypedDict

from evaluator.runs.limit import in_splits, limited
from evaluator.runs.partitions import Splits, read_splits, splits_of, with_splits, write_splits
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.base.paths import check_benchmark_name, check_name, check_own_files
from generator.base.store import is_url
from generator.dataset.reader import Benchmark, Dataset, World


class LimitRecord(TypedDict):
    """How many items of each protocol a run had at most, of how many, and the splits that this left empty."""

    items: int
    of: dict[str, int]
    empty: dict[str, list[str]]


class ExternalRecord(TypedDict):
    """Where the files of a benchmark of others lay (evaluator.benchmarks)."""

    name: str
    path: str
    images: str | None
    filters: NotRequired[list[str]]


class ReadingRecord(TypedDict, total=False):
    """How a benchmark of others was read (evaluator.benchmarks.reading): filters by name, what was left out by reason, files of another
    version in a sentence each, and whether its authors average over categories. Empty for other benchmarks."""

    averages: bool
    filters: dict[str, str]
    excluded: dict[str, int]
    versions: list[str]


class RunRecord(TypedDict, total=False):
    """run.json."""

    model: str
    benchmark: str
    benchmark_name: str
    world: str | None
    dataset: str | None
    external: ExternalRecord | None
    certificate: str
    protocols: list[str]
    channel: str
    image_channel: str | None
    channels: Annotated[list[str], Field(min_length=1)]
    versions: dict[str, str]
    raw_retrieval: list[str]
    sampled_pools: dict[str, Any]
    indistinct_texts: dict[str, str]
    left_out: list[Any]
    not_asked: dict[str, str]
    split: list[str] | None
    limit: int | None
    under_limit: LimitRecord | None
    training: dict[str, Any]
    info: dict[str, Any]


class ResultRow(TypedDict, total=False):
    """A row of results.json."""

    protocol: str
    metric: str
    split: str
    unit: str
    kind: str | None
    skill: str | None
    level: str | None
    error: str | None
    n: int | None
    value: float | None
    low: float | None
    high: float | None
    chance: float | None
    items: int
    clusters: int
    ties: int | None
    unscored: int | None


class RulesRecord(TypedDict, total=False):
    """How scores were compared."""

    tie_tolerance: float
    interval: str
    level: float
    limit: int
    splits: dict[str, str]
    filters: dict[str, str]


class FactorsRecord(TypedDict, total=False):
    """What tells a run apart. Runs that differ in the block or in the training seed alone are runs of one experiment.

    model: its spec, or for one that `score train` wrote the method. treatment: how it was trained, but for the seed, and which
    of its scores were measured. design: what world and benchmark were asked to be, but for seeds and machine. block: the
    digest of what the benchmark holds out, None where nothing is. benchmark: the digests of benchmark and world.
    """

    model: str
    treatment: dict[str, Any]
    training_seed: int | str | None
    design: dict[str, Any]
    block: str | None
    block_seed: int | None
    benchmark: str


class ResultsRecord(TypedDict, total=False):
    """results.json."""

    model: str
    benchmark: str
    certificate: str
    channel: str
    image_channel: str
    rules: RulesRecord
    factors: FactorsRecord
    training: dict[str, Any]
    sampled_pools: dict[str, Any]
    left_out: list[Any]
    not_asked: dict[str, str]
    limit: LimitRecord | None
    unknown_protocols: dict[str, int]
    reading: ReadingRecord
    rows: list[ResultRow]
    fits: list[dict[str, Any]]
    cells: list[dict[str, Any]]


@dataclass(frozen=True)
class Run:
    """A finished run. record: the contents of run.json. world: None for benchmarks of others and scores from elsewhere. splits: the
    partitions that are the splits of `benchmark`, None where it has its own."""

    folder: Path
    record: dict[str, Any]
    world: World | None
    benchmark: Benchmark
    splits: Splits | None = None

    @property
    def channels(self) -> list[str]:
        """The channels of the model's scores, the first one its own choice."""
        return list(self.record.get("channels", ["cosine"]))


def open_run(folder: Path) -> Run:
    """Read the run in a folder. Raises UserError when there is none, or when the dataset changed since it was scored.

    A run may come from someone else: a URL that it names is not opened, and its folder may hold no links.
    """
    check_own_files(folder)
    if not (folder / "run.json").exists():
        raise UserError(
            f"{folder} is no finished run; give a folder written by `score run` or `score measure --items`."
        )
    record = read_json(folder / "run.json", RunRecord)
    if record["dataset"] is None:  # the items are in the run's own folder
        splits = splits_of(folder)
        return Run(folder, record, None, with_splits(_part(_own_benchmark(folder, record), record), splits), splits)
    if is_url(str(record["dataset"])):
        raise UserError(
            f"{folder / 'run.json'} names a dataset at a URL ({record['dataset']}), which is not opened for a file's sake; download "
            f"it and write its folder there."
        )
    dataset = Dataset.open(Path(record["dataset"]))
    benchmark = dataset.benchmark(record["benchmark_name"])
    if (benchmark.digest, dataset.world.digest) != (record["benchmark"], record["world"]):
        raise UserError(
            f"The dataset {record['dataset']} changed since {folder} was scored; run `score run` again with another --out."
        )
    return Run(folder, record, dataset.world, _part(benchmark, record))


def _part(benchmark: Benchmark, record: dict[str, Any]) -> Benchmark:
    """The items that a run was asked."""
    return limited(in_splits(benchmark, record.get("split") or ()), record.get("limit"))


def split_run(folder: Path, partitions: Path) -> None:
    """Make the partitions in a folder of `score familiarity` the splits of a run. Raises UserError as `open_run` and `read_splits`, and for
    a run on a dataset, whose splits say what its own training holds out."""
    record = open_run(folder).record
    if record["dataset"] is not None:
        raise UserError(
            f"{folder} was scored on {record['dataset']}, which has splits of its own; leave --splits out, or give a run of a benchmark of "
            "others."
        )
    write_splits(folder, read_splits(partitions, _own_benchmark(folder, record)))


def _own_benchmark(folder: Path, record: dict[str, Any]) -> Benchmark:
    return Benchmark(folder / "benchmarks" / check_benchmark_name(record["benchmark_name"]))


def read_results(run: Run) -> dict[str, Any]:
    """The results of a run. Raises UserError when it has none."""
    if not (run.folder / "results.json").exists():
        raise UserError(f"{run.folder} has no results; write them with `score measure {run.folder}`.")
    return read_json(run.folder / "results.json", ResultsRecord)


@dataclass(frozen=True)
class NamedRun:
    """A measured run and its results, as they stand in a report."""

    run: Run
    results: dict[str, Any]


def read_named(source: str) -> NamedRun:
    """The run in the folder `source`, or of NAME=FOLDER, which names the model.

    Runs of one name are runs of one model: where their training is not recorded, each spec counts as a training of its own.
    Raises UserError when there is no run, or one without results.
    """
    name, folder = split_name(source)
    run = open_run(folder)
    results = read_results(run)
    if name:
        factors = results["factors"]
        seed = results["model"] if factors["training_seed"] is None else factors["training_seed"]
        results |= {"model": name, "factors": {**factors, "model": name, "treatment": {}, "training_seed": seed}}
    return NamedRun(run, results)


def split_name(source: str) -> tuple[str, Path]:
    """The name, "" for none, and the path of NAME=PATH. A path may hold "=" itself."""
    name, equals, rest = source.partition("=")
    return ("", Path(source)) if not equals or Path(source).exists() else (name, Path(rest))


EMBEDDINGS = ("images", "texts")
"""The sides of a pool of which a dual encoder has embeddings."""


def pool_path(folder: Path, pool: str, channel: str, number: int, of: str = "") -> Path:
    """The file of a pool's scores, float32 (images, texts), for a channel and its number among the model's channels.

    of: one of EMBEDDINGS, for the embeddings of that side, float32 (n, d). Raises UserError unless the names are plain.
    """
    name = check_name(pool, "pool's name")
    part = of or (check_name(channel, "channel") if number else "")
    return folder / "pools" / (f"{name}.{part}.npy" if part else f"{name}.npy")


def folder_name(name: str) -> str:
    """The name of a model or a file as that of a folder.

    >>> folder_name("open_clip:ViT-B-32@openai"), folder_name("../..")
    ('open_clip_ViT-B-32_openai', 'unnamed')
    """
    return "".join(c if c.isalnum() or c in "-." else "_" for c in name).strip("._") or "unnamed"


def tables_folder(folder: Path) -> Path:
    """The folder of a run's tables; made where it is missing."""
    tables = folder / "tables"
    tables.mkdir(exist_ok=True)
    return tables
