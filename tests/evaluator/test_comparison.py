"""The tie rule, and the protocols on top of it, against the definition in plain Python."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaluator.protocols.binary import CHANCE, binary_outcomes
from evaluator.protocols.comparison import beats, tied
from evaluator.protocols.outcomes import Outcomes, summarise
from evaluator.protocols.retrieval import chance, retrieval_outcomes

ROWS = 100


def _tie(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-5 * max(1.0, abs(a), abs(b))


def _wins(a: float, b: float) -> bool:
    return a > b and not _tie(a, b)


def _planted(rng: np.random.Generator, base: np.ndarray) -> np.ndarray:
    """Numbers beside `base`: equal, just within the tolerance, just beyond it, or far, on either side."""
    steps = np.array([0, 0.5, 0.99, 1.01, 2, 1e4]) * 1e-5
    return base + rng.choice([-1, 1], base.shape) * rng.choice(steps, base.shape) * np.maximum(1, np.abs(base))


def _names(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    name = np.array([f"i{i}" for i in range(n)])
    return name, name, np.full(n, "seen"), name


@given(st.integers(0, 2**32 - 1), st.sampled_from([1.0, 100.0]), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=150, deadline=None)
def test_binary_follows_the_definition(seed: int, scale: float, kind: type[np.floating]) -> None:
    rng = np.random.default_rng(seed)
    true = rng.uniform(-scale, scale, ROWS)
    scores = np.stack([true, _planted(rng, true)], axis=1).astype(kind)
    texts = np.array([[f"c{i}", f"n{i}"] for i in range(ROWS)])
    got = binary_outcomes(*_names(ROWS), scores, texts, np.full(ROWS, ""))
    for i, (a, b) in enumerate(scores.astype(float).tolist()):
        # within a float32 rounding of the tolerance itself either answer is right
        if kind is np.float32 and abs(abs(a - b) / (1e-5 * max(1, abs(a), abs(b))) - 1) < 1e-6:
            continue
        assert got.tie[i] == _tie(a, b)
        assert got.correct[i] == _wins(a, b)
        assert not (got.tie[i] and got.correct[i])
    assert got.true.tolist() == scores[:, 0].tolist()
    assert got.false.tolist() == scores[:, 1].tolist()
    assert (got.true_text[7], got.false_text[7]) == ("c7", "n7")
    assert CHANCE == 0.5


@given(st.integers(0, 2**32 - 1), st.integers(2, 7), st.data())
@settings(max_examples=150, deadline=None)
def test_retrieval_follows_the_definition(seed: int, size: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    n_true = data.draw(st.integers(1, size - 1))
    truth = np.zeros((ROWS, size), dtype=bool)
    for row in truth:
        row[rng.choice(size, n_true, replace=False)] = True
    top = rng.uniform(-1, 1, ROWS)
    scores = np.where(
        rng.random(truth.shape) < 0.6, _planted(rng, np.repeat(top[:, None], size, 1)), top[:, None] - 0.5
    )
    texts = np.array([f"t{j}" for j in range(size)])
    got = retrieval_outcomes(*_names(ROWS), scores, truth, texts, np.full(ROWS, ""))
    for i in range(ROWS):
        best_true = max(s for s, t in zip(scores[i].tolist(), truth[i], strict=True) if t)
        best_false = max(s for s, t in zip(scores[i].tolist(), truth[i], strict=True) if not t)
        assert got.correct[i] == _wins(best_true, best_false)
        assert got.tie[i] == _tie(best_true, best_false)
        assert (got.true[i], got.false[i]) == (best_true, best_false)
        j, k = (int(name[1:]) for name in (got.true_text[i], got.false_text[i]))
        assert truth[i, j]
        assert scores[i, j] == best_true
        assert not truth[i, k]
        assert scores[i, k] == best_false
    assert chance(truth) == pytest.approx(n_true / size)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=5), st.floats(-1, 1))
def test_ties_among_true_texts_do_not_matter(others: list[float], top: float) -> None:
    false = [min(other, top - 1e-3) for other in others]
    scores = np.array([[top, top, *false]])
    truth = np.array([[True, True, *[False] * len(false)]])
    got = retrieval_outcomes(*_names(1), scores, truth, np.arange(scores.shape[1]).astype(str), np.array([""]))
    assert got.correct.tolist() == [True]
    assert got.tie.tolist() == [False]


_ANY = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(_ANY, _ANY)
@settings(max_examples=500)
@example(math.inf, math.inf)
@example(math.inf, -math.inf)
@example(math.nan, 0.0)
@example(0.0, math.nan)
@example(3.4e38, -3.4e38)
def test_any_two_numbers_never_both_win_and_nan_wins_nothing(a: float, b: float) -> None:
    with np.errstate(all="ignore"):
        forth, back, tie = (
            beats(np.array([a]), np.array([b])),
            beats(np.array([b]), np.array([a])),
            tied(np.array([a]), np.array([b])),
        )
    assert int(forth[0]) + int(back[0]) + int(tie[0]) <= 1
    if math.isnan(a) or math.isnan(b):
        assert not any((forth[0], back[0], tie[0]))
    if math.isinf(a) and (math.isfinite(b) or a == b):
        assert not forth[0]
    if math.isfinite(a) and math.isfinite(b):
        assert (forth[0], back[0], tie[0]) == (_wins(a, b), _wins(b, a), _tie(a, b))


def _outcomes(splits: list[str], correct: list[bool], tie: list[bool], unscored: list[str]) -> Outcomes:
    n = len(splits)
    name = np.array([f"i{i}" for i in range(n)])
    number = np.zeros(n, dtype=np.float32)
    return Outcomes(
        name, name, np.array(splits), np.array([f"k{i // 2}" for i in range(n)]), np.array(correct), np.array(tie), number, number,
        name, name, np.array(unscored),
    )  # fmt: skip


def test_summary_leaves_out_what_was_not_scored_and_counts_it() -> None:
    splits = ["seen"] * 6 + ["partial"] * 4 + ["unseen"] * 2
    correct = [True, True, True, False, False, True, True, False, False, False, True, True]
    tie = [False, False, False, True, True, False] + [False] * 4 + [False] * 2
    reasons = ["", "", "", "", "truncated", "not a number"] + [""] * 4 + ["truncated"] * 2
    summary = summarise(_outcomes(splits, correct, tie, reasons), "binary", 0.5)
    seen, partial, unseen = (summary["splits"][split] for split in ("seen", "partial", "unseen"))
    assert (seen["value"], seen["n_items"], seen["n_clusters"], seen["ties"], seen["unscored"]) == (0.75, 4, 2, 1, 2)
    assert (partial["value"], partial["n_items"], partial["ties"], partial["unscored"]) == (0.25, 4, 0, 0)
    assert (unseen["value"], unseen["low"], unseen["n_items"], unseen["unscored"]) == (None, None, 0, 2)
    assert summary["gaps"]["seen - partial"]["value"] == 0.5
    assert summary["gaps"]["seen - unseen"]["value"] is None
    assert summary["gaps"]["partial - unseen"]["n_items"] == 0
    assert (summary["chance"], summary["metric"], summary["tie_tolerance"]) == (0.5, "binary", 1e-5)
    assert summary["average"].startswith("micro")
    assert "10000 draws" in summary["interval"]


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=60))
@settings(max_examples=40, deadline=None)
def test_summary_of_any_outcomes_is_the_plain_mean(rows: list[tuple[bool, bool, bool]]) -> None:
    correct, tie, scored = (list(column) for column in zip(*rows, strict=True))
    summary = summarise(_outcomes(["seen"] * len(rows), correct, tie, ["" if s else "?" for s in scored]), "R@1", 0.1)
    seen = summary["splits"]["seen"]
    counted = [c for c, s in zip(correct, scored, strict=True) if s]
    assert seen["n_items"] == len(counted)
    assert seen["unscored"] == len(rows) - len(counted)
    assert seen["ties"] == sum(t for t, s in zip(tie, scored, strict=True) if s)
    assert seen["value"] == (round(sum(counted) / len(counted), 6) if counted else None)


def test_outcomes_of_no_item_are_no_number() -> None:
    empty = _outcomes([], [], [], [])
    assert summarise(replace(empty, correct=np.array([], dtype=bool)), "binary", 0.5)["splits"] == {}
    assert math.isnan(chance(np.zeros((0, 0), dtype=bool)))
