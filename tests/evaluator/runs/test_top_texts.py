"""The best texts of an item against a plain sort."""

from pathlib import Path

import numpy as np

from evaluator.runs.measure import measure
from generator.dataset.reader import Dataset
from tests.evaluator.synthetic import Builder, one_of_each, write_run


def test_the_best_three_texts_stand_best_first_and_a_tie_is_false_first(tmp_path: Path) -> None:
    import pandas as pd

    builder = one_of_each(Builder(0, 60), 10)
    rng = np.random.default_rng(3)
    given = rng.choice([0.1, 0.2, 0.3, 0.4], len(builder.candidates)).astype(np.float32)
    root = builder.write(tmp_path / "d")
    run = write_run(root, tmp_path / "run", lambda n: given[:n], broken=[5])
    measure(run)
    found = pd.read_csv(run / "tables" / "top.csv")
    order = Dataset.open(root).benchmark("all").candidates.to_pylist()
    score = {id(row): float(value) for row, value in zip(order, given, strict=True)}
    items: dict[str, list[dict[str, object]]] = {}
    for place, row in enumerate(order):
        items.setdefault(str(row["item_id"]), []).append({**row, "score": score[id(row)], "broken": place == 5})
    expected = {}
    for item_id, rows in items.items():
        compared = [row for row in rows if row["slot"] in ("c", "n")]
        if len(compared) > 3 and not any(row["broken"] for row in rows):
            best = sorted(compared, key=lambda row: (-float(str(row["score"])), bool(row["truth"])))[:3]
            expected[item_id] = [(bool(row["truth"]), float(str(row["score"]))) for row in best]
    assert set(found["item_id"]) == set(expected)
    for item_id, rows in found.groupby("item_id"):
        assert rows["rank"].tolist() == [1, 2, 3]
        told = list(zip(rows["truth"].tolist(), rows["score"].tolist(), strict=True))
        assert [truth for truth, _ in told] == [truth for truth, _ in expected[str(item_id)]]
        assert np.allclose([s for _, s in told], [s for _, s in expected[str(item_id)]])
    assert (found.groupby("item_id")["score"].nunique() < 3).any()


def test_a_true_text_that_wins_within_the_tolerance_is_not_first(tmp_path: Path) -> None:
    import pandas as pd

    builder = Builder(0, 8)
    for _ in range(3):
        builder.add("productivity", "atom", [("c", True, None), *[("n", False, None)] * 5])
    root = builder.write(tmp_path / "d")
    given = np.array([[0.5 + margin, 0.5, 0.1, 0.1, 0.1, 0.1] for margin in (0.0, 5e-6, 1e-3)], np.float32).ravel()
    run = write_run(root, tmp_path / "run", lambda n: given[:n])
    measure(run)
    found = pd.read_csv(run / "tables" / "top.csv")
    assert found[found["rank"] == 1].sort_values("item_id")["truth"].tolist() == [False, False, True]
    right = pd.read_csv(run / "tables" / "items.csv").query("metric == 'R@1'").sort_values("item_id")["value"].tolist()
    assert right == [0, 0, 1]
