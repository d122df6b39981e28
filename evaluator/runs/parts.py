"""Select what a run asks of a benchmark: a limited number of items (`--limit`), the items of some
splits, or partitions by familiarity in place of the splits (`--splits`; written by `score
familiarity`)."""

import copy
import csv
import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from evaluator.benchmarks.tables import rows_of
from evaluator.protocols import protocol_names
from evaluator.protocols.items import COMPARED, EXCLUDED, FULL, MIXED, PARTITIONS, UNPARSED
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_json, write_json
from generator.base.limits import MOST_LIST, read_text
from generator.dataset.reader import Benchmark

logger = logging.getLogger(__name__)
_FILE = "splits.json"
"""The file of partitions in a run's folder."""
_CLOSE_ONLY = "amb_close_only"
"""The bucket of samples that only near matches of the reference cover. They are excluded."""
_STRICT = "strict"
"""The way of reading captions that leaves some of them unparsed."""


class _AboutRecord(TypedDict):
    """The entries of summary.json that distinguish partitions."""

    benchmark: str
    """Name of the benchmark."""
    reference: str
    """The captions that questions are compared with, such as a file's name."""
    captions: str
    """How captions are read, such as `free`."""
    extractor: str
    """What reads them."""
    match: str
    """How words are compared, such as `lemmas`."""


class Splits(TypedDict):
    """Partitions in place of a benchmark's splits: the contents of splits.json of a run."""

    of: dict[str, str]
    """By id of a question, its split."""
    about: _AboutRecord
    """How the partitions were made."""


def limit_items(benchmark: Benchmark, limit: int | None) -> Benchmark:
    """Limit the number of items of each protocol. Items of training and pools are not limited.

    Items are taken in the order of a hash of their names, so that a smaller limit takes some of the
    items of a larger one, and no split or kind comes first.

    Args:
        benchmark: Any benchmark.
        limit: Most items of a protocol; None for all.

    Returns:
        The benchmark with fewer items; itself for None.

    Raises:
        UserError: The limit is below 1.
    """
    if limit is None:
        return benchmark
    if limit < 1:
        raise UserError(
            f"Expected a limit of at least 1 item, got {limit}; leave it out to measure all items."
        )
    rows = []
    for row, (protocol, item) in enumerate(rows_of(benchmark.items, "protocol", "item_id")):
        hash_of_name = hashlib.sha256(item.encode()).digest()
        rows.append((protocol, hash_of_name, row))
    # Training is no protocol that is measured.
    limited_protocols = protocol_names()
    counts: Counter[str] = Counter()
    chosen = []
    for protocol, _, row in sorted(rows):
        counts[protocol] += 1
        if counts[protocol] <= limit or protocol not in limited_protocols:
            chosen.append(row)
    # In the order of the table.
    chosen_rows = pa.array(sorted(chosen), pa.int64())
    return _with_items(benchmark, benchmark.items.take(chosen_rows))


def items_in_splits(benchmark: Benchmark, splits: Sequence[str]) -> Benchmark:
    """Keep only the items of some splits. Pools keep their texts.

    Args:
        benchmark: Any benchmark.
        splits: Names of splits; none for all.

    Returns:
        The benchmark with fewer items; itself without splits.

    Raises:
        UserError: A split has no items.
    """
    if not splits:
        return benchmark
    column = benchmark.items["split"]
    known = [str(name) for name in pc.unique(column).to_pylist()]
    for split in splits:
        if split not in known:
            raise UserError(
                f"The benchmark {benchmark.name} has no items of the split '{split}'; "
                f"{did_you_mean(split, known)}"
            )
    is_in_splits = pc.is_in(column, pa.array(splits))
    return _with_items(benchmark, benchmark.items.filter(is_in_splits))


def record_limit(
    whole: Benchmark, limited: Benchmark, *, protocols: Sequence[str], limit: int
) -> dict[str, Any]:
    """What a limit leaves of a benchmark.

    Args:
        whole: The benchmark before the limit.
        limited: The benchmark within the limit.
        protocols: The protocols that are measured.
        limit: Most items of a protocol.

    Returns:
        The record of the limit in results (evaluator.protocols.records.LimitRecord).
    """
    counts, empty_splits = {}, {}
    for protocol in protocols:
        before = Counter(whole.items_of(protocol)["split"].to_pylist())
        after = Counter(limited.items_of(protocol)["split"].to_pylist())
        counts[protocol] = before.total()
        without_items = sorted(set(before) - set(after))
        if without_items:
            empty_splits[protocol] = without_items
    return {"items": limit, "of": counts, "empty": empty_splits}


