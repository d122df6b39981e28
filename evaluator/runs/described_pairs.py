"""Compares models on the images that all of them described (docs/descriptions.md, "Two models")."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from evaluator.descriptions.aggregation import shares_of
from evaluator.descriptions.measures import GAPS, RELATION_MEASURES, SHARES, ImageMeasures
from evaluator.protocols.items import split_rank
from evaluator.protocols.records import rounded
from evaluator.runs.described import DescribedRun, clusters_of_lines, measures_of
from evaluator.statistics.difference import benjamini_hochberg, model_difference
from evaluator.statistics.intervals import describe_population
from generator.base.errors import UserError, did_you_mean

SIGNIFICANT = 0.05
"""A difference is significant if its q is at most this."""
Line = Mapping[str, Any]
"""A line of descriptions.jsonl (evaluator.runs.described.ImageLine)."""


def compare_described(
    runs: Sequence[DescribedRun], measure: str | None = None
) -> list[dict[str, Any]]:
    """Compare every two models, measure by measure, on the images in which it is defined for both.

    Args:
        runs: At least two runs over one world and benchmark; their names differ.
        measure: A name of `measures.SHARES` or of GAPS; None for all.

    Returns:
        Rows as JSON data: `split`, `measure`, `first`, `second`, their means, `difference` (first −
        second), `low`, `high` and `p` of evaluator.statistics.difference, `q` (p after Benjamini
        and Hochberg over the pairs of models), `images`, and `population`.

    Raises:
        UserError: The runs are of different worlds, have no image in common, or there is no such
            measure.
    """
    _check_runs(runs)
    measures = [name for name in (*SHARES, *GAPS) if measure in (None, name)]
    if not measures:
        names = [*SHARES, *GAPS]
        raise UserError(f"There is no measure '{measure}'; {did_you_mean(str(measure), names)}")
    line_of = [{line["scene_id"]: line for line in run.judged_lines} for run in runs]
    scenes = [scene for scene in line_of[0] if all(scene in lines for lines in line_of)]
    if not scenes:
        raise UserError(
            f"{runs[0].folder} and {runs[1].folder} describe no image in common; ask both models "
            f"about the same images."
        )
    scenes_of_split: dict[str, list[str]] = {}
    for scene in scenes:
        split = str(line_of[0][scene]["split"])
        scenes_of_split.setdefault(split, []).append(scene)
    rows = []
    for split in sorted(scenes_of_split, key=split_rank):
        lines = [[of_run[scene] for scene in scenes_of_split[split]] for of_run in line_of]
        for name in measures:
            rows += _rows_of_measure(name, split, runs=runs, lines=lines)
    return rows


def _check_runs(runs: Sequence[DescribedRun]) -> None:
    """Raise UserError unless the runs are of different models on one benchmark."""
    if len(runs) < 2:
        raise UserError(
            f"Expected at least two runs of descriptions, got {runs[0].folder} alone; name another."
        )
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        raise UserError(
            f"Expected a name for each model, got {', '.join(names)}; name them NAME=RUN."
        )
    for run in runs[1:]:
        for name in ("world", "benchmark"):
            if run.record[name] != runs[0].record[name]:
                raise UserError(
                    f"{runs[0].folder} and {run.folder} describe images of another {name}; compare "
                    f"runs over one dataset."
                )


def _rows_of_measure(
    measure: str, split: str, *, runs: Sequence[DescribedRun], lines: Sequence[Sequence[Line]]
) -> list[dict[str, Any]]:
    """The row of each pair of models; none where no image defines the measure for both."""
    shares = []
    for of_run in lines:
        images = [measures_of(line) for line in of_run]
        shares.append(image_shares(measure, images))
    rows = []
    for first, second in combinations(range(len(runs)), 2):
        if measure in RELATION_MEASURES and not (runs[first].relations and runs[second].relations):
            continue
        defined = np.isfinite(shares[first]) & np.isfinite(shares[second])
        if not defined.any():
            continue
        own_lines = [lines[0][i] for i in np.flatnonzero(defined)]
        numbers = _paired_numbers(
            shares[first][defined], shares[second][defined], own_lines, measure=measure
        )
        names = {"first": runs[first].name, "second": runs[second].name}
        rows.append({"split": split, "measure": measure, **names, **numbers})
    q_values = benjamini_hochberg([row["p"] for row in rows])
    for row, q in zip(rows, q_values, strict=True):
        row["q"] = q
    return rows


def image_shares(measure: str, images: Sequence[ImageMeasures]) -> np.ndarray:
    """Return the share of a measure in each image.

    Args:
        measure: A name of SHARES or of GAPS.
        images: The counts of n images.

    Returns:
        float64 (n,), 0..1, of GAPS -1..1; nan where it is not defined.
    """
    if measure in GAPS:
        held_out, seen = GAPS[measure]
        return image_shares(held_out, images) - image_shares(seen, images)
    counts, counts_of = shares_of(measure, images)
    shares = np.full(len(counts), np.nan)
    np.divide(counts, counts_of, out=shares, where=counts_of > 0)
    return shares


def _paired_numbers(
    first: np.ndarray, second: np.ndarray, lines: Sequence[Line], *, measure: str
) -> dict[str, Any]:
    """The numbers of a row, from the shares (n,) of two models in the same images."""
    clusters = clusters_of_lines(lines)
    scale = 1.0
    outcomes = (first, second)
    if measure in GAPS:
        # The model of differences takes outcomes in 0..1; a difference of recalls is in -1..1.
        scale = 2.0
        outcomes = ((first + 1) / 2, (second + 1) / 2)
    # One block, in which each model has one run.
    first_runs, second_runs = outcomes[0][None], outcomes[1][None]
    sides = (first_runs, second_runs)
    difference = model_difference([sides], clusters)
    return {
        "first_mean": rounded(float(first.mean())),
        "second_mean": rounded(float(second.mean())),
        "difference": rounded(scale * difference.value),
        "low": rounded(scale * difference.low),
        "high": rounded(scale * difference.high),
        "p": 1.0 if np.isnan(difference.p) else difference.p,
        "images": len(lines),
        "clusters": len(np.unique(clusters.codes)),
        "population": describe_population(clusters),
    }
