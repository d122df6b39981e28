"""Analyses the embeddings of one tower: linear probes of factors, how linear and orthogonal the
factors are, and how far a change of one factor moves an embedding."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    exchange_values,
    names_of,
)
from evaluator.protocols.items import split_rank

_ALPHAS = np.logspace(-2, 4, 13)
"""Penalties of the ridge regression, from which cross-validation within the training rows
chooses."""
FOLDS = 5
"""Folds of the cross-validation over groups."""
_VARIANCE = 0.95
"""The share of the variance that the directions counted by `_rank` hold."""
_WHITENED_VARIANCE = 0.99
"""The share of the variance of embeddings that is whitened: the rest is noise, which whitening
would blow up."""
_DRAWS = 1000
"""Draws of the bootstrap."""
Names = tuple[Sequence[str], Sequence[str]]
"""The values and the categories of all pairs."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What the rows of a matrix of embeddings are of."""

    pairs: Sequence[Pair]
    """The values and categories of the two objects of each row."""
    groups: np.ndarray
    """(n,): the cluster of each row. Rows of one cluster are not independent."""
    fit: np.ndarray
    """Bool (n,): the rows that probes learn from."""


def predict_across(
    model: Any, x: np.ndarray, y: np.ndarray, *, groups: np.ndarray, fit: np.ndarray
) -> np.ndarray:
    """Predict each row by a model that has not learnt from its group.

    Args:
        model: A regression of scikit-learn.
        x: Inputs (n, d).
        y: Targets, float (n, k).
        groups: (n,) the group of each row.
        fit: Bool (n,), the rows to learn from; at least FOLDS groups.

    Returns:
        Predictions, float (n, k). Rows outside `fit` are predicted from all rows in `fit`; rows in
        `fit` by cross-validation over groups in FOLDS folds.
    """
    predictions = np.empty(y.shape)
    inside = np.flatnonzero(fit)
    for train, test in GroupKFold(FOLDS).split(inside, groups=groups[inside]):
        train_rows, test_rows = inside[train], inside[test]
        model.fit(x[train_rows], y[train_rows])
        # Regressions of a single target drop its dimension.
        predictions[test_rows] = model.predict(x[test_rows]).reshape(-1, y.shape[1])
    if not fit.all():
        model.fit(x[fit], y[fit])
        predictions[~fit] = model.predict(x[~fit]).reshape(-1, y.shape[1])
    return predictions


def presence(pairs: Sequence[Pair], names: Sequence[str], part: int) -> np.ndarray:
    """Code which names the objects of pairs have.

    Args:
        pairs: n pairs.
        names: The values or categories.
        part: 0 for values, 1 for categories.

    Returns:
        1 if a pair has the name, else −1; float (n, names).

    Example:
        >>> presence([(("red", "cube"), ("blue", "ball"))], ["red", "green"], 0)
        array([[ 1., -1.]])
    """
    rows = []
    for first, second in pairs:
        present = (first[part], second[part])
        rows.append([1.0 if name in present else -1.0 for name in names])
    return np.array(rows)


def _indicators(pairs: Sequence[Pair], names: Sequence[str], part: int) -> np.ndarray:
    """1 if a pair has the name, else 0; float (n, names)."""
    return (presence(pairs, names, part) + 1) / 2


def coordinates(
    embeddings: np.ndarray, pairs: Sequence[Pair], names: Names
) -> tuple[np.ndarray, np.ndarray]:
    """Place values and categories by the embeddings of pairs.

    Least squares fits embeddings as sums of a vector for each value and category; r principal
    directions hold 95% of the vectors' variance, each scaled to length 1.

    Args:
        embeddings: (n, d) of the pairs.
        pairs: n pairs.
        names: The values and the categories.

    Returns:
        The coordinates of values and of categories, float (names, r) each.
    """
    designs = [_indicators(pairs, names[part], part) for part in (0, 1)]
    vectors = LinearRegression().fit(np.hstack(designs), embeddings).coef_.T
    values, categories = np.split(vectors, [len(names[0])])
    return _principal_coordinates(values), _principal_coordinates(categories)


def _principal_coordinates(vectors: np.ndarray) -> np.ndarray:
    centred = vectors - vectors.mean(axis=0)
    left, _, _ = np.linalg.svd(centred, full_matrices=False)
    return left[:, : max(1, _rank(centred))]


