"""Compares models on the same items: which is better, between which splits the lead changes, and
which differences the benchmark can detect."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.analysis.answers import Matched, common_metrics, match_blocks, read_answers, shared
from evaluator.protocols.items import FULL, UNPARSED, split_rank
from evaluator.protocols.records import by_key, rounded
from evaluator.statistics.difference import (
    Difference,
    Sides,
    benjamini_hochberg,
    block_seeds_needed,
    detectable,
    items_needed,
    mcnemar,
    model_difference,
    ranks,
)
from evaluator.statistics.intervals import NEW_TRAININGS, speaks_of
from generator.base.clusters import Clusters
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress
from generator.base.tables import write_csv

Q = 0.05
THESE_TRAININGS = "these trainings"
LESS_IS_BETTER = ("brittleness",)
"""Metrics for which the lower value is better."""
_QUESTION = ("protocol", "metric", "kind", "skill", "split")
Key = tuple[str, ...]
"""The labels of a question, as _QUESTION names them."""
Row = dict[str, Any]
Comparison = dict[str, Any]
"""What `compare` returns."""
Asked = list[tuple[Matched, np.ndarray]]
"""The answers of each block, with a mask (n,) of the items of a question."""


def compare(
    sources: Sequence[str],
    detect: float | None = None,
    progress: Progress = SILENT,
    metric: str | None = None,
) -> Comparison:
    """Compare the models of runs and tables (see `read_answers`) on the items that all of them
    answered.

    detect: a difference (0..1); the rows then say how many items and block seeds it needs. metric:
        the metric to
    compare, None for each protocol's main metric, or where it differs between runs for one that all
    have. Returns

    - `models`: the sources of each model: several if it has several training seeds or runs on
      several blocks.
    - `marks`: the note beside every number of a model that is contaminated or a stand-in.
    - `items`: numbers of compared and left-out items (see `match`), a dict for each block.
    - `rows`: a row for each pair of models and each question: a protocol, metric, kind and split,
      and also each skill of a kind that has several. Shares are 0..1. `difference` is `first` −
      `second`, both means over trainings and blocks. `low`, `high`, `p` and `detectable` come from
      one statistical model of the difference (evaluator.statistics.difference) and speak of this
      vocabulary, as `speaks_of` says in words. `low_wider` and `high_wider` speak of values and
      objects like these. `q` is p corrected over the pairs of models (Benjamini and Hochberg);
      `leader` is the better model if q ≤ .05, else None. `p_mcnemar` and `q_mcnemar` are the same
      as published (Peng et al. 2026, section 5.3): they take items as independent, and hold for
      these trainings. `mark` has the marks of both models.
    - `flips`: pairs of splits between which the lead of a pair of models changes, with the
      `leaders` (None where a lead is not significant), the models `ahead` by their means, `p_flip`
      (the larger p of the two splits) and `significant` (the leads on both
      splits are). `p_flip_mcnemar` and `significant_mcnemar` are the same as published.
    - `rankings`: the models of each question by rank, with intervals.

    Raises UserError when a source cannot be read, when there are fewer than two models, and as
    `match_blocks` does.
    """
    unique = {_resolved(source): source for source in sources}
    common = common_metrics(list(unique.values()))
    answers = [each for source in unique.values() for each in read_answers(source, metric, common)]
    blocks = match_blocks(answers)
    models = by_key((each.model, each.source) for each in answers)
    said = by_key((each.model, each.mark) for each in answers if each.mark)
    marks = {model: " ".join(dict.fromkeys(found)) for model, found in said.items()}
    if len(models) < 2:
        (only,) = models
        raise UserError(
            f"Expected at least two models, got '{only}' alone; name several runs of it NAME=RUN "
            f"to compare them."
        )
    rows: list[Row] = []
    rankings: list[Row] = []
    questions = _questions(blocks)
    for labels, asked in progress.each(questions, "comparing", len(questions)):
        clusters = shared(asked)
        found = {
            pair: model_difference(_sides(asked, *pair), clusters)
            for pair in combinations(models, 2)
        }
        rows += _rows(labels, asked, clusters, found, detect)
        rankings.append({**labels, "models": _ranking(labels, list(models), asked, found)})
    for row in rows:
        row["mark"] = " ".join(
            f"{name}: {marks[name]}" for name in (row["first"], row["second"]) if name in marks
        )
    return {
        "models": models,
        "marks": marks,
        "items": [block.left_out for block in blocks],
        "q": Q,
        "detect": detect,
        "rows": rows,
        "flips": _flips(rows),
        "rankings": rankings,
    }


def write_rows(comparison: Comparison, path: Path) -> None:
    """Write the rows of a comparison as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_csv(path, pa.Table.from_pylist(comparison["rows"]))


