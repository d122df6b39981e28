"""Yes and no among the most likely tokens."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.models.yes_no import score_of_tokens

SPELLED = {
    "yes": ["Yes", " yes", "▁YES", "ĠYes", "yes"],
    "no": ["No", " no", "NO", "▁no"],
    "": ["A", "yesterday", "not", "Yes."],
}


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(SPELLED)), st.integers(0, 3), st.floats(0.01, 0.09)),
        min_size=1,
        max_size=10,
    )
)
def test_probabilities_are_summed_over_spellings(listed: list[tuple[str, int, float]]) -> None:
    score = score_of_tokens([(SPELLED[answer][i], math.log(p)) for answer, i, p in listed])
    yes, no = (sum(p for answer, _, p in listed if answer == answer_) for answer_ in ("yes", "no"))
    if yes == no == 0:
        assert score is None
        return
    assert score is not None
    assert score.p_yes == pytest.approx(yes)
    assert score.bounded == (yes == 0 or no == 0)
    bound = min(
        [p for *_, p in listed] + [left for left in [1 - sum(p for *_, p in listed)] if left > 0]
    )
    assert score.log_odds == pytest.approx(math.log((yes or bound) / (no or bound)))


def test_a_missing_answer_is_bounded_by_what_is_left_over() -> None:
    score = score_of_tokens([("Yes", math.log(0.99))])
    assert score is not None
    assert score.bounded
    assert score.log_odds == pytest.approx(math.log(0.99 / 0.01))


def test_a_listed_probability_of_0_says_no_more_than_a_missing_one() -> None:
    for p in (0.99, 1.0):
        score = score_of_tokens([("Yes", math.log(p)), ("no", -9999.0), ("A", -math.inf)])
        assert score is not None
        assert score == score_of_tokens([("Yes", math.log(p))])
        assert 4 < score.log_odds < 20
