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
_CLOSE_ONLY = "amb_close_only"
_STRICT = "strict"


class _AboutRecord(TypedDict):
    """The entries of summary.json that distinguish partitions."""

    benchmark: str
    reference: str
    captions: str
    extractor: str
    match: str


class Splits(TypedDict):
    """splits.json of a run. of: {id of a question: its split}. about: how the partitions were
    made."""

    of: dict[str, str]
    about: _AboutRecord


def limited(benchmark: Benchmark, limit: int | None) -> Benchmark:
    """The benchmark with at most `limit` items of each protocol, chosen by a hash of their names;
    pools keep their texts.

    None: the benchmark itself. Raises UserError for a limit below 1.
    """
    if limit is None:
        return benchmark
    if limit < 1:
        raise UserError(
            f"Expected a limit of at least 1 item, got {limit}; leave it out to measure all items."
        )
    rows = sorted(
        (protocol, hashlib.sha256(item.encode()).digest(), row)
        for row, (protocol, item) in enumerate(rows_of(benchmark.items, "protocol", "item_id"))
    )
    taken: Counter[str] = Counter()
    kept = []
    for protocol, _, row in rows:
        taken[protocol] += 1
        if taken[protocol] <= limit or protocol not in protocol_names():
            kept.append(row)
    return _with_items(benchmark, benchmark.items.take(pa.array(sorted(kept), pa.int64())))


def in_splits(benchmark: Benchmark, splits: Sequence[str]) -> Benchmark:
    """The benchmark with only the items of these splits; pools keep their texts. No splits: the
    benchmark itself.

    Raises UserError for a split without items.
    """
    if not splits:
        return benchmark
    known = [str(each) for each in pc.unique(benchmark.items["split"]).to_pylist()]
    for split in splits:
        if split not in known:
            raise UserError(
                f"The benchmark {benchmark.name} has no items of the split '{split}'; "
                f"{did_you_mean(split, known)}"
            )
    return _with_items(
        benchmark, benchmark.items.filter(pc.is_in(benchmark.items["split"], pa.array(splits)))
    )


def what_is_left(
    whole: Benchmark, few: Benchmark, protocols: list[str], limit: int
) -> dict[str, Any]:
    """The record of a limit in the results. items: the limit. of: {protocol: its number of items
    before the limit}. empty: {protocol: the splits that the limit left without items}."""
    of, empty = {}, {}
    for protocol in protocols:
        before, after = (
            Counter(each.items_of(protocol)["split"].to_pylist()) for each in (whole, few)
        )
        of[protocol] = before.total()
        if gone := sorted(set(before) - set(after)):
            empty[protocol] = gone
    return {"items": limit, "of": of, "empty": empty}


def limit_said(limit: dict[str, Any]) -> list[str]:
    """A sentence for each protocol with a split that the limit left without items."""
    return [
        f"The limit of {limit['items']:,} items left '{protocol}' no items of {', '.join(splits)}: "
        f"take a larger limit to measure them."
        for protocol, splits in limit["empty"].items()
    ]


def captions_digest(captions: Iterable[str]) -> str:
    """A digest of a question's captions, in any order, which distinguishes versions of the
    question."""
    return hashlib.sha256("\n".join(sorted(set(captions))).encode()).hexdigest()[:12]


def read_splits(folder: Path, benchmark: Benchmark) -> Splits:
    """The partitions in a folder of `score familiarity`, for the questions of a benchmark.

    A question of several samples is MIXED unless they agree. EXCLUDED: questions of
    `amb_close_only` and, if captions are read by phrases, questions without a partition. UNPARSED:
    questions whose captions do not have the strict form. Raises UserError for a folder that holds
    something else, lacks a question, or was made from other captions.
    """
    for name in ("summary.json", "per_sample_overlap.tsv", "excluded.tsv"):
        if not (folder / name).is_file():
            raise UserError(
                f"{folder} has no {name}; give the folder that `score familiarity` wrote, or write "
                f"it again."
            )
    summary = read_json(folder / "summary.json", _AboutRecord)
    about: Any = {name: summary[name] for name in _AboutRecord.__annotations__}
    left_out = UNPARSED if about["captions"] == _STRICT else EXCLUDED
    of: dict[str, set[str]] = defaultdict(set)
    digests: dict[str, str] = {}
    for row in _rows(
        folder / "per_sample_overlap.tsv", ("question", "captions", "bucket", "partition")
    ):
        of[row["question"]].add(EXCLUDED if row["bucket"] == _CLOSE_ONLY else row["partition"])
        digests[row["question"]] = row["captions"]
    for row in _rows(folder / "excluded.tsv", ("question", "captions")):
        of[row["question"]].add(left_out)
        digests[row["question"]] = row["captions"]
    asked = _captions(benchmark)
    if lacking := [name for name in asked if name not in of]:
        raise UserError(
            f"{folder} has no partition of {len(lacking):,} of {len(asked):,} questions, such as "
            f"{lacking[0]}; give "
            "`score familiarity` the same benchmark."
        )
    for name, captions in asked.items():
        if captions_digest(captions) != digests[name]:
            raise UserError(
                f"The captions of question {name} differ from the captions that {folder} was made "
                f"from; give `score "
                "familiarity` the same version of the benchmark."
            )
    names = benchmark.items["item_id"].to_pylist()
    split_of = {name: _one(of[name], left_out) if name in asked else left_out for name in names}
    return Splits(of=split_of, about=about)