def _resolved(source: str) -> str:
    """A source with its absolute path, so that a run given twice counts once."""
    name, equals, path = source.rpartition("=")
    return f"{name}{equals}{Path(path).resolve()}"


def _questions(blocks: Sequence[Matched]) -> list[tuple[Row, Asked]]:
    """The labels of each question, None for "", and its items in the blocks that have any;
    protocols in order of appearance. Partitions also have a question for all of them together,
    FULL."""
    order: dict[str, int] = {}
    asked: dict[Key, Asked] = {}
    for block in blocks:
        for protocol in dict.fromkeys(block.labels["protocol"].tolist()):
            order.setdefault(protocol, len(order))
        for key in _keys(block):
            asked.setdefault(key, []).append((block, _chosen(block, key)))
    return [
        ({name: label or None for name, label in zip(_QUESTION, key, strict=True)}, asked[key])
        for key in sorted(asked, key=lambda key: (order[key[0]], *key[1:4], split_rank(key[4])))
    ]


def _keys(block: Matched) -> set[Key]:
    """The questions of a block; a question with the skill "" covers all skills."""
    found = set(zip(*(block.labels[name].tolist() for name in _QUESTION), strict=True))
    skills = Counter(key[:3] for key in {key[:4] for key in found})
    keys = {(*key[:3], "", key[4]) for key in found} | {key for key in found if skills[key[:3]] > 1}
    return keys | {(*key[:4], FULL) for key in keys if block.partitioned and key[4] != UNPARSED}


def _chosen(block: Matched, key: Key) -> np.ndarray:
    """Mask (n,) of the items of a question."""
    *labels, split = key
    masks = [
        block.labels[name] == label
        for name, label in zip(_QUESTION, labels, strict=False)
        if label or name != "skill"
    ]
    of_split = block.labels["split"]
    masks.append(of_split != UNPARSED if block.partitioned and split == FULL else of_split == split)
    return np.asarray(np.all(masks, axis=0))


def _sides(asked: Asked, first: str, second: str) -> list[Sides]:
    """The outcomes of two models in each block."""
    return [
        (
            block.correct[block.models[first]][:, chosen],
            block.correct[block.models[second]][:, chosen],
        )
        for block, chosen in asked
    ]


def _rows(
    labels: Row,
    asked: Asked,
    clusters: Clusters,
    found: dict[tuple[str, str], Difference],
    detect: float | None,
) -> list[Row]:
    """The row of each pair of models on one question."""
    rows = [
        {**labels, "first": a, "second": b, **_row(_sides(asked, a, b), clusters, each, detect)}
        for (a, b), each in found.items()
    ]
    for row, q in zip(rows, benjamini_hochberg([row["p"] for row in rows]), strict=True):
        row["q"] = q
        row["leader"] = _ahead(row) if q <= Q else None
    # As published, the correction is over the pairs of models of one question.
    tested = [row for row in rows if row["p_mcnemar"] is not None]
    corrected = benjamini_hochberg([row["p_mcnemar"] for row in tested])
    for row in rows:
        row["q_mcnemar"] = None
    for row, q in zip(tested, corrected, strict=True):
        row["q_mcnemar"] = q
    return rows


def _ahead(row: Row) -> str:
    """The model of a row that is better by its mean, whether or not that is significant."""
    return str(row["first"] if _better(row, row["difference"]) > 0 else row["second"])


def _better(labels: Row, value: float) -> float:
    """The value, negated if lower is better for the question's metric."""
    return -value if labels["metric"] in LESS_IS_BETTER else value


