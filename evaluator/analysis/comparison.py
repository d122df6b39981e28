"""Compares models on the same items: which is better, between which splits the lead changes, and
which differences the benchmark can detect."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.analysis.answers import (
    Answers,
    Matched,
    clusters_of_items,
    common_metrics,
    match_blocks,
    read_answers,
)
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
from evaluator.statistics.intervals import NEW_TRAININGS, describe_population
from generator.base.clusters import Clusters
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress
from generator.base.tables import write_csv

Q = 0.05
"""A difference is significant if its q is at most this."""
THESE_TRAININGS = "these trainings"
"""What an interval speaks of in place of new trainings, where each model has one run per block."""
LESS_IS_BETTER = ("brittleness",)
"""Metrics for which the lower value is better."""
_QUESTION = ("protocol", "metric", "kind", "skill", "split")
"""The labels that items of one question share."""
Key = tuple[str, ...]
"""The labels of a question, as _QUESTION names them; "" for none."""
Row = dict[str, Any]
"""A row of a comparison (docs/compare.md)."""
Comparison = dict[str, Any]
"""What `compare` returns, a dict with

- `models`: the sources of each model: several if it has several training seeds or runs on several
  blocks.
- `marks`: the note beside every number of a model that is contaminated or a stand-in.
- `items`: numbers of compared and left-out items (see `match`), a dict for each block.
- `q`, `detect`: the level of significance, and the argument.
- `rows`: a row for each pair of models and each question: a protocol, metric, kind and split, and
  also each skill of a kind that has several. Shares are 0..1. `difference` is `first` − `second`,
  both means over trainings and blocks. `low`, `high`, `p` and `detectable` come from one
  statistical model of the difference (evaluator.statistics.difference) and speak of this
  vocabulary, as `population` says in words. `low_wider` and `high_wider` speak of values and
  objects like these. `q` is p corrected over the pairs of models (Benjamini and Hochberg); `leader`
  is the better model if q ≤ .05, else None. `p_mcnemar` and `q_mcnemar` are the same as published
  (Peng et al. 2026, section 5.3): they take items as independent, and hold for these trainings.
  `mark` has the marks of both models.
- `flips`: pairs of splits between which the lead of a pair of models changes, with the `leaders`
  (None where a lead is not significant), the models `ahead` by their means, `p_flip` (the larger p
  of the two splits) and `significant` (the leads on both splits are). `p_flip_mcnemar` and
  `significant_mcnemar` are the same as published.
- `rankings`: the models of each question by rank, with intervals.
"""
Selection = list[tuple[Matched, np.ndarray]]
"""The answers of each block, with a mask (n,) of the items of a question."""
Differences = dict[tuple[str, str], Difference]
"""The difference of each pair of models on a question."""


def compare(
    sources: Sequence[str],
    detect: float | None = None,
    progress: Progress = SILENT,
    metric: str | None = None,
) -> Comparison:
    """Compare the models of runs and tables on the items that all of them answered.

    Args:
        sources: as in `read_answers`.
        detect: a difference (0..1); the rows then say how many items and block seeds it needs.
        progress: told of each question.
        metric: the metric to compare; None for each protocol's main metric, or where it differs
            between runs for one that all have.

    Returns:
        The comparison, with the entries that `Comparison` lists.

    Raises:
        UserError: a source cannot be read, there are fewer than two models, or as `match_blocks`.
    """
    # A run that is given twice counts once.
    unique_sources = list({_resolved(source): source for source in sources}.values())
    common = common_metrics(unique_sources)
    answers = []
    for source in unique_sources:
        answers += read_answers(source, metric, common)
    blocks = match_blocks(answers)
    models = by_key((of_run.model, of_run.source) for of_run in answers)
    if len(models) < 2:
        (only,) = models
        raise UserError(
            f"Expected at least two models, got '{only}' alone; name several runs of it NAME=RUN "
            f"to compare them."
        )

    rows: list[Row] = []
    rankings: list[Row] = []
    questions = _questions(blocks)
    for labels, selection in progress.follow(questions, "comparing", total=len(questions)):
        clusters = clusters_of_items(selection)
        differences = {}
        for pair in combinations(models, 2):
            differences[pair] = model_difference(_sides(selection, *pair), clusters)
        rows += _rows(labels, selection, clusters=clusters, differences=differences, detect=detect)
        placings = _ranking(labels, list(models), selection=selection, differences=differences)
        rankings.append({**labels, "models": placings})

    marks = _mark_rows(rows, answers)
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


def _mark_rows(rows: Sequence[Row], answers: Sequence[Answers]) -> dict[str, str]:
    """Add the marks of both models to each row.

    Returns:
        {model: the marks of its runs}.
    """
    marks_of_models = by_key((of_run.model, of_run.mark) for of_run in answers if of_run.mark)
    marks = {name: " ".join(dict.fromkeys(texts)) for name, texts in marks_of_models.items()}
    for row in rows:
        marked = [name for name in (row["first"], row["second"]) if name in marks]
        row["mark"] = " ".join(f"{name}: {marks[name]}" for name in marked)
    return marks


def write_rows(comparison: Comparison, path: Path) -> None:
    """Write the rows of a comparison as CSV.

    Args:
        comparison: from `compare`.
        path: the file; its folder is made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_csv(path, pa.Table.from_pylist(comparison["rows"]))


