"""Means of models over forms, with the spread of the forms in their intervals.

Forms of a suite differ in difficulty by chance. The value of model m on form f is taken as

    x_mf = mean_m + form_f + sampling_mf,

and the interval is about new forms, so both errors are one variance component s². All models
estimate it together, since a model alone has few forms:

    s² = Σ_m Σ_f (x_mf − x̄_m)² / Σ_m (n_m − 1),   x̄_m ± t(Σ_m (n_m − 1)) · s / √n_m.

The sampling error of a form alone is known from its own interval. Few forms may agree by chance, so
an interval is never narrower than sampling alone makes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class FormValue:
    """The value of a model on a form."""

    value: float
    """The value."""
    reach: float | None
    """Half the width of its interval; None without one."""


@dataclass(frozen=True)
class FormMean:
    """The mean of a model over forms."""

    value: float
    """The mean over its forms."""
    low: float | None
    """Lower end of the interval about new forms; None if no model has two forms."""
    high: float | None
    """Its upper end."""
    forms: int
    """Number of its forms."""


@dataclass(frozen=True)
class FormSpread:
    """Models over forms."""

    means: dict[str, FormMean]
    """The mean of each model."""
    sd: float | None
    """Standard deviation of a model's value between forms; None if no model has two forms."""
    freedom: int
    """Degrees of freedom of `sd`."""


def spread_over_forms(
    values: Mapping[str, Mapping[str, FormValue]], level: float = 0.95
) -> FormSpread:
    """Average models over forms.

    Args:
        values: By model and form, the value on the form.
        level: Level of the intervals, 0..1.

    Returns:
        The means, and the spread of forms.

    Example:
        >>> first, second = FormValue(0.5, None), FormValue(0.7, None)
        >>> spread = spread_over_forms({"a": {"f1": first, "f2": second}})
        >>> round(spread.sd, 4), spread.freedom, round(spread.means["a"].value, 4)
        (0.1414, 1, 0.6)
    """
    squares, freedom = 0.0, 0
    for of_model in values.values():
        of_forms = np.array([of_form.value for of_form in of_model.values()])
        squares += float(np.square(of_forms - of_forms.mean()).sum())
        # A model with one form adds nothing to either sum.
        freedom += len(of_forms) - 1
    sd = None if freedom == 0 else (squares / freedom) ** 0.5
    means = {}
    for model, of_model in values.items():
        n_forms = len(of_model)
        mean = sum(of_form.value for of_form in of_model.values()) / n_forms
        low: float | None = None
        high: float | None = None
        if sd is not None:
            standard_error = sd / n_forms**0.5
            over_forms = float(stats.t.ppf((1 + level) / 2, freedom)) * standard_error
            # Forms that agree by chance must not make the interval narrower than their own are.
            reaches = [of_form.reach or 0.0 for of_form in of_model.values()]
            reach = max(over_forms, hypot(*reaches) / n_forms)
            low = mean - reach
            high = mean + reach
        means[model] = FormMean(mean, low, high, n_forms)
    return FormSpread(means, sd, freedom)
