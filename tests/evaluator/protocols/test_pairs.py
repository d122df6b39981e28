"""Two images and two captions: chance as of Winoground, the image that is shown, and pairs that are
not whole."""

from pathlib import Path

import numpy as np
import pytest

from evaluator.protocols.items import INCOMPLETE, TRUNCATED
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure, measure_protocols
from tests.evaluator.protocols.conftest import run_of
from tests.evaluator.synthetic import Builder, add_pair


def test_the_first_image_is_that_of_the_first_caption(tmp_path: Path) -> None:
    builder = Builder(0, 20)
    for _ in range(30):
        add_pair(builder)
    items = measure_protocols(open_run(run_of(builder, tmp_path)))["pairs"].items
    scene_of = {
        (r["item_id"], r["text_id"]): r["scene_id"] for r in builder.candidates if r["truth"]
    }
    for item_id, scene, text in zip(
        items.item_id, items.scene_id, items.best_candidates()["true_text"], strict=True
    ):
        assert scene_of[item_id, text] == scene


def test_a_random_scorer_has_the_chance_of_winoground(tmp_path: Path) -> None:
    builder = Builder(0, 4000)
    for _ in range(8000):
        add_pair(builder)
    results = measure(run_of(builder, tmp_path, lambda n: np.random.default_rng(3).normal(size=n)))
    for metric, by_chance in (("text", 1 / 4), ("image", 1 / 4), ("group", 1 / 6)):
        rows = [r for r in results["rows"] if r["metric"] == metric and r["unit"] == "share"]
        assert sum(r["value"] * r["items"] for r in rows) / 8000 == pytest.approx(
            by_chance, abs=0.015
        )


def test_half_a_pair_and_captions_that_read_alike_are_unscored(tmp_path: Path) -> None:
    builder = Builder(0, 4)
    names = {add_pair(builder, lacking=lacking): lacking for lacking in (None, 0, 1, 2, 3, None)}
    alike = builder.texts[-1]["text_id"], builder.texts[-2]["text_id"]
    folder = run_of(builder, tmp_path, indistinct={alike[0]: alike[1]})
    items = measure_protocols(open_run(folder))["pairs"].items
    reasons = dict(zip(items.item_id, items.unscored, strict=True))
    first, *halves, last = names
    assert (reasons[first], reasons[last]) == ("", TRUNCATED)
    assert {reasons[name] for name in halves} == {INCOMPLETE}