def _resolved(source: str) -> str:
    """A source with its absolute path."""
    name, equals, path = source.rpartition("=")
    return f"{name}{equals}{Path(path).resolve()}"


def _questions(blocks: Sequence[Matched]) -> list[tuple[Row, Selection]]:
    """The labels of each question, None for "", and its items in the blocks that have any.

    Protocols are in order of appearance, the other labels sorted. Partitions also have a question
    for all of them together, FULL.
    """
    protocol_rank: dict[str, int] = {}
    selections: dict[Key, Selection] = {}
    for block in blocks:
        for protocol in dict.fromkeys(block.labels["protocol"].tolist()):
            protocol_rank.setdefault(protocol, len(protocol_rank))
        for key in _keys(block):
            selections.setdefault(key, []).append((block, _mask(block, key)))

    def rank(key: Key) -> tuple[Any, ...]:
        protocol, metric, kind, skill, split = key
        return protocol_rank[protocol], metric, kind, skill, split_rank(split)

    questions = []
    for key in sorted(selections, key=rank):
        labels = {name: label or None for name, label in zip(_QUESTION, key, strict=True)}
        questions.append((labels, selections[key]))
    return questions


def _keys(block: Matched) -> set[Key]:
    """The questions of a block; a question with the skill "" covers all skills."""
    columns = [block.labels[name].tolist() for name in _QUESTION]
    of_items = set(zip(*columns, strict=True))
    skills_of_kind: dict[Key, set[str]] = {}
    for *kind, skill, _ in of_items:
        skills_of_kind.setdefault(tuple(kind), set()).add(skill)

    keys: set[Key] = set()
    for *kind, skill, split in of_items:
        keys.add((*kind, "", split))
        # A kind of one skill would have two equal questions.
        if len(skills_of_kind[tuple(kind)]) > 1:
            keys.add((*kind, skill, split))
    if block.partitioned:
        keys |= {(*labels, FULL) for *labels, split in keys if split != UNPARSED}
    return keys


def _mask(block: Matched, key: Key) -> np.ndarray:
    """Mask (n,) of the items of a question."""
    *labels, split = key
    of_split = block.labels["split"]
    is_whole = block.partitioned and split == FULL
    mask = of_split != UNPARSED if is_whole else of_split == split
    for name, label in zip(_QUESTION, labels, strict=False):
        if label or name != "skill":
            mask = mask & (block.labels[name] == label)
    return np.asarray(mask)


def _sides(selection: Selection, first: str, second: str) -> list[Sides]:
    """The outcomes of two models in each block."""
    sides = []
    for block, selected in selection:
        of_first = _outcomes(block, selected, first)
        of_second = _outcomes(block, selected, second)
        sides.append((of_first, of_second))
    return sides


def _outcomes(block: Matched, selected: np.ndarray, model: str) -> np.ndarray:
    """The outcomes (runs, items) of a model on selected items of a block."""
    return block.correct[block.models[model]][:, selected]


def _rows(
    labels: Row,
    selection: Selection,
    *,
    clusters: Clusters,
    differences: Differences,
    detect: float | None,
) -> list[Row]:
    """The row of each pair of models on one question."""
    rows = []
    for (first, second), difference in differences.items():
        sides = _sides(selection, first, second)
        numbers = _numbers(sides, clusters, difference=difference, detect=detect)
        rows.append({**labels, "first": first, "second": second, **numbers})
    q_values = benjamini_hochberg([row["p"] for row in rows])
    for row, q in zip(rows, q_values, strict=True):
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


