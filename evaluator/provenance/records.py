"""What run.json and results.json hold."""

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12


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