def _row(
    sides: Sequence[Sides], clusters: Clusters, found: Difference, detect: float | None
) -> Row:
    """The numbers of a row: two models on one question."""
    trainings = THESE_TRAININGS if found.of_trainings is None else NEW_TRAININGS
    row: Row = {
        "blocks": found.blocks,
        "items": len(clusters),
        "clusters": len(np.unique(clusters.codes)),
        "bindings": clusters.weights.shape[1],
        **clusters.levels(),
        "first_runs": sum(len(first) for first, _ in sides),
        "second_runs": sum(len(second) for _, second in sides),
        "first_mean": rounded(np.mean([first.mean() for first, _ in sides])),
        "second_mean": rounded(np.mean([second.mean() for _, second in sides])),
        "difference": rounded(found.value),
        "low": rounded(found.low),
        "high": rounded(found.high),
        "low_wider": rounded(found.low_wider),
        "high_wider": rounded(found.high_wider),
        "p": 1.0 if np.isnan(found.p) else found.p,
        "speaks_of": speaks_of(clusters, models=trainings),
        **_mcnemar(sides),
        "detectable": rounded(detectable(found)),
    }
    if detect is not None:
        row |= {
            "block_seeds_needed": block_seeds_needed(found, detect),
            "items_needed": items_needed(found, detect, len(clusters)),
        }
    return row


def _mcnemar(sides: Sequence[Sides]) -> Row:
    """McNemar's test over the items of all blocks, with the items that only one model has right.

    Several trainings of a model are tested one by one, the i-th of one model against the i-th of
    the other. They count together only where all have the same lead (Peng et al. 2026, section
    5.3: "three-seed agreement"): p is then their largest, else 1. All values are None if a model
    has more trainings than the other.
    """
    unknown: Row = {"only_first": None, "only_second": None, "p_mcnemar": None}
    runs = {len(of_model) for side in sides for of_model in side}
    if len(runs) > 1:
        return unknown
    (trainings,) = runs
    p_values = []
    leads = set()
    for i in range(trainings):
        first = np.concatenate([outcomes[i] for outcomes, _ in sides])
        second = np.concatenate([outcomes[i] for _, outcomes in sides])
        p_values.append(mcnemar(first, second))
        leads.add(np.sign(first.mean() - second.mean()))
    if trainings > 1:
        return {**unknown, "p_mcnemar": max(p_values) if len(leads) == 1 else 1.0}
    return {
        "only_first": int((first > second).sum()),
        "only_second": int((first < second).sum()),
        "p_mcnemar": p_values[0],
    }


def _ranking(
    labels: Row, models: Sequence[str], asked: Asked, found: dict[tuple[str, str], Difference]
) -> list[Row]:
    """The models by rank on one question."""
    means = [
        float(
            np.mean(
                [block.correct[block.models[name]][:, chosen].mean() for block, chosen in asked]
            )
        )
        for name in models
    ]
    pairs = {
        (models.index(a), models.index(b)): replace(each, value=_better(labels, each.value))
        for (a, b), each in found.items()
    }
    placed = ranks([_better(labels, mean) for mean in means], pairs)
    rows = [
        {
            "model": name,
            "mean": rounded(mean),
            "rank": each.rank,
            "low": each.low,
            "high": each.high,
        }
        for name, mean, each in zip(models, means, placed, strict=True)
    ]
    return sorted(rows, key=lambda row: row["rank"])


def _flips(rows: Sequence[Row]) -> list[Row]:
    """Pairs of splits, except val, of one protocol, metric, kind and skill between which the lead
    of one model over another changes sides."""
    same = (*_QUESTION[:-1], "first", "second")
    over_splits = by_key(
        (tuple(row[name] for name in same), row) for row in rows if row["split"] != "val"
    )
    return [
        {
            **dict(zip(same, labels, strict=True)),
            "splits": [one["split"], other["split"]],
            "differences": [one["difference"], other["difference"]],
            "leaders": [one["leader"], other["leader"]],
            "ahead": [_ahead(one), _ahead(other)],
            "p_flip": max(one["p"], other["p"]),
            "significant": one["leader"] is not None and other["leader"] is not None,
            **_flip_as_published(one, other),
        }
        for labels, of_splits in over_splits.items()
        for one, other in combinations(of_splits, 2)
        if one["difference"] * other["difference"] < 0
    ]


def _flip_as_published(one: Row, other: Row) -> Row:
    """The flip between two splits by McNemar's test (Peng et al. 2026, section 5.3); None where a
    split has no such test."""
    if one["p_mcnemar"] is None or other["p_mcnemar"] is None:
        return {"p_flip_mcnemar": None, "significant_mcnemar": None}
    return {
        "p_flip_mcnemar": max(one["p_mcnemar"], other["p_mcnemar"]),
        "significant_mcnemar": max(one["q_mcnemar"], other["q_mcnemar"]) <= Q,
    }
