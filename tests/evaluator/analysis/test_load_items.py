"""Rows by number of atoms, means over them, and skill loads come from the items of all runs."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from evaluator.analysis.load_items import load_influences, load_over_runs
from evaluator.analysis.run_items import ItemTable, read_items
from evaluator.protocols.items import COUNTS
from evaluator.protocols.results import OVER_ITEMS, OVER_N
from evaluator.statistics.runs import mean_over_runs

LABELS = {"protocol": "skill", "metric": "R@1", "level": "OAR", "skill": "object"}
FIT = {"protocol": "skill", "level": "OAR", "skill": "object", "split": "seen"}


def write_items(folder: Path, n: int, seed: int, *, load: float = -8.0) -> pd.DataFrame:
    """Write the items of a run: R@1 falls by `load` points with each object; no names, an image for
    each item."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.integers(1, 4, n) for name in COUNTS})
    chance = 0.9 + load / 100 * table["n_objects"]
    table["value"] = (rng.random(n) < chance).astype(int)
    for name, label in {**LABELS, "kind": "", "split": "seen", "bindings": ""}.items():
        table[name] = label
    table["scene_id"] = [f"s{i}" for i in range(n)]
    table["cluster"] = table["scene_id"]
    table["unscored"] = ""
    (folder / "tables").mkdir(parents=True)
    table.to_csv(folder / "tables" / "items.csv", index=False)
    return table


def item_table(folder: Path, block: str = "b") -> ItemTable:
    factors = {"benchmark": "b/world", "training_seed": None}
    table = read_items({"folder": str(folder), "factors": factors}, block)  # type: ignore[typeddict-item]
    assert table is not None
    return table


def row(value: float, **labels: Any) -> Any:
    empty = {"error": None, "kind": None, "n": None, "is_gap": False, "average": OVER_ITEMS}
    return {**empty, **LABELS, "split": "seen", "value": value, **labels}


def test_a_row_of_n_atoms_and_a_cell_of_counts_are_means_of_their_items(tmp_path: Path) -> None:
    frame = write_items(tmp_path, 300, 1)
    table = item_table(tmp_path)
    atoms = frame[list(COUNTS)].sum(axis=1)
    of_n = frame[atoms == 5]
    items = table.items_of(row(of_n["value"].mean(), n=5))
    assert items is not None
    assert items.scene.tolist() == [f"b/world {scene}"[2:] for scene in of_n["scene_id"]]
    cell = dict(zip(COUNTS, (1, 2, 3), strict=True))
    of_cell = frame[(frame[list(COUNTS)] == list(cell.values())).all(axis=1)]
    items = table.items_of(row(of_cell["value"].mean(), **cell))
    assert items is not None
    assert items.outcome.tolist() == of_cell["value"].tolist()


def test_a_mean_over_n_weighs_each_number_of_atoms_equally(tmp_path: Path) -> None:
    frame = write_items(tmp_path, 300, 2)
    atoms = frame[list(COUNTS)].sum(axis=1)
    macro = frame["value"].groupby(atoms).mean().mean()
    table = item_table(tmp_path)
    items = table.items_of(row(macro, average=OVER_N))
    assert items is not None
    assert items.mean == pytest.approx(macro)
    estimate = mean_over_runs([items])
    assert estimate.value == pytest.approx(macro)
    # Without names the variance is the weighted residuals' (White 1980), up to the prior's noise.
    residuals = frame["value"].to_numpy() - macro
    error = np.sqrt(np.square(items.weights * residuals).sum())
    assert (estimate.high - estimate.low) / 2 == pytest.approx(1.96 * error, rel=0.12)
    assert table.items_of(row(frame["value"].mean() + 0.01, average=OVER_N)) is None


def test_the_influences_of_a_load_average_to_the_coefficient_of_statsmodels(tmp_path: Path) -> None:
    frame = write_items(tmp_path, 500, 3)
    exog = sm.add_constant(frame[list(COUNTS)].astype(float))
    expected = sm.OLS(100 * frame["value"], exog).fit(cov_type="HC0")
    fit = {**FIT, "coefficients": {name: {"beta": expected.params[name]} for name in COUNTS}}
    table = item_table(tmp_path)
    for name in COUNTS:
        influences = load_influences(table, fit, name)
        assert influences is not None
        assert influences.mean == pytest.approx(expected.params[name])
        estimate = load_over_runs([table], [fit], count=name, level=0.95) or pytest.fail(
            "it has items"
        )
        assert estimate.value == pytest.approx(expected.params[name])
        # Each image has one item and no names, so the error is White's.
        half_width = (estimate.high - estimate.low) / 2
        assert half_width == pytest.approx(1.96 * expected.bse[name], rel=0.05)


def test_a_load_that_the_items_do_not_give_is_not_estimated_from_them(tmp_path: Path) -> None:
    write_items(tmp_path, 200, 4)
    fit = {**FIT, "coefficients": {name: {"beta": 99.0} for name in COUNTS}}
    assert load_over_runs([item_table(tmp_path)], [fit], count="n_objects", level=0.95) is None


@pytest.mark.full
def test_intervals_of_a_load_hold_it_as_often_as_they_say(tmp_path: Path) -> None:
    """Two runs of other images each; the load of both is -8 points."""
    held = 0
    for draw in range(200):
        tables, fits = [], []
        for run in range(2):
            folder = tmp_path / f"{draw}-{run}"
            frame = write_items(folder, 150, 1000 * draw + run)
            exog = sm.add_constant(frame[list(COUNTS)].astype(float))
            params = sm.OLS(100 * frame["value"], exog).fit().params
            fits.append({**FIT, "coefficients": {name: {"beta": params[name]} for name in COUNTS}})
            tables.append(item_table(folder, f"block {run}"))
        estimate = load_over_runs(tables, fits, count="n_objects", level=0.95)
        assert estimate is not None
        held += estimate.low <= -8 <= estimate.high
    assert 183 <= held <= 199  # 95% of 200 is 190, standard error 3
