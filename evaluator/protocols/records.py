"""Types of the contents of run.json and results.json: the long table of results and the records
beside it."""

from collections.abc import Iterable
from math import isnan
from typing import Annotated, Any, NotRequired, TypeVar

from pydantic import Field
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

Key = TypeVar("Key")
Value = TypeVar("Value")
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
"""A number of items or the like. Python's integers have no end, NumPy's and Arrow's have 64
bits."""


class LimitRecord(TypedDict):
    """`--limit` of a run. items: maximum per protocol. of: all items per protocol. empty: splits
    left empty."""

    items: Count
    of: dict[str, Count]
    empty: dict[str, list[str]]


class ExternalRecord(TypedDict):
    """Where the files of a published benchmark were (evaluator.benchmarks)."""

    name: str
    path: str
    images: str | None
    filters: NotRequired[list[str]]


class ReadingRecord(TypedDict, total=False):
    """How a published benchmark was read (evaluator.benchmarks.reading): filters by name, numbers
    left out by reason, a sentence for each file of another version, and whether its authors average
    over categories. Empty for other benchmarks."""

    averages: bool
    filters: dict[str, str]
    excluded: dict[str, Count]
    versions: list[str]


class WordsRecord(TypedDict):
    """How a run was asked in words (evaluator.runs.ask). prompt: in run.json the prompt, in
    results.json its digest. orders: number of orders of a choice, None for all cyclic orders.
    temperature, max_tokens: None if another tool asked."""

    form: str
    prompt: dict[str, Any] | str
    digest: str
    samples: Annotated[int, Field(ge=1, le=1000)]
    temperature: float | None
    max_tokens: Count | None
    orders: Count | None


class PositionRecord(TypedDict):
    """How often a label is chosen, and is right, in questions with `options` options: shares of
    `answers`."""

    form: str
    options: Count
    label: str
    answers: Count
    chosen: float
    right: float


class AnswersRecord(TypedDict):
    """Counts of a run's answers (evaluator.scoring.words.answers), and of unusable answers by
    reason."""

    answers: Count
    refused: Count
    cut_off: Count
    unread: Count
    not_answered: Count
    prompt_tokens: Count
    completion_tokens: Count
    positions: list[PositionRecord]


class RunRecord(TypedDict, total=False):
    """The contents of run.json."""

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
    level: float | None
    tie_tolerance: float | None
    not_asked: dict[str, str]
    split: list[str] | None
    limit: Count | None
    under_limit: LimitRecord | None
    training: dict[str, Any]
    info: dict[str, Any]
    words: WordsRecord


class Row(TypedDict):
    """A row of the long table of results: a metric of a protocol over a group of items, in one
    split or between two.

    Columns without a meaning for the row are None. Shares are in 0..1, not in percent; differences
    are of such shares.
    """

    model: str
    benchmark: str
    protocol: str
    metric: str
    is_main: bool
    """Whether the metric is the protocol's main one."""
    error: str | None
    """For metrics that count mistakes, the kind of mistake; else None."""
    kind: str | None
    skill: str | None
    level: str | None
    n: Count | None
    """Number of atoms of the caption; None for rows over captions of any number."""
    n_objects: NotRequired[Count]
    n_attributes: NotRequired[Count]
    n_relations: NotRequired[Count]
    split: str
    minus: str | None
    """For a gap: the split whose value is subtracted from the value of `split`."""
    is_gap: bool
    average: str
    """The value is a mean over items (micro), or over n or categories (macro)."""
    unit: str
    """`share` (0..1), `difference` of shares, or `score`, any number."""
    value: float | None
    sd: float | None
    """The standard deviation over n or folds."""
    low: float | None
    high: float | None
    """The interval about this vocabulary."""
    low_fixed: float | None
    high_fixed: float | None
    """The interval for exactly these bindings and clusters: only renders are new."""
    low_wider: float | None
    high_wider: float | None
    """The interval about values and objects like these; None where the items name none."""
    speaks_of: str
    """What `low` and `high` speak of, in words."""
    p: float | None
    """Two-sided p of the claim about this vocabulary: of a share against its chance, of a gap
    against 0."""
    items: Count
    clusters: Count
    ties: Count | None
    unscored: Count | None
    chance: float | None
    ceiling: float | None
    """The oracle's value: what a model that knows the truth of every text reaches under the same
    rules. None if the judge's truths are missing, and for metrics without a best value."""
    unread: NotRequired[Count | None]
    """Of a run in words: items that are wrong because an answer is unread, refused or cut off."""
    value_read: NotRequired[float | None]
    """Of a run in words: the value over the other items, which have read answers."""
    blocks: NotRequired[Count]
    runs: NotRequired[Count]
    same_images: NotRequired[bool]
    """For a gap over several runs: whether it is over the same images, unseen in one turn and seen
    in others."""
    sd_blocks: NotRequired[float | None]
    min_blocks: NotRequired[float | None]
    max_blocks: NotRequired[float | None]
    sd_runs: NotRequired[float | None]
    min_runs: NotRequired[float | None]
    max_runs: NotRequired[float | None]
    """For rows pooled over blocks and runs (evaluator.analysis.pooling): their numbers and
    spread."""


class RulesRecord(TypedDict, total=False):
    """How scores were compared."""

    tie_tolerance: float
    interval: str
    level: float
    limit: Count
    foils: str
    splits: dict[str, str]
    filters: dict[str, str]
    words: WordsRecord


class FactorsRecord(TypedDict, total=False):
    """The identity of a run. Runs that differ only in block or training seed belong to one
    experiment.

    model: its spec, or for a model from `score train` its method and base. treatment: the training
        recipe without its
    seed; also training status, channel and tie tolerance. design: settings of world, benchmark and
    rules, without seeds
    and machine. block: digest of the benchmark's holdout, None if it has none. benchmark: digests
    of benchmark and
    world.
    """

    model: str
    treatment: dict[str, Any]
    training_seed: int | str | None
    design: dict[str, Any]
    block: str | None
    block_seed: int | None
    benchmark: str


class ResultsRecord(TypedDict, total=False):
    """The contents of results.json."""

    model: str
    benchmark: str
    held_out: str
    """What the benchmark holds out of training, in words; "" if nothing."""
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
    revealed: list[str]
    """What texts alone reveal, with figures (floor.json of the benchmark)."""
    empty_cells: list[str]
    """Questions that other splits have and these lack."""
    unknown_protocols: dict[str, Count]
    reading: ReadingRecord
    answers: AnswersRecord
    rows: list[Row]
    fits: list[dict[str, Any]]
    cells: list[Row]


Results = dict[str, Any]
"""The contents of results.json (ResultsRecord), or pooled results of several runs
(evaluator.analysis.pooling)."""
LABELS = ("protocol", "metric", "error", "kind", "skill", "level")
"""The columns that name a line of a table, whose cells are splits and gaps."""
STATISTICS = tuple(Row.__annotations__)[tuple(Row.__annotations__).index("unit") :]
"""The columns with statistics, and their unit."""


def by_key(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Group values by key, in order.

    >>> by_key([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def rounded(value: float | None) -> float | None:
    """A number rounded to 6 digits, as in results; None for None and nan.

    >>> rounded(0.12345678), rounded(float("nan"))
    (0.123457, None)
    """
    return None if value is None or isnan(value) else round(float(value), 6)


def split_of(row: Row) -> str:
    """The split of a row; for a gap both splits.

    >>> split_of({"split": "seen", "minus": None}), split_of({"split": "seen", "minus": "unseen"})
    ('seen', 'seen - unseen')
    """
    return f"{row['split']} - {row['minus']}" if row["minus"] else row["split"]