def describe_limit(limit: Mapping[str, Any]) -> list[str]:
    """A sentence for each protocol with a split that the limit left without items.

    Args:
        limit: The record of the limit.

    Returns:
        The sentences.

    Example:
        >>> print(*describe_limit({"items": 5, "empty": {"binary": ["seen"]}}))
        The limit of 5 items left 'binary' no items of seen: take a larger limit to measure them.
    """
    sentences = []
    for protocol, splits in limit["empty"].items():
        sentences.append(
            f"The limit of {limit['items']:,} items left '{protocol}' no items of "
            f"{', '.join(splits)}: take a larger limit to measure them."
        )
    return sentences


def captions_digest(captions: Iterable[str]) -> str:
    """A digest that distinguishes versions of a question.

    Args:
        captions: The captions of the question, in any order; repetitions do not count.

    Returns:
        12 hexadecimal digits.

    Example:
        >>> captions_digest(["a", "b"]) == captions_digest(["b", "a", "a"])
        True
    """
    lines = "\n".join(sorted(set(captions)))
    return hashlib.sha256(lines.encode()).hexdigest()[:12]


def read_splits(folder: Path, benchmark: Benchmark) -> Splits:
    """Read the partitions that `score familiarity` wrote.

    A question of several samples is MIXED unless they agree. EXCLUDED: questions of
    `amb_close_only` and, if captions are read by phrases, questions without a partition. UNPARSED:
    questions whose captions do not have the strict form.

    Args:
        folder: The folder of `score familiarity`.
        benchmark: The benchmark whose questions get the partitions.

    Returns:
        The split of each question, and how the partitions were made.

    Raises:
        UserError: The folder holds something else, lacks a question, or was made from other
            captions.
    """
    for name in ("summary.json", "per_sample_overlap.tsv", "excluded.tsv"):
        if not (folder / name).is_file():
            raise UserError(
                f"{folder} has no {name}; give the folder that `score familiarity` wrote, or write "
                f"it again."
            )
    summary = read_json(folder / "summary.json", _AboutRecord)
    about: Any = {name: summary[name] for name in _AboutRecord.__annotations__}
    without_partition = UNPARSED if about["captions"] == _STRICT else EXCLUDED

    # A question has a row for each of its samples, and an excluded sample has a row of its own.
    partitions: dict[str, set[str]] = defaultdict(set)
    digests: dict[str, str] = {}
    overlap_columns = ("question", "captions", "bucket", "partition")
    for row in _read_rows(folder / "per_sample_overlap.tsv", overlap_columns):
        is_excluded = row["bucket"] == _CLOSE_ONLY
        partitions[row["question"]].add(EXCLUDED if is_excluded else row["partition"])
        digests[row["question"]] = row["captions"]
    for row in _read_rows(folder / "excluded.tsv", ("question", "captions")):
        partitions[row["question"]].add(without_partition)
        digests[row["question"]] = row["captions"]

    captions_of_question = _captions(benchmark)
    _check_partitions(folder, captions_of_question, digests)
    split_of = {}
    for name in benchmark.items["item_id"].to_pylist():
        split_of[name] = without_partition
        if name in captions_of_question:
            split_of[name] = _partition_of_samples(partitions[name], without_partition)
    return Splits(of=split_of, about=about)


def _check_partitions(
    folder: Path, captions_of_question: Mapping[str, list[str]], digests: Mapping[str, str]
) -> None:
    """Raise UserError if a folder lacks a question, or was made from other captions.

    digests: by question, the digest of the captions that the folder was made from.
    """
    lacking = [name for name in captions_of_question if name not in digests]
    if lacking:
        raise UserError(
            f"{folder} has no partition of {len(lacking):,} of {len(captions_of_question):,} "
            f"questions, such as {lacking[0]}; give "
            "`score familiarity` the same benchmark."
        )
    for name, captions in captions_of_question.items():
        if captions_digest(captions) != digests[name]:
            raise UserError(
                f"The captions of question {name} differ from the captions that {folder} was made "
                f"from; give `score "
                "familiarity` the same version of the benchmark."
            )