def bind(pairs: Sequence[Pair], names: Names, placed: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Code the bindings of pairs: Σ over objects of value ⊗ category.

    The codes do not depend on the order of mention. A sum over values and categories alone could
    not tell a pair from its exchange.

    Args:
        pairs: n pairs.
        names: The values and the categories.
        placed: Their coordinates (`coordinates`), with r and s directions.

    Returns:
        The codes, float (n, r s).
    """
    factors = []
    for part in (0, 1):
        place_of_name = dict(zip(names[part], placed[part], strict=True))
        rows = []
        for pair in pairs:
            rows.append([place_of_name[object_[part]] for object_ in pair])
        factors.append(np.array(rows))
    values, categories = factors
    # n: pairs, k: their two objects, r and s: directions.
    return np.einsum("nkr,nks->nrs", values, categories).reshape(len(pairs), -1)


def probe(
    embeddings: np.ndarray, rows: Rows, differing_names: Mapping[str, Sequence[tuple[str, str]]]
) -> dict[str, np.ndarray]:
    """Ask linear probes (ridge regression on standardised embeddings) what embeddings tell.

    Args:
        embeddings: (n, d) of one tower.
        rows: What they are of.
        differing_names: For ATTRIBUTE and OBJECT, the true and the false name of each row; the
            false one is "" if nothing is asked. For BINDING, the alternative is the exchanged pair;
            the probe predicts a code (`bind`) and prefers the pair with the nearer code.

    Returns:
        {factor: whether the probe prefers the truth}: 1, 0, or nan if nothing is asked; float (n,).
    """
    # Standardised, because one penalty holds for all dimensions.
    model = make_pipeline(StandardScaler(), RidgeCV(_ALPHAS))
    pairs = rows.pairs
    outcomes = {}

    # Values and categories: the name with the larger score.
    for part, factor in enumerate((ATTRIBUTE, OBJECT)):
        names = names_of(pairs, part)
        targets = presence(pairs, names, part)
        scores = predict_across(model, embeddings, targets, groups=rows.groups, fit=rows.fit)
        outcomes[factor] = _prefers_true_name(scores, names, differing_names[factor])

    # Bindings: the pair whose code is nearer to the predicted one.
    all_names = names_of(pairs, 0), names_of(pairs, 1)
    fit_pairs = [pair for pair, inside in zip(pairs, rows.fit, strict=True) if inside]
    # From the fitted rows alone: coordinates of tested rows would carry their answers into the
    # codes.
    placed = coordinates(embeddings[rows.fit], fit_pairs, all_names)
    true_codes = bind(pairs, all_names, placed)
    false_codes = bind([exchange_values(pair) for pair in pairs], all_names, placed)
    predicted = predict_across(model, embeddings, true_codes, groups=rows.groups, fit=rows.fit)
    true_distances = np.square(predicted - true_codes).sum(axis=1)
    false_distances = np.square(predicted - false_codes).sum(axis=1)
    outcomes[BINDING] = 1.0 * (true_distances < false_distances)
    return outcomes


def _prefers_true_name(
    scores: np.ndarray, names: Sequence[str], differing_names: Sequence[tuple[str, str]]
) -> np.ndarray:
    """Whether the true name of each row has a higher score than the false one: 1, 0, or nan if
    nothing is asked. The columns of the scores are the `names`."""
    column_of_name = {name: column for column, name in enumerate(names)}
    preferences = []
    for row, (true, false) in zip(scores, differing_names, strict=True):
        # A name without a column is of no pair here, or "", where nothing is asked.
        if false not in column_of_name:
            preferences.append(np.nan)
            continue
        prefers_truth = row[column_of_name[true]] > row[column_of_name[false]]
        preferences.append(float(prefers_truth))
    return np.array(preferences)


def geometry(embeddings: np.ndarray, rows: Rows, splits: np.ndarray) -> dict[str, Any]:
    """Measure how well sums of a vector for each value and each category explain embeddings (Uselis
    et al. 2026, arXiv 2602.24264).

    Method: average the rows of the same split and content; whiten the means by those of `fit`; fit
    a vector for each value and category by least squares; compare sums of vectors with the means.

    Args:
        embeddings: (n, d) of one tower.
        rows: What they are of.
        splits: (n,) the split of each row.

    Returns:
        `r2`: by split, the share of variance around the mean of `fit` that the sums explain; for
        `fit`, cross-validated over groups. `angle`: degrees between vectors of values and vectors
        of categories, from the mean absolute cosine; 90 is orthogonal. `ranks`: number of
        directions that hold 95% of the variance of the vectors of values, and of categories.
    """
    means, first = _means_of_contents(embeddings, rows.pairs, splits)

    # Whitening, so that a few directions of large variance do not decide alone.
    fit = rows.fit[first]
    whitening = PCA(n_components=_WHITENED_VARIANCE, svd_solver="full", whiten=True)
    white = whitening.fit(means[fit]).transform(means)

    # Predictions by sums of vectors, and what they explain.
    pairs = [rows.pairs[row] for row in first]
    designs = [_indicators(pairs, names_of(pairs, part), part) for part in (0, 1)]
    design = np.hstack(designs)
    predicted = predict_across(
        LinearRegression(), design, white, groups=rows.groups[first], fit=fit
    )
    centre = white[fit].mean(axis=0)
    r2 = {}
    for split in sorted(set(splits.tolist()), key=split_rank):
        in_split = splits[first] == split
        residual = np.square(white[in_split] - predicted[in_split]).sum()
        total = np.square(white[in_split] - centre).sum()
        r2[split] = float(1 - residual / total) if total > 0 else float("nan")

    # The vectors themselves.
    vectors = LinearRegression().fit(design[fit], white[fit]).coef_.T
    values, categories = np.split(vectors, [designs[0].shape[1]])
    # Least squares fixes the vectors of a factor only up to a constant, which the other factor
    # takes up.
    values = values - values.mean(axis=0)
    categories = categories - categories.mean(axis=0)
    cosine = np.abs(cosine_similarity(values, categories)).mean()
    return {
        "r2": r2,
        "angle": float(np.degrees(np.arccos(cosine))),
        "ranks": {ATTRIBUTE: _rank(values), OBJECT: _rank(categories)},
    }


def _means_of_contents(
    embeddings: np.ndarray, pairs: Sequence[Pair], splits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the rows of each split and content, and the first of these rows."""
    contents = []
    for split, pair in zip(splits, pairs, strict=True):
        contents.append(f"{split} {sorted(pair)}")
    _, first, content_of, sizes = np.unique(
        contents, return_index=True, return_inverse=True, return_counts=True
    )
    sums_of_dimension = []
    for dimension in embeddings.T.astype(float):
        sums_of_dimension.append(np.bincount(content_of, dimension))
    sums = np.stack(sums_of_dimension, axis=1)
    return sums / sizes[:, None], first


def _rank(vectors: np.ndarray) -> int:
    """How many directions hold 95% of the variance."""
    # The squared singular values are the variances along the directions, largest first.
    power = np.square(np.linalg.svd(vectors, compute_uv=False))
    total = power.sum()
    # `not >` is also true of nan.
    if not total > 0:
        return 0
    return int(np.searchsorted(np.cumsum(power), _VARIANCE * total) + 1)


def moves(
    distances: Mapping[str, np.ndarray], groups: np.ndarray, seed: int
) -> dict[str, tuple[float, float, float]]:
    """Measure how far a change of each factor moves an embedding, as a multiple of ATTRIBUTE's.

    A move is the mean squared distance minus the mean of SAME, which is what other images of the
    same content differ by.

    Args:
        distances: {factor or SAME: squared distances (n,)}; nan if a row has no neighbour.
        groups: (n,) the group of each row.
        seed: The seed of the bootstrap.

    Returns:
        {factor: (move, low, high)} with the 95% interval of a bootstrap over groups; nan if nothing
        was compared.
    """
    # The first row of weights is the data itself; each other row is a draw of groups.
    _, group = np.unique(groups, return_inverse=True)
    count = group.max() + 1
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(count, np.full(count, 1 / count), size=_DRAWS)
    weights = np.vstack([np.ones(count), draws])[:, group]
    mean = {}
    for name, values in distances.items():
        is_known = np.isfinite(values)
        weights_of_known = weights[:, is_known]
        weighted_sum = weights_of_known @ values[is_known]
        mean[name] = _divide(weighted_sum, weights_of_known.sum(axis=1))
    base = mean[ATTRIBUTE] - mean[SAME]
    estimates = {}
    for factor in FACTORS:
        ratios = _divide(mean[factor] - mean[SAME], base)
        of_data, of_draws = ratios[0], ratios[1:]
        # A draw may lack the groups that a mean needs; it tells nothing of the ratio.
        known_draws = of_draws[np.isfinite(of_draws)]
        low, high = np.nan, np.nan
        if len(known_draws):
            low, high = np.percentile(known_draws, [2.5, 97.5])
        estimates[factor] = (float(of_data), float(low), float(high))
    return estimates


def _divide(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient; nan where the denominator is not above 0."""
    unknown = np.full(len(denominator), np.nan)
    return np.divide(numerator, denominator, out=unknown, where=denominator > 0)