def write_splits(run: Path, splits: Splits) -> None:
    """Store partitions as the splits of the run in a folder, in place of earlier ones; logs the
    number of questions in each."""
    write_json(run / _FILE, splits)
    counts = Counter(splits["of"].values())
    logger.info(
        f"Splits by familiarity with {splits['about']['reference']}: "
        + ", ".join(
            f"{name} {counts[name]:,}"
            for name in (*PARTITIONS, EXCLUDED, UNPARSED)
            if counts[name] or name in PARTITIONS
        )
        + "."
    )
    for name in PARTITIONS:
        if not counts[name]:
            logger.info(f"No question is {name}: that split has no mean.")


def splits_said(rules: Mapping[str, Any]) -> list[str]:
    """A sentence on the splits by familiarity in the `rules` of results; [] if the splits are the
    benchmark's own.

    >>> splits = {"reference": "coco.json", "captions": "free", "match": "lemmas"}
    >>> print(*splits_said({"splits": splits}))  # doctest: +NORMALIZE_WHITESPACE
    Splits are by familiarity with coco.json (captions read as free, match by lemmas); full is all
    of them.
    """
    about = rules.get("splits")
    if about is None:
        return []
    how = f"captions read as {about['captions']}, match by {about['match']}"
    return [f"Splits are by familiarity with {about['reference']} ({how}); {FULL} is all of them."]


def forget_splits(run: Path) -> None:
    """Restore the benchmark's own splits of the run in a folder."""
    (run / _FILE).unlink(missing_ok=True)


def splits_of(run: Path) -> Splits | None:
    """The partitions stored as the splits of the run in a folder; None if it has its benchmark's
    own splits."""
    found: Any = read_json(run / _FILE, Splits) if (run / _FILE).exists() else None
    return found


def with_splits(benchmark: Benchmark, splits: Splits | None) -> Benchmark:
    """The benchmark with partitions in place of its splits; unchanged for None. Raises UserError if
    a question has no partition."""
    if splits is None:
        return benchmark
    names = benchmark.items["item_id"].to_pylist()
    try:
        column = pa.array([splits["of"][name] for name in names], pa.string())
    except KeyError as error:
        raise UserError(
            f"{_FILE} of the run has no split of {error}; run `score measure --splits` again."
        ) from None
    place = benchmark.items.schema.get_field_index("split")
    return _with_items(
        benchmark, benchmark.items.set_column(place, benchmark.items.schema.field(place), column)
    )


def _with_items(benchmark: Benchmark, items: pa.Table) -> Benchmark:
    part = copy.copy(benchmark)
    vars(part)["items"] = items
    return part


def _captions(benchmark: Benchmark) -> dict[str, list[str]]:
    """{question: its captions in the compared slots}, for questions with a true and a false
    caption."""
    sides: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for item, slot, true, text in rows_of(
        benchmark.candidates, "item_id", "slot", "truth", "text_id"
    ):
        if slot in COMPARED:
            sides[item][0 if true else 1].append(benchmark.text_of[text])
    return {item: [*true, *false] for item, (true, false) in sides.items() if true and false}


def _rows(path: Path, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    try:
        lines = read_text(path, MOST_LIST).split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is damaged ({error}); run `score familiarity` again.") from None
    rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    if lacking := [name for name in columns if name not in (rows.fieldnames or ())]:
        raise UserError(f"{path} has no column '{lacking[0]}'; run `score familiarity` again.")
    return list(rows)


def _one(found: set[str], left_out: str) -> str:
    """The partition of a question from the partitions of its samples; ignores `left_out` if there
    are others."""
    told = found - {left_out} or found
    return next(iter(told)) if len(told) == 1 else MIXED