def write_splits(run: Path, splits: Splits) -> None:
    """Store partitions as the splits of a run, in place of earlier ones. Logs the number of
    questions in each.

    Args:
        run: The folder of the run.
        splits: The partitions.
    """
    write_json(run / _FILE, splits)
    counts = Counter(splits["of"].values())
    sizes = []
    for name in (*PARTITIONS, EXCLUDED, UNPARSED):
        if counts[name] or name in PARTITIONS:
            sizes.append(f"{name} {counts[name]:,}")
    logger.info(f"Splits by familiarity with {splits['about']['reference']}: {', '.join(sizes)}.")
    for name in PARTITIONS:
        if not counts[name]:
            logger.info(f"No question is {name}: that split has no mean.")


def describe_splits(rules: Mapping[str, Any]) -> list[str]:
    """A sentence on splits by familiarity.

    Args:
        rules: The `rules` of results (evaluator.protocols.records.RulesRecord).

    Returns:
        The sentence; [] if the splits are the benchmark's own.

    Example:
        >>> splits = {"reference": "coco.json", "captions": "free", "match": "lemmas"}
        >>> print(*describe_splits({"splits": splits}))  # doctest: +NORMALIZE_WHITESPACE
        Splits are by familiarity with coco.json (captions read as free, match by lemmas); full is
        all of them.
    """
    about = rules.get("splits")
    if about is None:
        return []
    how = f"captions read as {about['captions']}, match by {about['match']}"
    return [f"Splits are by familiarity with {about['reference']} ({how}); {FULL} is all of them."]


def forget_splits(run: Path) -> None:
    """Restore the benchmark's own splits of a run.

    Args:
        run: The folder of the run.
    """
    (run / _FILE).unlink(missing_ok=True)


def splits_of(run: Path) -> Splits | None:
    """Read the partitions that are the splits of a run.

    Args:
        run: The folder of the run.

    Returns:
        The partitions; None if the run has its benchmark's own splits.
    """
    path = run / _FILE
    splits: Any = read_json(path, Splits) if path.exists() else None
    return splits


def with_splits(benchmark: Benchmark, splits: Splits | None) -> Benchmark:
    """Replace the splits of a benchmark by partitions.

    Args:
        benchmark: The benchmark that was partitioned.
        splits: The partitions; None for the benchmark's own splits.

    Returns:
        The benchmark with other splits; itself for None.

    Raises:
        UserError: A question has no partition.
    """
    if splits is None:
        return benchmark
    items = benchmark.items
    try:
        names = [splits["of"][item_id] for item_id in items["item_id"].to_pylist()]
    except KeyError as error:
        raise UserError(
            f"{_FILE} of the run has no split of {error}; run `score measure --splits` again."
        ) from None
    place = items.schema.get_field_index("split")
    field = items.schema.field(place)
    return _with_items(benchmark, items.set_column(place, field, pa.array(names, pa.string())))


def _with_items(benchmark: Benchmark, items: pa.Table) -> Benchmark:
    """A copy with other items. All other tables are shared, and read when they are needed."""
    part = copy.copy(benchmark)
    vars(part)["items"] = items  # a table of a benchmark is an attribute once it is read
    return part


def _captions(benchmark: Benchmark) -> dict[str, list[str]]:
    """The captions in the compared slots, by question, for questions with a true and a false
    caption; true captions come first."""
    true: dict[str, list[str]] = defaultdict(list)
    false: dict[str, list[str]] = defaultdict(list)
    columns = ("item_id", "slot", "truth", "text_id")
    for item, slot, is_true, text_id in rows_of(benchmark.candidates, *columns):
        if slot in COMPARED:
            (true if is_true else false)[item].append(benchmark.text_of[text_id])
    return {item: [*captions, *false[item]] for item, captions in true.items() if item in false}


def _read_rows(path: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a file of tab-separated values. Raises UserError if it is damaged or lacks a
    column."""
    try:
        lines = read_text(path, MOST_LIST).split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is damaged ({error}); run `score familiarity` again.") from None
    rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    for column in columns:
        if column not in (rows.fieldnames or ()):
            raise UserError(f"{path} has no column '{column}'; run `score familiarity` again.")
    return list(rows)


def _partition_of_samples(partitions: set[str], without_partition: str) -> str:
    """The partition of a question from the partitions of its samples. Samples without a partition
    count only if no sample has one."""
    known = partitions - {without_partition} or partitions
    return next(iter(known)) if len(known) == 1 else MIXED
