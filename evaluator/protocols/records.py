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
    """`--limit` of a run."""

    items: Count
    """Most items of each protocol."""
    of: dict[str, Count]
    """All items of each protocol."""
    empty: dict[str, list[str]]
    """By protocol, the splits that the limit leaves without items."""


class ExternalRecord(TypedDict):
    """Where the files of a published benchmark were (evaluator.benchmarks)."""

    name: str
    """Of the benchmark, such as sugarcrepe."""
    path: str
    """The file or folder that its authors publish."""
    images: str | None
    """Folder of its images; None for the default."""
    filters: NotRequired[list[str]]
    """The options --filter."""


class ReadingRecord(TypedDict, total=False):
    """How a published benchmark was read (evaluator.benchmarks.reading). Empty for others."""

    averages: bool
    """Whether its authors average over categories."""
    filters: dict[str, str]
    """Filters by name."""
    excluded: dict[str, Count]
    """Number of questions that were left out, by reason."""
    versions: list[str]
    """A sentence for each file of another version than the published one."""


class WordsRecord(TypedDict):
    """How a run was asked in words (evaluator.runs.ask)."""

    form: str
    """Of the questions: choice, yes-no, and so on (docs/words.md)."""
    prompt: dict[str, Any] | str
    """In run.json the prompt, in results.json its digest."""
    digest: str
    """Of everything that decides the questions."""
    samples: Annotated[int, Field(ge=1, le=1000)]
    """Answers to each question."""
    temperature: float | None
    """None if another tool asked."""
    max_tokens: Count | None
    """Most tokens of an answer; None if another tool asked."""
    orders: Count | None
    """Orders of the options of a choice; None for all cyclic orders."""


class PositionRecord(TypedDict):
    """How often a label is chosen, and is right."""

    form: str
    """Of these questions: choice, yes-no, and so on (docs/words.md)."""
    options: Count
    """Number of options of these questions."""
    label: str
    """Such as B."""
    answers: Count
    """Number of answers to these questions."""
    chosen: float
    """Share of them that choose the label, 0..1."""
    right: float
    """Share of the questions whose right label it is, 0..1."""


class AnswersRecord(TypedDict):
    """Counts of a run's answers (evaluator.scoring.words.answers)."""

    answers: Count
    """All answers, those without a label included."""
    refused: Count
    """Answers that decline to answer."""
    cut_off: Count
    """Answers that ended at the limit of tokens, before a label."""
    unread: Count
    """Answers in which the reader finds no label."""
    not_answered: Count
    """Questions whose request failed."""
    prompt_tokens: Count
    """Tokens of all questions, as the model counts them."""
    completion_tokens: Count
    """Tokens of all answers."""
    positions: list[PositionRecord]
    """How often each label is chosen, by form and number of options."""


class RunRecord(TypedDict, total=False):
    """The contents of run.json."""

    model: str
    """Its name in tables."""
    benchmark: str
    """Digest of the benchmark."""
    benchmark_name: str
    """Name of the benchmark."""
    world: str | None
    """Digest of the world."""
    dataset: str | None
    """Folder or URL of the dataset; None for a published benchmark."""
    external: ExternalRecord | None
    """None for a dataset."""
    certificate: str
    """Status of the benchmark's certificate, in words."""
    protocols: list[str]
    """The protocols that were scored."""
    channel: str
    """The score that is measured, such as itm."""
    image_channel: str | None
    """The score that compares images for one text; None if it is `channel`."""
    channels: Annotated[list[str], Field(min_length=1)]
    """All scores of the model."""
    versions: dict[str, str]
    """Of Python and the libraries."""
    raw_retrieval: list[str]
    """Protocols whose raw retrieval was scored."""
    sampled_pools: dict[str, Any]
    """By pool, the number of false texts for each image, where a pool was sampled."""
    indistinct_texts: dict[str, str]
    """By text_id, the text that the tokenizer's truncation makes identical to it."""
    left_out: list[Any]
    """Items that were not scored, with their reason."""
    level: float | None
    """Level of the intervals, such as 0.95."""
    tie_tolerance: float | None
    """Scores closer than this are a tie."""
    not_asked: dict[str, str]
    """By protocol, why it was not scored."""
    split: list[str] | None
    """The splits that were scored; None for all."""
    limit: Count | None
    """The option --limit."""
    under_limit: LimitRecord | None
    """What the limit left; None without one."""
    training: dict[str, Any]
    """What is known of the model's training (evaluator.provenance.contamination)."""
    info: dict[str, Any]
    """What the model says of itself: weights, digest, preprocessing and so on."""
    words: WordsRecord
    """Absent for models that score pairs."""


