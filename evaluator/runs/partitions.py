"""Partitions by familiarity as the splits of a run: `score familiarity` writes them, `--splits` of `score run` and
`score measure` reads them."""

import copy
import csv
import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from evaluator.protocols.items import COMPARED, EXCLUDED, FULL, MIXED, PARTITIONS, UNPARSED
from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from generator.base.limits import MOST_LIST, read_text
from generator.dataset.reader import Benchmark

logger = logging.getLogger(__name__)
_FILE = "splits.json"
_CLOSE_ONLY = "amb_close_only"
_STRICT = "strict"


@dataclass(frozen=True)
class Splits:
    """The split of each question by its id, and how it was made: the entries of summary.json that _AboutRecord
    names."""

    of: Mapping[str, str]
    about: Mapping[str, str]


class _AboutRecord(TypedDict):
    """What tells partitions apart, in summary.json."""

    benchmark: str
    reference: str
    captions: str
    extractor: str
    match: str


class _SplitsRecord(TypedDict):
    """splits.json of a run."""

    of: dict[str, str]
    about: _AboutRecord


def captions_digest(captions: Iterable[str]) -> str:
    """What tells the captions of a question from those of another version of it, in any order."""
    return hashlib.sha256("\n".join(sorted(set(captions))).encode()).hexdigest()[:12]


def read_splits(folder: Path, benchmark: Benchmark) -> Splits:
    """The partitions in a folder of `score familiarity`, for the questions of a benchmark.

    A question of several samples is MIXED unless all agree. EXCLUDED has questions of `amb_close_only` and, of
    captions read by phrases, those without a partition; UNPARSED has those whose captions are not of the strict form.
    Raises UserError for a folder that holds something else, lacks a question, or was made of other captions.
    """
    for name in ("summary.json", "per_sample_overlap.tsv", "excluded.tsv"):
        if not (folder / name).is_file():
            raise UserError(
                f"{folder} has no {name}; give the folder that `score familiarity` wrote, or write it again."
            )
    summary = read_json(folder / "summary.json", _AboutRecord)
    about = {name: summary[name] for name in _AboutRecord.__annotations__}
    left_out = UNPARSED if about["captions"] == _STRICT else EXCLUDED
    of: dict[str, set[str]] = defaultdict(set)
    digests: dict[str, str] = {}
    for row in _rows(folder / "per_sample_overlap.tsv", ("question", "captions", "bucket", "partition")):
        of[row["question"]].add(EXCLUDED if row["bucket"] == _CLOSE_ONLY else row["partition"])
        digests[row["question"]] = row["captions"]
    for row in _rows(folder / "excluded.tsv", ("question", "captions")):
        of[row["question"]].add(left_out)
        digests[row["question"]] = row["captions"]
    asked = _captions(benchmark)
    if lacking := [name for name in asked if name not in of]:
        raise UserError(
            f"{folder} has no partition of {len(lacking):,} of {len(asked):,} questions, such as {lacking[0]}; give "
            f"`score familiarity` the "
            "same benchmark."
        )
    for name, captions in asked.items():
        if captions_digest(captions) != digests[name]:
            raise UserError(
                f"The captions of question {name} are not those that {folder} was made of; give `score familiarity` "
                f"the same version of "
                "the benchmark."
            )
    names = benchmark.items["item_id"].to_pylist()
    return Splits({name: _one(of[name], left_out) if name in asked else left_out for name in names}, about)


def write_splits(run: Path, splits: Splits) -> None:
    """Make partitions the splits of the run in a folder, until others take their place; says how many questions each
    has."""
    write_json(run / _FILE, asdict(splits))
    counts = Counter(splits.of.values())
    logger.info(
        f"Splits by familiarity with {splits.about['reference']}: "
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
    """A sentence on the splits of results by their `rules`, none where they are the benchmark's own.

    >>> splits_said({"splits": {"reference": "coco.json", "captions": "free", "match": "lemmas"}})
    ['Splits are by familiarity with coco.json (captions read as free, match by lemmas); full is all of them.']
    """
    about = rules.get("splits")
    if about is None:
        return []
    how = f"captions read as {about['captions']}, match by {about['match']}"
    return [f"Splits are by familiarity with {about['reference']} ({how}); {FULL} is all of them."]


def forget_splits(run: Path) -> None:
    """Give the run in a folder the splits of its benchmark again."""
    (run / _FILE).unlink(missing_ok=True)


def splits_of(run: Path) -> Splits | None:
    """The partitions that are the splits of the run in a folder; None where it has the splits of its benchmark."""
    if not (run / _FILE).exists():
        return None
    return Splits(**read_json(run / _FILE, _SplitsRecord))


def with_splits(benchmark: Benchmark, splits: Splits | None) -> Benchmark:
    """The benchmark with partitions in place of its splits; itself for None. Raises UserError where a question has
    none."""
    if splits is None:
        return benchmark
    names = benchmark.items["item_id"].to_pylist()
    try:
        column = pa.array([splits.of[name] for name in names], pa.string())
    except KeyError as error:
        raise UserError(f"{_FILE} of the run has no split of {error}; run `score measure --splits` again.") from None
    found = copy.copy(benchmark)
    place = benchmark.items.schema.get_field_index("split")
    vars(found)["items"] = benchmark.items.set_column(place, benchmark.items.schema.field(place), column)
    return found


def _captions(benchmark: Benchmark) -> dict[str, list[str]]:
    """The captions of each question that has a true and a false one, in slots that are compared."""
    sides: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    columns = (benchmark.candidates[name].to_pylist() for name in ("item_id", "slot", "truth", "text_id"))
    for item, slot, true, text in zip(*columns, strict=True):
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
    """The partition of a question from those of its samples; one that is left out says nothing beside others."""
    told = found - {left_out} or found
    return next(iter(told)) if len(told) == 1 else MIXED
