"""Tables of a run: a row for each question against the scores that the model gave, the best texts
against a sort."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evaluator import Dataset, evaluate
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure, measure_protocols, write_items
from evaluator.runs.tables import COLUMNS, item_rows
from generator.dataset.reader import Benchmark
from tests.evaluator.conftest import succeed
from tests.evaluator.encoders import Sharp, captions_by_image
from tests.evaluator.protocols.conftest import run_of
from tests.evaluator.synthetic import Builder, add_pair, one_of_each


def test_every_candidate_has_its_words_and_the_models_score(
    drawn: Path, benchmark: Benchmark
) -> None:
    model = Sharp(captions_by_image(drawn))
    items = evaluate(model, drawn).items
    assert tuple(items.columns) == COLUMNS
    assert (
        len(items)
        == benchmark.items_of("binary").num_rows + benchmark.items_of("retrieval").num_rows
    )
    world = Dataset.open(drawn).world
    for _, row in items.iterrows():
        image = model.encode_images([world.image(row["images"][0])])
        cosines = (model.encode_texts(row["texts"]) @ image.T).ravel()
        np.testing.assert_allclose(row["scores"], cosines, atol=1e-6)
        best = {
            truth: score for score, truth in sorted(zip(row["scores"], row["truth"], strict=True))
        }
        assert row["margin"] == pytest.approx(best[True] - best[False], abs=1e-6)
        assert row["value"] == float(best[True] - best[False] > 1e-5)
    binary = items[items["protocol"] == "binary"].set_index("item_id")
    of = dict(
        zip(
            *(benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id")),
            strict=True,
        )
    )
    assert [images[0] for images in binary["images"]] == [of[item] for item in binary.index]


def test_pairs_name_both_images_and_what_is_unscored_says_why(tmp_path: Path) -> None:
    """By the tables of a benchmark of every protocol, whatever the order of their rows."""
    builder = one_of_each(Builder(), 2)
    for _ in range(6):
        add_pair(builder)
    run = open_run(run_of(builder, tmp_path, lambda n: np.linspace(0, 1, n), broken=[0]))
    rows = {row["item_id"]: row for row in item_rows(run, measure_protocols(run))}
    assert len(rows) == run.benchmark.items.num_rows
    scores = np.linspace(0, 1, run.benchmark.candidates.num_rows)
    expected: dict[str, list[tuple[object, ...]]] = {}
    for i, row in enumerate(run.benchmark.candidates.to_pylist()):
        score = None if i == 0 else pytest.approx(scores[i], abs=1e-6)
        candidate = (row["scene_id"], run.benchmark.text_of[row["text_id"]], row["truth"], score)
        expected.setdefault(row["item_id"], []).append(candidate)
    for item, row in rows.items():
        assert (
            list(zip(row["images"], row["texts"], row["truth"], row["scores"], strict=True))
            == expected[item]
        )
    assert all(row["margin"] is not None for row in rows.values() if not row["unscored"])
    unscored = [row for row in rows.values() if row["unscored"]]
    assert [(row["value"], row["margin"], row["tie"]) for row in unscored] == [(None, None, None)]
    assert unscored[0]["item_id"] == run.benchmark.candidates["item_id"][0].as_py()


def test_the_lines_of_items_jsonl_are_the_rows(bags: None, drawn: Path, tmp_path: Path) -> None:
    succeed("run", drawn, "--model", f"bag:sharp@{drawn}", "--out", tmp_path / "run", "--jsonl")
    path = tmp_path / "run" / "items.jsonl"
    run = open_run(tmp_path / "run")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == list(item_rows(run, measure_protocols(run)))
    first = path.read_bytes()
    path.write_text("damaged")
    assert write_items(tmp_path / "run") == path
    assert path.read_bytes() == first
    path.unlink()
    succeed("measure", tmp_path / "run", "--jsonl")
    assert path.read_bytes() == first


def test_the_best_three_texts_stand_best_first_and_a_tie_is_false_first(tmp_path: Path) -> None:
    builder = one_of_each(Builder(0, 60), 10)
    rng = np.random.default_rng(3)
    scores = rng.choice([0.1, 0.2, 0.3, 0.4], len(builder.candidates)).astype(np.float32)
    run = run_of(builder, tmp_path, lambda n: scores, broken=[5])
    measure(run)
    top = pd.read_csv(run / "tables" / "top.csv")
    items: dict[str, list[tuple[float, bool]]] = {}
    for row, score in zip(builder.candidates, scores.tolist(), strict=True):
        if row["slot"] in ("c", "n"):
            items.setdefault(row["item_id"], []).append((-score, row["truth"]))
    items.pop(builder.candidates[5]["item_id"], None)
    expected = {item: sorted(rows)[:3] for item, rows in items.items() if len(rows) > 3}
    assert set(top["item_id"]) == set(expected)
    for item, rows in top.groupby("item_id"):
        assert rows["rank"].tolist() == [1, 2, 3]
        assert rows["truth"].tolist() == [truth for _, truth in expected[str(item)]]
        assert rows["score"].tolist() == pytest.approx([-score for score, _ in expected[str(item)]])
    assert (top.groupby("item_id")["score"].nunique() < 3).any()


def test_a_true_text_that_wins_within_the_tolerance_is_not_first(tmp_path: Path) -> None:
    builder = Builder(0, 8)
    for _ in range(3):
        builder.add("productivity", "atom", [("c", True, None), *[("n", False, None)] * 5])
    scores = np.array(
        [[0.5 + margin, 0.5, 0.1, 0.1, 0.1, 0.1] for margin in (0.0, 5e-6, 1e-3)], np.float32
    ).ravel()
    run = run_of(builder, tmp_path, lambda n: scores)
    measure(run)
    top, items = (
        pd.read_csv(run / "tables" / f"{name}.csv").sort_values("item_id")
        for name in ("top", "items")
    )
    assert top.query("rank == 1")["truth"].tolist() == [False, False, True]
    assert items.query("metric == 'R@1'")["value"].tolist() == [0, 0, 1]