class Row(TypedDict):
    """A row of the long table of results: a metric of a protocol over a group of items, in one
    split or between two.

    Columns without a meaning for the row are None. Shares are in 0..1, not in percent; differences
    are of such shares.
    """

    model: str
    """Its name."""
    benchmark: str
    """Its name."""
    protocol: str
    """Name of the protocol."""
    metric: str
    """Such as accuracy, matching or R@1."""
    is_main: bool
    """Whether the metric is the protocol's main one."""
    error: str | None
    """For metrics that count mistakes, the kind of mistake; else None."""
    kind: str | None
    """Kind of question within the protocol; None for rows over all kinds."""
    skill: str | None
    """Skill that the questions test; None for rows over all skills."""
    level: str | None
    """How much the captions name: O objects, A attributes, R relations."""
    n: Count | None
    """Number of atoms of the caption; None for rows over captions of any number."""
    n_objects: NotRequired[Count]
    """Objects that the captions name, in rows of cells.csv."""
    n_attributes: NotRequired[Count]
    """Attributes that the captions name."""
    n_relations: NotRequired[Count]
    """Relations that the captions name."""
    split: str
    """The split of the questions; for a gap the first of two."""
    minus: str | None
    """For a gap: the split whose value is subtracted from the value of `split`."""
    is_gap: bool
    """Whether the value is the difference of two splits."""
    average: str
    """The value is a mean over items (micro), or over n or categories (macro)."""
    unit: str
    """`share` (0..1), `difference` of shares, or `score`, any number."""
    value: float | None
    """The mean or the difference; None without scored questions."""
    sd: float | None
    """The standard deviation over n or folds."""
    low: float | None
    """Lower end of the interval about this vocabulary."""
    high: float | None
    """Upper end of it."""
    low_fixed: float | None
    """Lower end of the interval for exactly these bindings and clusters: only renders are new."""
    high_fixed: float | None
    """Upper end of it."""
    low_wider: float | None
    """Lower end of the interval about values and objects like these; None where the items name
    none."""
    high_wider: float | None
    """Upper end of it."""
    population: str
    """What `low` and `high` speak of, in words."""
    p: float | None
    """Two-sided p of the claim about this vocabulary: of a share against its chance, of a gap
    against 0."""
    items: Count
    """Questions that count."""
    clusters: Count
    """Groups of scenes with the same values and objects, which intervals are computed over."""
    ties: Count | None
    """Questions that are wrong because the best scores are equal."""
    unscored: Count | None
    """Questions without a score, which do not count."""
    chance: float | None
    """The value of a model that guesses."""
    ceiling: float | None
    """The oracle's value: what a model that knows the truth of every text reaches under the same
    rules. None if the judge's truths are missing, and for metrics without a best value."""
    unread: NotRequired[Count | None]
    """Of a run in words: items that are wrong because an answer is unread, refused or cut off."""
    value_read: NotRequired[float | None]
    """Of a run in words: the value over the other items, which have read answers."""
    blocks: NotRequired[Count]
    """Number of holdouts that the row is pooled over (evaluator.analysis.pooling)."""
    runs: NotRequired[Count]
    """Number of runs that the row is pooled over."""
    same_images: NotRequired[bool]
    """For a gap over several runs: whether it is over the same images, unseen in one turn and seen
    in others."""
    sd_blocks: NotRequired[float | None]
    """Standard deviation over blocks, of their means over runs."""
    min_blocks: NotRequired[float | None]
    """Smallest mean of a block."""
    max_blocks: NotRequired[float | None]
    """Largest mean of a block."""
    sd_runs: NotRequired[float | None]
    """Standard deviation over the runs of a block."""
    min_runs: NotRequired[float | None]
    """Smallest value of a run."""
    max_runs: NotRequired[float | None]
    """Largest value of a run."""


