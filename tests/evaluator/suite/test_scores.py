"""Skills and their means, against the same numbers computed by hand and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.suite.scores import (
    Score,
    mean_over_worlds,
    mean_within,
    score_descriptions,
    score_world,
)


def row(split: str, value: float | None, **more: object) -> dict[str, object]:
    """A row of pooled results of two texts for each image."""
    labels = {
        "protocol": "pairs",
        "metric": "text",
        "error": None,
        "kind": None,
        "skill": None,
        "level": None,
        "n": None,
        "minus": None,
        "is_main": True,
        "unit": "share",
        "chance": 0.25,
        "ceiling": None,
        "items": 10,
        "low": None if value is None else value - 0.1,
        "high": None if value is None else value + 0.2,
    }
    return {**labels, "split": split, "value": value, **more}


def gap(value: float) -> dict[str, object]:
    ends = {"low": value - 0.1, "high": value + 0.1, "chance": None, "unit": "difference"}
    return row("seen", value, minus="unseen", **ends)


def test_a_skill_is_0_at_chance_and_1_at_the_ceiling() -> None:
    for value, ceiling, expected in [
        (0.25, None, 0),
        (1.0, None, 1),
        (0.5, 0.75, 0.5),
        (0, 1, -1 / 3),
    ]:
        entry = {"rows": [row("all", value, ceiling=ceiling)]}
        score = score_world([entry], is_trained=False).all_questions
        assert score is not None
        assert score.value == pytest.approx(expected)


def test_a_question_that_an_oracle_cannot_answer_does_not_count() -> None:
    rows = [row("all", 0.25, ceiling=0.25), row("all", 0.5, protocol="binary")]
    score = score_world([{"rows": rows}], is_trained=False).all_questions
    assert score is not None
    assert (score.n_questions, score.value) == (1, pytest.approx(1 / 3))


def test_seen_and_unseen_are_scored_apart_and_their_gap_is_on_the_same_scale() -> None:
    entry = {"rows": [row("seen", 1.0), row("unseen", 0.625), gap(0.375)]}
    score = score_world([entry], is_trained=True)
    assert score.all_questions is None
    assert score.seen is not None
    assert score.unseen is not None
    assert score.gap is not None
    assert (score.seen.value, score.unseen.value) == (1, pytest.approx(0.5))
    assert score.gap.value == pytest.approx(score.seen.value - score.unseen.value)
    assert score.gap.low == pytest.approx((0.375 - 0.1) / 0.75)


def test_a_protocol_of_many_kinds_counts_as_much_as_one_of_few() -> None:
    kinds = [row("all", 1.0, protocol="binary", kind=kind, chance=0.0) for kind in "abc"]
    entry = {"rows": [*kinds, row("all", 0.0, chance=0.0)]}
    score = score_world([entry], is_trained=False).all_questions
    assert score is not None
    assert score.value == pytest.approx(0.5)
    assert score.n_questions == 4


def test_the_score_of_all_questions_is_that_of_the_split_with_most() -> None:
    entry = {"rows": [row("some", 1.0, items=5), row("full", 0.5, items=20)]}
    score = score_world([entry], is_trained=False).all_questions
    assert score is not None
    assert score.value == pytest.approx(1 / 3)


def test_descriptions_are_scored_above_their_better_floor() -> None:
    shared = {"objects": None, "interference": None, "load": None, "low": 0.5, "high": 0.7}
    rows = [
        {**shared, "measure": "values right", "value": 0.6, "blind": 0.1, "unbound": 0.2},
        {
            **shared,
            "measure": "values right",
            "value": 0.0,
            "blind": 0.1,
            "unbound": 0.2,
            "load": 3,
        },
        {**shared, "measure": "whole scene", "value": 0.0, "blind": 0.0, "unbound": None},
        {**shared, "measure": "object recall", "value": 0.6, "blind": 0.2, "unbound": None},
    ]
    score = score_descriptions(rows).all_questions
    assert score is not None
    assert score.n_questions == 2
    assert score.value == pytest.approx(((0.6 - 0.2) / 0.8 + (0.6 - 0.2) / 0.8) / 2)


def test_a_track_without_values_has_no_score() -> None:
    assert score_world([{"rows": [row("all", None)]}], is_trained=False).all_questions is None
    assert score_world([], is_trained=True).unseen is None
    assert score_descriptions([]).all_questions is None
    assert mean_within([None, None]) is None
    assert mean_over_worlds([]) is None


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6)
)
def test_means_lie_between_and_questions_together_err_at_least_as_much_as_worlds(
    numbers: list[tuple[float, float, float]],
) -> None:
    scores = [
        Score(value=value, low=value - below, high=value + above, n_questions=1)
        for value, below, above in numbers
    ]
    together, apart = mean_within(scores), mean_over_worlds(scores)
    assert together is not None
    assert apart is not None
    assert (
        together.value == apart.value == pytest.approx(np.mean([score.value for score in scores]))
    )
    assert together.low is not None
    assert apart.low is not None
    assert together.high is not None
    assert apart.high is not None
    assert together.low <= apart.low + 1e-9
    assert together.high >= apart.high - 1e-9


def test_the_interval_of_a_mean_over_worlds_covers_it_as_often_as_those_of_worlds() -> None:
    generator = np.random.default_rng(0)
    true = np.array([0.2, 0.5, 0.7])
    errors = np.array([0.02, 0.05, 0.03])
    covered = 0
    for _ in range(2000):
        estimates = generator.normal(true, errors)
        scores = [
            Score(value=value, low=value - 1.96 * error, high=value + 1.96 * error, n_questions=1)
            for value, error in zip(estimates, errors, strict=True)
        ]
        mean = mean_over_worlds(scores)
        assert mean is not None
        assert mean.low is not None
        assert mean.high is not None
        covered += mean.low <= true.mean() <= mean.high
    assert 0.935 < covered / 2000 < 0.965


def test_a_missing_interval_is_not_made_up() -> None:
    scores = [Score(value=0.5, low=None, high=None, n_questions=1)]
    for mean in (mean_within(scores), mean_over_worlds(scores)):
        assert mean is not None
        assert (mean.value, mean.low, mean.high) == (0.5, None, None)


def test_half_widths_of_questions_about_the_same_images_are_averaged() -> None:
    first = Score(value=0.2, low=0.1, high=0.4, n_questions=1)
    second = Score(value=0.6, low=0.5, high=0.7, n_questions=2)
    mean = mean_within([first, None, second])
    assert mean is not None
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.4, 0.3, 0.55))
    assert mean.n_questions == 3
    without_interval = Score(value=0.0, low=None, high=None, n_questions=1)
    mean = mean_within([first, without_interval])
    assert mean is not None
    assert (mean.value, mean.low, mean.high) == (0.1, None, None)
