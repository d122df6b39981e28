"""Analyses the embeddings of one tower: linear probes of factors, how linear and orthogonal the
factors are, and how far a change of one factor moves an embedding."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evaluator.audits.probe.pairs import (
    ATTRIBUTE,
    BINDING,
    FACTORS,
    OBJECT,
    SAME,
    Pair,
    exchanged,
    names_of,
)
from evaluator.protocols.items import split_rank

_ALPHAS = np.logspace(-2, 4, 13)
FOLDS = 5
_VARIANCE = 0.95
_DRAWS = 1000


def across(
    model: Any, x: np.ndarray, y: np.ndarray, groups: np.ndarray, fit: np.ndarray
) -> np.ndarray:
    """Predictions of a model for rows x (n, d), float (n, k). Rows outside `fit`, bool (n,), are
    predicted from all rows in `fit`; rows in `fit` by cross-validation over groups in FOLDS
    folds."""
    found = np.empty(y.shape)
    inside = np.flatnonzero(fit)
    for learnt, asked in GroupKFold(FOLDS).split(inside, groups=groups[inside]):
        found[inside[asked]] = (
            model.fit(x[inside[learnt]], y[inside[learnt]])
            .predict(x[inside[asked]])
            .reshape(-1, y.shape[1])
        )
    if not fit.all():
        found[~fit] = model.fit(x[fit], y[fit]).predict(x[~fit]).reshape(-1, y.shape[1])
    return found


def presence(pairs: Sequence[Pair], names: Sequence[str], part: int) -> np.ndarray:
    """1 if a pair has the value (part 0) or category (part 1), else −1; float (n, names)."""
    return np.array(
        [[1.0 if name in (a[part], b[part]) else -1.0 for name in names] for a, b in pairs]
    )


Names = tuple[Sequence[str], Sequence[str]]
"""The values and the categories of all pairs."""


def coordinates(
    embeddings: np.ndarray, pairs: Sequence[Pair], names: Names
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of values and of categories, float (names, r) each. Least squares fits embeddings
    as sums of a vector for each value and category; r principal directions hold 95% of the vectors'
    variance, each scaled to length 1."""
    designs = [(presence(pairs, names[part], part) + 1) / 2 for part in (0, 1)]
    vectors = LinearRegression().fit(np.hstack(designs), embeddings).coef_.T
    placed = []
    for each in np.split(vectors, [len(names[0])]):
        apart = each - each.mean(axis=0)
        left, _, _ = np.linalg.svd(apart, full_matrices=False)
        placed.append(left[:, : max(1, _rank(apart))])
    return placed[0], placed[1]


