"""Two images and two captions against the definitions of Winoground in plain Python."""

import statistics
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from evaluator.protocols.items import INCOMPLETE, TRUNCATED
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure, measure_protocols
from generator.dataset.reader import Dataset
from tests.evaluator.protocols.plain import wins
from tests.evaluator.synthetic import Builder, add_pair, find, planted, write_run

PAIRS = 3000


def test_text_image_and_group_are_their_definitions(tmp_path: Path) -> None:
    builder = Builder(0, 200)
    for i in range(PAIRS):
        add_pair(builder, ("swap", "relation")[i % 2])
    root = builder.write(tmp_path / "dataset")
    rng = np.random.default_rng(1)
    folder = write_run(root, tmp_path / "run", lambda n: planted(rng, n), broken=[5, 400])
    results = measure(folder)
    values = {}
    for row in pq.read_table(folder / "scores.parquet").to_pylist():
        values[row["image_id"], row["text_id"]] = row["score"]
    benchmark = Dataset.open(root).benchmark("all")
    rows: dict[str, dict[tuple[int, int], float]] = defaultdict(dict)
    for r in benchmark.candidates.to_pylist():
        caption = int(r["slot"])
        rows[r["item_id"]][caption if r["truth"] else 1 - caption, caption] = values[r["scene_id"], r["text_id"]]
    expected: dict[tuple[str, str | None, str], list[tuple[bool, bool]]] = defaultdict(list)
    unscored = 0
    for item in benchmark.items.to_pylist():
        s = rows[item["item_id"]]
        if None in s.values():
            unscored += 1
            continue
        text = [(s[0, 0], s[0, 1]), (s[1, 1], s[1, 0])]
        image = [(s[0, 0], s[1, 0]), (s[1, 1], s[0, 1])]
        for metric, pairs in (("text", text), ("image", image), ("group", text + image)):
            right = all(wins(a, b) for a, b in pairs)
            tied = not right and not any(wins(b, a) for a, b in pairs)
            for kind in (item["kind"], None):
                expected[metric, kind, item["split"]].append((right, tied))
    assert unscored == 2
    shares = [r for r in results["rows"] if r["metric"] == "text" and r["unit"] == "share"]
    assert [sum(r["unscored"] for r in shares if (r["kind"] is None) == over_all) for over_all in (True, False)] == [
        2,
        2,
    ]
    assert len(expected) == 3 * 3 * 4
    for (metric, kind, split), found in expected.items():
        row = find(results, "pairs", split, metric=metric, kind=kind)
        assert row["items"] == len(found)
        assert row["value"] == pytest.approx(statistics.fmean(right for right, _ in found), abs=2e-6)
        assert row["ties"] == sum(tied for _, tied in found)
        assert row["chance"] == pytest.approx({"text": 1 / 4, "image": 1 / 4, "group": 1 / 6}[metric], abs=1e-6)
    items = measure_protocols(open_run(folder))["pairs"].items
    scene_of = {(r["item_id"], r["text_id"]): r["scene_id"] for r in benchmark.candidates.to_pylist() if r["truth"]}
    for item_id, scene, text in zip(items.item_id, items.scene_id, items.best_candidates()["true_text"], strict=True):
        assert scene_of[item_id, text] == scene


def test_a_random_scorer_has_the_chance_of_winoground(tmp_path: Path) -> None:
    builder = Builder(0, 4000)
    for _ in range(8000):
        add_pair(builder)
    root = builder.write(tmp_path / "dataset")
    rng = np.random.default_rng(3)
    results = measure(write_run(root, tmp_path / "run", lambda n: rng.normal(size=n)))
    for metric, by_chance in (("text", 1 / 4), ("image", 1 / 4), ("group", 1 / 6)):
        rows = [r for r in results["rows"] if r["metric"] == metric and r["unit"] == "share"]
        assert sum(r["value"] * r["items"] for r in rows) / 8000 == pytest.approx(by_chance, abs=0.015)


def test_half_a_pair_and_captions_that_read_alike_are_unscored(tmp_path: Path) -> None:
    builder = Builder(0, 4)
    names = {add_pair(builder, lacking=lacking): lacking for lacking in (None, 0, 1, 2, 3, None)}
    alike = builder.texts[-1]["text_id"], builder.texts[-2]["text_id"]
    root = builder.write(tmp_path / "dataset")
    folder = write_run(root, tmp_path / "run", lambda n: np.arange(n, dtype=float), indistinct={alike[0]: alike[1]})
    items = measure_protocols(open_run(folder))["pairs"].items
    reasons = dict(zip(items.item_id, items.unscored, strict=True))
    first, *halves, last = names
    assert (reasons[first], reasons[last]) == ("", TRUNCATED)
    assert {reasons[name] for name in halves} == {INCOMPLETE}
