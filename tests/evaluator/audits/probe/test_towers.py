"""Probes, geometry and moves recover what embeddings were built to hold."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

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
from evaluator.audits.probe.towers import Rows, bind, coordinates, geometry, moves, probe

VALUES = ["blue", "gray", "green", "pink", "red", "teal"]
OBJECTS = ["ball", "cone", "cube", "disc", "ring", "star"]
HELD_OUT = {(value, name) for value in VALUES[:3] for name in OBJECTS[:3]}
EVERY = [
    ((a, one), (b, two))
    for a, b in combinations(VALUES, 2)
    for one, two in permutations(OBJECTS, 2)
]
SPLITS = {0: "seen", 1: "partial", 2: "unseen"}


def _split(pair: Pair) -> str:
    return SPLITS[sum(binding in HELD_OUT for binding in pair)]


def _features(kind: str) -> dict[tuple[str, str], np.ndarray]:
    """A vector of each binding. `bag`: a value's and an object's. `tensor`: also their product.
    `conjunctive`: also one of its own. Binding makes half of the length."""
    rng = np.random.default_rng(3)
    value, name = ({key: rng.normal(size=4) for key in names} for names in (VALUES, OBJECTS))
    plain = rng.normal(size=(8, 64)) / 8
    outer, own = rng.normal(size=(16, 64)) / 4, rng.normal(size=(len(VALUES) * len(OBJECTS), 64))
    embeddings = {}
    for row, (v, o) in enumerate(product(VALUES, OBJECTS)):
        embeddings[v, o] = np.concatenate([value[v], name[o]]) @ plain
        if kind == "tensor":
            embeddings[v, o] = embeddings[v, o] + np.outer(value[v], name[o]).ravel() @ outer / 4
        if kind == "conjunctive":
            embeddings[v, o] = embeddings[v, o] + own[row] / 4
    return embeddings


def _embedded(kind: str, pairs: list[Pair], noise: float = 0.02) -> np.ndarray:
    features, rng = _features(kind), np.random.default_rng(5)
    sums = np.stack([features[a] + features[b] for a, b in pairs])
    return sums + rng.normal(scale=noise, size=sums.shape)


def _probed(kind: str) -> dict[tuple[str, str], float]:
    pairs = EVERY * 3
    split = np.array([_split(pair) for pair in pairs])
    groups = np.array(
        ["+".join(sorted({name for binding in pair for name in binding})) for pair in pairs]
    )
    rng = np.random.default_rng(0)
    differing_names = {
        factor: [
            (a[part], str(rng.choice([name for name in names if name not in (a[part], b[part])])))
            for a, b in pairs
        ]
        for part, (factor, names) in enumerate(((ATTRIBUTE, VALUES), (OBJECT, OBJECTS)))
    }
    rows = Rows(pairs=pairs, groups=groups, fit=split == "seen")
    outcomes = probe(_embedded(kind, pairs), rows, differing_names)
    return {
        (factor, name): outcomes[factor][split == name].mean()
        for factor in FACTORS
        for name in SPLITS.values()
    }


def test_bindings_are_decoded_in_new_and_in_learnt_combinations() -> None:
    """A bag of words binds nothing, a product of value and object all, a vector of each binding
    those of training."""
    bag, tensor, conjunctive = map(_probed, ("bag", "tensor", "conjunctive"))
    for split in SPLITS.values():
        assert min(bag[ATTRIBUTE, split], bag[OBJECT, split]) > 0.9
        assert bag[BINDING, split] == pytest.approx(0.5, abs=0.15)
        assert tensor[BINDING, split] > 0.95
    assert conjunctive[BINDING, "seen"] > 0.9
    assert conjunctive[BINDING, "unseen"] == pytest.approx(0.5, abs=0.15)


def test_decoding_depends_on_the_binding_and_not_on_the_order_of_mention() -> None:
    names = names_of(EVERY, 0), names_of(EVERY, 1)
    placed = coordinates(_embedded("bag", EVERY), EVERY, names)
    codes = bind(EVERY, names, placed)
    assert np.allclose(bind([pair[::-1] for pair in EVERY], names, placed), codes)
    other = bind([exchange_values(pair) for pair in EVERY], names, placed)
    assert np.linalg.norm(codes - other, axis=1).min() > 1e-3


def test_sums_are_linear_and_vectors_of_bindings_are_not() -> None:
    split = np.array([_split(pair) for pair in EVERY])
    groups = np.array([str(i) for i in range(len(EVERY))])
    rows = Rows(pairs=EVERY, groups=groups, fit=split == "seen")
    shapes = {
        kind: geometry(_embedded(kind, EVERY, 0.001), rows, split)
        for kind in ("bag", "conjunctive")
    }
    assert all(shapes["bag"]["r2"][name] > 0.95 for name in SPLITS.values())
    assert shapes["conjunctive"]["r2"]["unseen"] < 0.7
    assert set(shapes["bag"]["ranks"].values()) <= {3, 4}  # vectors of four numbers
    assert shapes["bag"]["angle"] > 60


def test_the_effect_of_an_exchange_is_in_units_of_a_changed_value() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 5)
    noise = rng.exponential(0.1, size=100)
    missing = np.where(np.arange(100) % 7 == 0, np.nan, 3 + noise)
    estimates = moves(
        {SAME: noise, ATTRIBUTE: 1 + noise, OBJECT: missing, BINDING: noise[::-1]}, groups, 0
    )
    assert estimates[ATTRIBUTE] == (1, 1, 1)
    assert estimates[OBJECT][0] == pytest.approx(3, abs=0.05)
    assert estimates[BINDING][1] < 0 < estimates[BINDING][2]
    nowhere = dict.fromkeys((SAME, *FACTORS), np.zeros(100))
    assert all(np.isnan(estimate).all() for estimate in moves(nowhere, groups, 0).values())
