"""R@1 by skill and the skill loads, against plain Python and statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests

from evaluator.protocols.items import COUNTS, Items
from evaluator.protocols.results import Outcome
from evaluator.protocols.skill import _loads
from tests.evaluator.protocols.plain import PlainItem, Value, check_rows
from tests.evaluator.synthetic import Row, find


def expected(q: PlainItem) -> dict[str, Value]:
    return {"R@1": q.recall()}


def test_every_row_is_the_definition_in_a_plain_loop(asked: list[PlainItem], results: Row) -> None:
    check_rows("skill", expected, [("skill", "level")], asked, results)


def test_skill_loads_are_those_of_statsmodels(asked: list[PlainItem], results: Row) -> None:
    assert len(results["fits"]) == 3 * 4 * 4
    compared = 0
    for fit in results["fits"]:
        part = [
            q for q in asked if not q.reason and q.item["protocol"] == "skill"
            and (q.item["skill"], q.item["split"], q.caption["level"]) == (fit["skill"], fit["split"], fit["level"])
        ]  # fmt: skip
        names = [name for name in COUNTS if len({q.caption[name] for q in part}) > 1]
        x = sm.add_constant(np.array([[q.caption[name] for name in names] for q in part], dtype=float))
        scenes = np.unique([q.rows[0]["scene_id"] for q in part], return_inverse=True)[1]
        model = sm.OLS([100 * q.recall()[0] for q in part], x)
        reference = model.fit(cov_type="cluster", cov_kwds={"groups": scenes}, use_t=True)
        assert list(fit["coefficients"]) == names
        assert (fit["items"], fit["clusters"], fit["df"]) == (len(part), len(set(scenes)), len(set(scenes)) - 1)
        assert fit["constant"] == pytest.approx(reference.params[0], abs=1e-3)
        for i, name in enumerate(names, 1):
            beta = fit["coefficients"][name]
            low, high = reference.conf_int()[i]
            assert [beta[k] for k in ("beta", "error", "t", "low", "high")] == pytest.approx(
                [reference.params[i], reference.bse[i], reference.tvalues[i], low, high], abs=1e-3
            )
            assert beta["p"] == pytest.approx(reference.pvalues[i], abs=1e-9)
            assert beta["stars"] == ("**" if beta["p"] < 0.001 else "*" if beta["p"] < 0.005 else "")
            assert beta["load"] == ("self" if name == f"n_{fit['skill']}s" else "cross")
            compared += 1
    assert compared == 3 * 4 * (1 + 2 + 2 + 3)


def test_cells_add_up_to_rows(results: Row) -> None:
    for skill in ("object", "attribute", "relation"):
        for split in ("val", "seen", "partial", "unseen"):
            row = find(results, "skill", split, skill=skill, level="OAR")
            cells = [c for c in results["cells"] if (c["skill"], c["split"], c["level"]) == (skill, split, "OAR")]
            assert sum(cell["items"] for cell in cells) == row["items"]
            assert sum(c["items"] * (c["value"] or 0) for c in cells) == pytest.approx(
                row["items"] * row["value"], abs=1e-3
            )
            assert {(c["n_objects"], c["n_attributes"], c["n_relations"]) for c in cells} <= {
                (a, b, c) for a in (1, 2, 3) for b in (1, 2, 3) for c in (1, 2, 3)
            }


def test_stars_are_given_of_p_alone_and_of_p_corrected_over_the_table(results: Row) -> None:
    coefficients = [beta for fit in results["fits"] for beta in fit["coefficients"].values()]
    corrected = multipletests([beta["p"] for beta in coefficients], method="holm")[1]
    assert [beta["p_corrected"] for beta in coefficients] == pytest.approx(corrected)
    for beta, p in zip(coefficients, corrected, strict=True):
        assert beta["stars_corrected"] == ("**" if p < 0.001 else "*" if p < 0.005 else "")
    assert {fit["correction"] for fit in results["fits"]} == {"Holm (1979)"}


def test_a_star_that_is_one_of_many_tests_is_lost() -> None:
    """Without any load, some of 360 coefficients have p < .005, and none after the correction."""
    rng, n = np.random.default_rng(0), 120 * 50
    names = np.array([f"i{i}" for i in range(n)], dtype=object)
    none, empty = np.full(n, "", dtype=object), np.zeros((n, 1))
    splits = np.array([f"split {i % 120}" for i in range(n)], dtype=object)
    items = Items(names, names, names, none, none, splits, none, rng.integers(1, 4, (n, 3)), empty, empty, empty, empty, empty, empty, none)  # fmt: skip
    right = (rng.random(n) < 0.7).astype(float)
    fits = _loads(items, Outcome("R@1", right, np.zeros(n, dtype=bool), np.full(n, 0.2)))
    coefficients = [beta for fit in fits for beta in fit["coefficients"].values()]
    assert sum(bool(beta["stars"]) for beta in coefficients) > 0
    assert sum(bool(beta["stars_corrected"]) for beta in coefficients) == 0
