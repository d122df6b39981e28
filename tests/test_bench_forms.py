"""The spread between forms: components as statsmodels computes them, bounds that hold, and learners
that tell captions apart."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from bench import forms
from bench.variance import LEVEL, form_spread


def draw_scores(
    rng: np.random.Generator, learners: float, spread: float, rest: float
) -> np.ndarray:
    """Scores of three learners on six forms."""
    return np.asarray(
        70
        + rng.normal(0, learners, (3, 1))
        + rng.normal(0, spread, (1, 6))
        + rng.normal(0, rest, (3, 6))
    )


@pytest.mark.parametrize("seed", range(4))
def test_components_are_those_of_an_analysis_of_variance(seed: int) -> None:
    scores = draw_scores(np.random.default_rng(seed), 5, 3, 1)
    rows = [
        {"learner": str(learner), "form": str(form), "score": scores[learner, form]}
        for learner in range(3)
        for form in range(6)
    ]
    table = anova_lm(ols("score ~ C(learner) + C(form)", pd.DataFrame(rows)).fit())
    mean_squares = table["mean_sq"]
    spread = form_spread(scores)
    assert spread.rest**2 == pytest.approx(mean_squares["Residual"])
    of_forms = (mean_squares["C(form)"] - mean_squares["Residual"]) / 3
    assert spread.forms**2 == pytest.approx(max(0, of_forms))
    of_learners = (mean_squares["C(learner)"] - mean_squares["Residual"]) / 6
    assert spread.learners**2 == pytest.approx(max(0, of_learners))
    assert spread.low <= spread.forms <= spread.high


@pytest.mark.parametrize("spread", [0.5, 3.0])
def test_each_bound_holds_in_about_99_percent_of_draws(spread: float) -> None:
    rng = np.random.default_rng(5)
    spreads = [form_spread(draw_scores(rng, 5, spread, 2)) for _ in range(2_000)]
    # Three standard errors of a share of 1% in 2,000 draws are 0.7%.
    assert np.mean([drawn_spread.low > spread for drawn_spread in spreads]) < 1 - LEVEL + 0.007
    assert np.mean([drawn_spread.high < spread for drawn_spread in spreads]) < 1 - LEVEL + 0.007


def test_forms_that_differ_by_ten_points_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    scores = iter(draw_scores(rng, 5, 14, 0.5).T)
    monkeypatch.setattr(forms, "_scores_of_form", lambda _form: list(next(scores)))
    with pytest.raises(Exception, match="expected 3 at most") as raised:
        forms.figures()
    assert type(raised.value).__name__ == "ClickException"
    equal = iter(draw_scores(rng, 5, 0.0, 1).T)
    monkeypatch.setattr(forms, "_scores_of_form", lambda _form: list(next(equal)))
    assert len(forms.figures()) == len(forms.LEARNERS) + 5


@pytest.mark.parametrize("name", forms.LEARNERS)
def test_learners_learn_where_a_color_is(name: str) -> None:
    """Red or blue, on the left or on the right: two facts that pixels show."""
    rng = np.random.default_rng(0)
    facts = rng.integers(0, 2, (120, 2)).astype(float)
    images = rng.normal(0.5, 0.02, (120, forms.SIDE, forms.SIDE, 3)).astype(np.float32)
    middle = forms.SIDE // 2
    images[:, :, :middle, 0] += 0.4 * facts[:, 0, None, None]
    images[:, :, middle:, 2] += 0.4 * facts[:, 1, None, None]
    predicted = forms.LEARNERS[name](images[:80], facts[:80], images[80:])
    threshold = predicted.mean(axis=0)
    assert ((predicted > threshold) == (facts[80:] > 0.5)).mean() > 0.9