def bound(pairs: Sequence[Pair], names: Names, placed: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Codes of the bindings of pairs: Σ over objects of value ⊗ category, in coordinates `placed`;
    float (n, r s). They do not depend on the order of mention. A sum over values and categories
    alone could not tell a pair from its exchange."""
    value, category = (
        np.array([[at[of.index(each[part])] for each in pair] for pair in pairs])
        for part, (of, at) in enumerate(zip(names, placed, strict=True))
    )
    return np.einsum("nkr,nks->nrs", value, category).reshape(len(pairs), -1)


def probe(
    embeddings: np.ndarray,
    pairs: Sequence[Pair],
    asked: Mapping[str, Sequence[tuple[str, str]]],
    groups: np.ndarray,
    fit: np.ndarray,
) -> dict[str, np.ndarray]:
    """Whether linear probes (ridge regression on standardised embeddings) prefer the truth: 1, 0,
    or nan if nothing is asked; float (n,) by factor.

    asked: for ATTRIBUTE and OBJECT, the true and the false name of each row. For BINDING, the
        alternative is the
    exchanged pair; the probe predicts a code (`bound`) and prefers the pair with the nearer code.
    """
    model = make_pipeline(StandardScaler(), RidgeCV(_ALPHAS))
    found = {}
    for part, factor in enumerate((ATTRIBUTE, OBJECT)):
        names = names_of(pairs, part)
        scores = across(model, embeddings, presence(pairs, names, part), groups, fit)
        told = [
            (row[names.index(true)] > row[names.index(false)]) * 1.0 if false in names else np.nan
            for row, (true, false) in zip(scores, asked[factor], strict=True)
        ]
        found[factor] = np.array(told)
    known = names_of(pairs, 0), names_of(pairs, 1)
    placed = coordinates(
        embeddings[fit], [pair for pair, inside in zip(pairs, fit, strict=True) if inside], known
    )
    true, false = (
        bound(each, known, placed) for each in (pairs, [exchanged(pair) for pair in pairs])
    )
    said = across(model, embeddings, true, groups, fit)
    found[BINDING] = 1.0 * (
        np.square(said - true).sum(axis=1) < np.square(said - false).sum(axis=1)
    )
    return found


def geometry(
    embeddings: np.ndarray,
    pairs: Sequence[Pair],
    splits: np.ndarray,
    groups: np.ndarray,
    fit: np.ndarray,
) -> dict[str, Any]:
    """How well sums of a vector for each value and each category explain embeddings (Uselis et al.
    2026, arXiv 2602.24264).

    Computed on the means of rows with the same split and content, whitened by the means of `fit`.
    r2: by split, the share of variance around the mean of `fit` that the sums explain; for `fit`,
    cross-validated over groups. angle: degrees between vectors of values and vectors of categories,
    from the mean absolute cosine; 90 is orthogonal. ranks: number of directions that hold 95% of
    the variance of the vectors of values, and of categories.
    """
    contents = [f"{split} {sorted(pair)}" for split, pair in zip(splits, pairs, strict=True)]
    _, first, of, size = np.unique(
        contents, return_index=True, return_inverse=True, return_counts=True
    )
    means = (
        np.stack([np.bincount(of, column) for column in embeddings.T.astype(float)], axis=1)
        / size[:, None]
    )
    inside = fit[first]
    white = (
        PCA(n_components=0.99, svd_solver="full", whiten=True).fit(means[inside]).transform(means)
    )
    own = [pairs[row] for row in first]
    designs = [(presence(own, names_of(pairs, part), part) + 1) / 2 for part in (0, 1)]
    design = np.hstack(designs)
    predicted = across(LinearRegression(), design, white, groups[first], inside)
    centre = white[inside].mean(axis=0)
    r2 = {}
    for split in sorted(set(splits.tolist()), key=split_rank):
        rows = splits[first] == split
        left, whole = (np.square(white[rows] - other).sum() for other in (predicted[rows], centre))
        r2[split] = float(1 - left / whole) if whole > 0 else float("nan")
    vectors = LinearRegression().fit(design[inside], white[inside]).coef_.T
    values, categories = (
        each - each.mean(axis=0) for each in np.split(vectors, [designs[0].shape[1]])
    )
    cosines = cosine_similarity(values, categories)
    return {
        "r2": r2,
        "angle": float(np.degrees(np.arccos(np.abs(cosines).mean()))),
        "ranks": {ATTRIBUTE: _rank(values), OBJECT: _rank(categories)},
    }


def _rank(vectors: np.ndarray) -> int:
    """How many directions hold 95% of the variance."""
    power = np.square(np.linalg.svd(vectors, compute_uv=False))
    return (
        int(np.searchsorted(np.cumsum(power), _VARIANCE * power.sum()) + 1)
        if power.sum() > 0
        else 0
    )


def moves(
    distances: dict[str, np.ndarray], groups: np.ndarray, seed: int
) -> dict[str, tuple[float, float, float]]:
    """How far a change of each factor moves an embedding, as a multiple of ATTRIBUTE's: mean
    squared distance minus the mean of SAME. With the 95% interval of a bootstrap over groups; nan
    if nothing was compared.

    distances: squared, (n,) by factor and SAME; nan if a row has no neighbour.
    """
    _, group = np.unique(groups, return_inverse=True)
    n = group.max() + 1
    drawn_groups = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=_DRAWS)
    weights = np.vstack([np.ones(n), drawn_groups])[:, group]
    mean = {}
    for name, each in distances.items():
        there = np.isfinite(each)
        total = weights[:, there].sum(axis=1)
        mean[name] = np.divide(
            weights[:, there] @ each[there], total, out=np.full(len(total), np.nan), where=total > 0
        )
    base = mean[ATTRIBUTE] - mean[SAME]
    found = {}
    for factor in FACTORS:
        ratio = np.divide(
            mean[factor] - mean[SAME], base, out=np.full(len(base), np.nan), where=base > 0
        )
        drawn = ratio[1:][np.isfinite(ratio[1:])]
        low, high = np.percentile(drawn, [2.5, 97.5]) if len(drawn) else (np.nan, np.nan)
        found[factor] = (float(ratio[0]), float(low), float(high))
    return found