def _numbers(
    sides: Sequence[Sides], clusters: Clusters, *, difference: Difference, detect: float | None
) -> Row:
    """The numbers of a row: two models on one question."""
    trainings = THESE_TRAININGS if difference.of_trainings is None else NEW_TRAININGS
    # Blocks count equally, whatever their numbers of runs and items.
    first_means = [first.mean() for first, _ in sides]
    second_means = [second.mean() for _, second in sides]
    row: Row = {
        "blocks": difference.blocks,
        "items": len(clusters),
        "clusters": len(np.unique(clusters.codes)),
        "bindings": clusters.weights.shape[1],
        **clusters.levels(),
        "first_runs": sum(len(first) for first, _ in sides),
        "second_runs": sum(len(second) for _, second in sides),
        "first_mean": rounded(np.mean(first_means)),
        "second_mean": rounded(np.mean(second_means)),
        "difference": rounded(difference.value),
        "low": rounded(difference.low),
        "high": rounded(difference.high),
        "low_wider": rounded(difference.low_wider),
        "high_wider": rounded(difference.high_wider),
        # Where no p can be computed, no difference is significant.
        "p": 1.0 if np.isnan(difference.p) else difference.p,
        "population": describe_population(clusters, models=trainings),
        **_mcnemar(sides),
        "detectable": rounded(detectable(difference)),
    }
    if detect is not None:
        row["block_seeds_needed"] = block_seeds_needed(difference, detect)
        row["items_needed"] = items_needed(difference, detect, items=len(clusters))
    return row


def _mcnemar(sides: Sequence[Sides]) -> Row:
    """McNemar's test over the items of all blocks, with the items that only one model has right.

    Several trainings of a model are tested one by one, the i-th of one model against the i-th of
    the other. They count together only where all have the same lead (Peng et al. 2026, section
    5.3: "three-seed agreement"): p is then their largest, else 1. All values are None if a model
    has more trainings than the other.
    """
    unknown: Row = {"only_first": None, "only_second": None, "p_mcnemar": None}
    numbers_of_runs = {len(of_model) for side in sides for of_model in side}
    if len(numbers_of_runs) > 1:
        return unknown
    (trainings,) = numbers_of_runs
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
    labels: Row, models: Sequence[str], *, selection: Selection, differences: Differences
) -> list[Row]:
    """The models by rank on one question."""
    means = []
    for name in models:
        of_blocks = [_outcomes(*block, name).mean() for block in selection]
        means.append(float(np.mean(of_blocks)))
    by_number = {}
    for (first, second), difference in differences.items():
        pair = models.index(first), models.index(second)
        by_number[pair] = replace(difference, value=_better(labels, difference.value))
    placings = ranks([_better(labels, mean) for mean in means], by_number)
    rows = []
    for name, mean, placing in zip(models, means, placings, strict=True):
        interval = {"low": placing.low, "high": placing.high}
        rows.append({"model": name, "mean": rounded(mean), "rank": placing.rank, **interval})
    return sorted(rows, key=lambda row: row["rank"])


def _flips(rows: Sequence[Row]) -> list[Row]:
    """Pairs of splits, except val, of one protocol, metric, kind and skill between which the lead
    of one model over another changes sides."""
    names = (*_QUESTION[:-1], "first", "second")
    labelled = []
    for row in rows:
        if row["split"] != "val":
            labelled.append((tuple(row[name] for name in names), row))
    rows_of_labels = by_key(labelled)
    flips = []
    for labels, of_splits in rows_of_labels.items():
        for one, other in combinations(of_splits, 2):
            if one["difference"] * other["difference"] >= 0:
                continue
            flips.append(
                {
                    **dict(zip(names, labels, strict=True)),
                    "splits": [one["split"], other["split"]],
                    "differences": [one["difference"], other["difference"]],
                    "leaders": [one["leader"], other["leader"]],
                    "ahead": [_ahead(one), _ahead(other)],
                    "p_flip": max(one["p"], other["p"]),
                    "significant": one["leader"] is not None and other["leader"] is not None,
                    **_flip_as_published(one, other),
                }
            )
    return flips


def _flip_as_published(one: Row, other: Row) -> Row:
    """The flip between two splits by McNemar's test (Peng et al. 2026, section 5.3); None where a
    split has no such test."""
    if one["p_mcnemar"] is None or other["p_mcnemar"] is None:
        return {"p_flip_mcnemar": None, "significant_mcnemar": None}
    return {
        "p_flip_mcnemar": max(one["p_mcnemar"], other["p_mcnemar"]),
        "significant_mcnemar": max(one["q_mcnemar"], other["q_mcnemar"]) <= Q,
    }
