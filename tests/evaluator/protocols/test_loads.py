"""The skill loads of a run against statsmodels, and those of several runs against what made
them."""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests

from evaluator.protocols.compass import loads, pooled_loads
from evaluator.protocols.items import COUNTS
from evaluator.protocols.outcomes import Outcome
from evaluator.statistics.blocks import block_mean
from tests.evaluator.protocols.plain import PlainItem, make_items
from tests.evaluator.synthetic import Row


def test_skill_loads_are_those_of_statsmodels(plain_items: list[PlainItem], results: Row) -> None:
    assert len(results["fits"]) == 3 * 4 * 4
    compared = 0
    for fit in results["fits"]:
        part = [
            q
            for q in plain_items
            if not q.reason
            and q.item["protocol"] == "skill"
            and (q.item["skill"], q.item["split"], q.caption["level"])
            == (fit["skill"], fit["split"], fit["level"])
        ]
        names = [name for name in COUNTS if len({q.caption[name] for q in part}) > 1]
        x = sm.add_constant(
            np.array([[q.caption[name] for name in names] for q in part], dtype=float)
        )
        scenes = np.unique([q.rows[0]["scene_id"] for q in part], return_inverse=True)[1]
        model = sm.OLS([100 * q.recall()[0] for q in part], x)
        reference = model.fit(cov_type="cluster", cov_kwds={"groups": scenes}, use_t=True)
        assert list(fit["coefficients"]) == names
        assert (fit["items"], fit["clusters"], fit["df"]) == (
            len(part),
            len(set(scenes)),
            len(set(scenes)) - 1,
        )
        assert fit["constant"] == pytest.approx(reference.params[0], abs=1e-3)
        for i, name in enumerate(names, 1):
            beta = fit["coefficients"][name]
            low, high = reference.conf_int()[i]
            assert [beta[k] for k in ("beta", "error", "t", "low", "high")] == pytest.approx(
                [reference.params[i], reference.bse[i], reference.tvalues[i], low, high], abs=1e-3
            )
            assert beta["p"] == pytest.approx(reference.pvalues[i], abs=1e-9)
            assert beta["stars"] == (
                "**" if beta["p"] < 0.001 else "*" if beta["p"] < 0.005 else ""
            )
            assert beta["load"] == ("self" if name == f"n_{fit['skill']}s" else "cross")
            compared += 1
    assert compared == 3 * 4 * (1 + 2 + 2 + 3)


def test_stars_are_given_of_p_alone_and_of_p_corrected_over_the_table(results: Row) -> None:
    coefficients = [beta for fit in results["fits"] for beta in fit["coefficients"].values()]
    corrected = multipletests([beta["p"] for beta in coefficients], method="holm")[1]
    assert [beta["p_corrected"] for beta in coefficients] == pytest.approx(corrected)
    for beta, p in zip(coefficients, corrected, strict=True):
        assert beta["stars_corrected"] == ("**" if p < 0.001 else "*" if p < 0.005 else "")
    assert {fit["correction"] for fit in results["fits"]} == {"Holm (1979)"}


def simulate_fits(
    rng: np.random.Generator, load: float, splits: int = 1, n: int = 600
) -> list[Row]:
    """The fits of a run whose R@1 falls by `load` points with each object, and by a block's and
    run's own chance."""
    counts = rng.integers(1, 4, (n, 3))
    items = make_items(np.zeros((n, 1)), [f"split {i % splits}" for i in range(n)], counts=counts)
    right = (rng.random(n) < 0.9 + load / 100 * counts[:, 0]).astype(float)
    first = Outcome("R@1", right, np.zeros(n, dtype=bool), np.full(n, 0.2))
    return [{"protocol": "skill", **fit} for fit in loads(items, first)]


def test_a_pooled_fit_has_the_sizes_of_all_runs_and_stars_of_all_fits() -> None:
    rng = np.random.default_rng(4)
    runs = [simulate_fits(rng, -28, splits=2) for _ in range(6)]
    fits = pooled_loads(runs, ["a", "a", "b", "b", "c", "c"], level=0.95)
    assert [fit["split"] for fit in fits] == ["split 0", "split 1"]
    assert {(fit["items"], fit["clusters"]) for fit in fits} == {
        (1800, 900)
    }  # runs of a block share its scenes
    for name in ("n_objects", "n_relations"):
        of_runs = [run[0]["coefficients"][name] for run in runs]
        assert fits[0]["coefficients"][name]["beta"] == pytest.approx(
            np.mean([one["beta"] for one in of_runs]), abs=1e-3
        )
        expected = block_mean([one["beta"] for one in of_runs], list("aabbcc"), 0.95)
        coefficient = fits[0]["coefficients"][name]
        assert (coefficient["low"], coefficient["high"]) == pytest.approx(
            (expected.low, expected.high), abs=1e-3
        )
    tested = [load for fit in fits for load in fit["coefficients"].values()]
    corrected = multipletests([load["p"] for load in tested], method="holm")[1]
    assert [load["p_corrected"] for load in tested] == pytest.approx(corrected)
    assert (
        fits[0]["coefficients"]["n_objects"]["p"]
        < 0.005
        < fits[0]["coefficients"]["n_relations"]["p"]
    )


def test_runs_of_one_block_have_an_interval_and_no_p() -> None:
    rng = np.random.default_rng(5)
    [fit] = pooled_loads([simulate_fits(rng, -10), simulate_fits(rng, -10)], ["a", "a"], level=0.95)
    load = fit["coefficients"]["n_objects"]
    assert (load["p"], load["stars"], load["p_corrected"], load["stars_corrected"]) == (
        None,
        "",
        None,
        "",
    )
    assert load["low"] < load["beta"] < load["high"]


def test_a_load_that_some_run_does_not_have_is_left_out() -> None:
    fits = simulate_fits(np.random.default_rng(6), -10)
    without = [{**fit, "coefficients": {}, "reason": "no count varies"} for fit in fits]
    [fit] = pooled_loads([fits, without], ["a", "b"], level=0.95)
    assert (fit["coefficients"], fit["reason"]) == ({}, "no count varies")