class RulesRecord(TypedDict, total=False):
    """How scores were compared."""

    tie_tolerance: float
    """Scores closer than this are a tie."""
    interval: str
    """How intervals were computed, in words."""
    level: float
    """Level of the intervals, such as 0.95."""
    limit: Count
    """The option --limit."""
    foils: str
    """Which foils were compared, if not all."""
    splits: dict[str, str]
    """How familiarity made the splits; absent for splits of the dataset."""
    filters: dict[str, str]
    """Filters of a published benchmark, by name."""
    words: WordsRecord
    """How a run was asked in words; absent for models that score pairs."""


class FactorsRecord(TypedDict, total=False):
    """The identity of a run. Runs that differ only in block or training seed belong to one
    experiment."""

    model: str
    """Its spec; for a model from `score train`, its method and base."""
    treatment: dict[str, Any]
    """The training recipe without its seed; training status, channel and tie tolerance."""
    training_seed: int | str | None
    """None for a model that was not trained here."""
    design: dict[str, Any]
    """Settings of world, benchmark and rules, without seeds and machine."""
    block: str | None
    """Digest of the benchmark's holdout; None if it has none."""
    block_seed: int | None
    """Seed of the holdout; None if it has none."""
    benchmark: str
    """Digests of benchmark and world."""


class ResultsRecord(TypedDict, total=False):
    """The contents of results.json."""

    model: str
    """Its name in tables."""
    benchmark: str
    """Name of the benchmark."""
    held_out: str
    """What the benchmark holds out of training, in words; "" if nothing."""
    certificate: str
    """Status of the benchmark's certificate, in words."""
    channel: str
    """The score that is measured."""
    image_channel: str
    """The score that compares images for one text."""
    rules: RulesRecord
    """How scores were compared."""
    factors: FactorsRecord
    """What distinguishes the run from others."""
    training: dict[str, Any]
    """What is known of the model's training (evaluator.provenance.contamination)."""
    sampled_pools: dict[str, Any]
    """By pool, the number of false texts for each image, where a pool was sampled."""
    left_out: list[Any]
    """Items that were not scored, with their reason."""
    not_asked: dict[str, str]
    """By protocol, why it was not scored."""
    limit: LimitRecord | None
    """What --limit left; None without a limit."""
    revealed: list[str]
    """What texts alone reveal, with figures (floor.json of the benchmark)."""
    empty_cells: list[str]
    """Questions that other splits have and these lack."""
    unknown_protocols: dict[str, Count]
    """Items by protocol, for protocols that this version does not have."""
    reading: ReadingRecord
    """How a published benchmark was read; empty for others."""
    answers: AnswersRecord
    """Absent for models that score pairs."""
    rows: list[Row]
    """summary.csv."""
    fits: list[dict[str, Any]]
    """fits.csv: regressions on the number of atoms."""
    cells: list[Row]
    """cells.csv: rows by numbers of objects, attributes and relations."""


Results = dict[str, Any]
"""The contents of results.json (ResultsRecord), or pooled results of several runs
(evaluator.analysis.pooling)."""
LABELS = ("protocol", "metric", "error", "kind", "skill", "level")
"""The columns that name a line of a table, whose cells are splits and gaps."""
# From the declaration, so that a new statistic is a column of all tables without a second list.
STATISTICS = tuple(Row.__annotations__)[tuple(Row.__annotations__).index("unit") :]
"""The columns with statistics, and their unit."""


def by_key(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Group values by key, in order.

    >>> by_key([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


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
