"""Pairs of images and raw retrieval against their definitions in plain Python, with planted ties; and precision."""

import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.measure import measure, measure_protocols
from evaluator.protocols import raw
from evaluator.protocols.items import INCOMPLETE, TRUNCATED
from evaluator.run import Request, run
from evaluator.scoring.needs import LIMIT, collect_needs, within_limit
from generator.dataset.files import read_json, write_json
from generator.dataset.reader import Dataset
from tests.evaluator.scorers import TorchBag
from tests.evaluator.synthetic import Builder, Row, find, planted, write_run

PAIRS = 3000


def add_pair(builder: Builder, kind: str = "swap", lacking: int | None = None) -> str:
    """An item of two images and their captions: four candidates, shuffled."""
    item_id = builder.add("pairs", kind, [])
    first = int(builder.rng.integers(builder.scenes))
    scenes = (f"s{first:04d}", f"s{(first + 1) % builder.scenes:04d}")
    texts = []
    for _ in range(2):
        text_id = f"t{len(builder.texts):07d}"
        builder.texts.append(
            {"text_id": text_id, "text": text_id, "level": "OA", "n_objects": 2, "n_attributes": 2, "n_relations": 0}
        )
        texts.append(text_id)
    rows: list[Row] = [
        {"item_id": item_id, "scene_id": scenes[i], "text_id": texts[k], "slot": str(k), "truth": i == k, "changed": []}
        for k in range(2)
        for i in range(2)
    ]
    kept = [row for place, row in enumerate(rows) if place != lacking]
    builder.candidates += [kept[i] for i in builder.rng.permutation(len(kept))]
    return item_id


def wins(a: float, b: float) -> bool:
    return a > b and not tie(a, b)


def tie(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-5 * max(1.0, abs(a), abs(b))


def test_text_image_and_group_are_their_definitions(tmp_path: Path) -> None:
    builder = Builder(0, 200)
    for i in range(PAIRS):
        add_pair(builder, ("swap", "relation")[i % 2])
    root = builder.write(tmp_path / "dataset")
    rng = np.random.default_rng(1)
    folder = write_run(root, tmp_path / "run", lambda n: planted(rng, n), broken=[5, 400])
    results = measure(folder)
    values = {}
    import pyarrow.parquet as pq

    for row in pq.read_table(folder / "scores.parquet").to_pylist():
        values[row["image_id"], row["text_id"]] = row["score"]
    benchmark = Dataset.open(root).benchmark("all")
    rows: dict[str, dict[tuple[int, int], float]] = defaultdict(dict)
    for r in benchmark.candidates.to_pylist():
        caption = int(r["slot"])
        rows[r["item_id"]][caption if r["truth"] else 1 - caption, caption] = values[r["scene_id"], r["text_id"]]
    expected: dict[tuple[str, str, str], list[tuple[bool, bool]]] = defaultdict(list)
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
            expected[metric, item["kind"], item["split"]].append((right, tied))
    assert unscored == 2
    assert sum(r["unscored"] for r in results["rows"] if r["metric"] == "text" and r["unit"] == "share") == 2
    assert len(expected) == 3 * 2 * 4
    for (metric, kind, split), found in expected.items():
        row = find(results, "pairs", split, metric=metric, kind=kind)
        assert row["items"] == len(found)
        assert row["value"] == pytest.approx(statistics.fmean(right for right, _ in found), abs=2e-6)
        assert row["ties"] == sum(tied for _, tied in found)
        assert row["chance"] == pytest.approx({"text": 1 / 4, "image": 1 / 4, "group": 1 / 6}[metric], abs=1e-6)
    shown = measure_protocols(folder)["pairs"].items
    scene_of = {(r["item_id"], r["text_id"]): r["scene_id"] for r in benchmark.candidates.to_pylist() if r["truth"]}
    for item_id, scene, text in zip(shown.item_id, shown.scene_id, shown.shown()["true_text"], strict=True):
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
    items = measure_protocols(folder)["pairs"].items
    reasons = dict(zip(items.item_id, items.unscored, strict=True))
    first, *halves, last = names
    assert (reasons[first], reasons[last]) == ("", TRUNCATED)
    assert {reasons[name] for name in halves} == {INCOMPLETE}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items of systematicity and productivity over many scenes, some with the same captions."""
    builder = Builder(0, 400)
    for i in range(700):
        builder.add("systematicity", "atom", [("c", True, None), *[("n", False, "atom")] * 4])
        builder.add("productivity", "swap", [("c", True, None), ("n", False, None)], counts=(2, 2, i % 2))
    captions = [row for row in builder.candidates if row["slot"] == "c"]
    for row, other in zip(captions[:100:2], captions[2:102:2], strict=True):
        row["text_id"] = other["text_id"]
    return builder.write(tmp_path_factory.mktemp("raw") / "dataset")


@pytest.mark.parametrize("protocol", raw.PROTOCOLS)
def test_folds_are_equal_distinct_and_within_a_split(many: Path, protocol: str) -> None:
    benchmark = Dataset.open(many).benchmark("all")
    folds = raw.folds(benchmark, protocol)
    assert folds == sorted(folds, key=lambda f: folds.index(f))
    split = {r["item_id"]: r["split"] for r in benchmark.items_of(protocol).to_pylist()}
    atoms = {r["text_id"]: r["n_objects"] + r["n_attributes"] + r["n_relations"] for r in benchmark.texts.to_pylist()}
    true = defaultdict(set)
    for r in benchmark.candidates.to_pylist():
        if r["item_id"] in split and r["truth"]:
            true[split[r["item_id"]], r["scene_id"]].add(r["text_id"])
    groups = defaultdict(list)
    for fold in folds:
        assert len(set(fold.images)) == len(set(fold.texts)) == len(fold.images) == len(folds[0].images)
        assert all(text in true[fold.split, image] for image, text in zip(fold.images, fold.texts, strict=True))
        if protocol == "productivity":
            assert {atoms[text] for text in fold.texts} == {fold.n}
        groups[fold.split, fold.n].append(fold)
    assert {s for s, _ in groups} == {"seen", "partial", "unseen"}
    assert len({fold.name for fold in folds}) == len(folds)
    for members in groups.values():
        assert 1 <= len(members) <= raw.MOST
        assert len({image for fold in members for image in fold.images}) == sum(len(f.images) for f in members)
    assert min(len(members) for members in groups.values()) == 1


@pytest.mark.parametrize("protocol", raw.PROTOCOLS)
def test_raw_retrieval_is_its_definition(many: Path, tmp_path: Path, protocol: str) -> None:
    rng = np.random.default_rng(4)
    folder = write_run(many, tmp_path / "run", lambda n: rng.normal(size=n))
    folds = raw.folds(Dataset.open(many).benchmark("all"), protocol)
    (folder / "pools").mkdir()
    scores = {}
    for fold in folds:
        n = len(fold.images)
        matrix = planted(rng, n * n).reshape(n, n) + np.eye(n, dtype=np.float32) * rng.choice([0, 0.2, 200.0], (n, 1))
        scores[fold.name] = matrix.astype(np.float32)
    broken, blurred = folds[0], folds[1]
    scores[broken.name][0, 1] = np.nan
    for name, matrix in scores.items():
        np.save(folder / "pools" / f"{name}.npy", matrix)
    indistinct = {blurred.texts[0]: blurred.texts[1]}
    record = read_json(folder / "run.json") | {"raw_retrieval": [protocol], "indistinct_texts": indistinct}
    write_json(folder / "run.json", record)
    results = measure(folder)
    for metric, turned in zip(raw.METRICS, (False, True), strict=True):
        for split, n in {(fold.split, fold.n) for fold in folds}:
            members = [fold for fold in folds if (fold.split, fold.n) == (split, n)]
            means, right, ties, unscored = [], [], 0, 0
            for fold in members:
                matrix = (scores[fold.name].T if turned else scores[fold.name]).astype(float)
                found = []
                for i, row in enumerate(matrix):
                    others = [float(s) for j, s in enumerate(row) if j != i]
                    if np.isnan(row).any() or (fold is blurred and i < 2):
                        unscored += 1
                        continue
                    best = max(others)
                    found.append(wins(float(row[i]), best))
                    ties += tie(float(row[i]), best)
                means.append(statistics.fmean(found))
                right += found
            row = find(results, protocol, split, metric=metric, n=n, kind="raw")
            assert row["value"] == pytest.approx(statistics.fmean(right), abs=2e-6)
            assert (row["items"], row["ties"], row["unscored"]) == (len(right), ties, unscored)
            assert row["chance"] == pytest.approx(1 / len(folds[0].images), abs=1e-6)
            assert row["average"] == raw.MACRO
            if len(members) > 1:
                assert row["sd"] == pytest.approx(statistics.stdev(means), abs=2e-6)
            else:
                assert row["sd"] is None


def test_raw_retrieval_that_costs_too_much_is_left_out_and_named(many: Path) -> None:
    benchmark = Dataset.open(many).benchmark("all")
    needs = collect_needs(benchmark, raw.PROTOCOLS)
    assert needs.raw == list(raw.PROTOCOLS)
    cells = sum(len(i) * len(t) for name, (i, t) in needs.pools.items() if name.startswith("raw-systematicity"))
    fewer = within_limit(needs, benchmark, LIMIT // cells + 1)
    assert "systematicity" in fewer.left_out
    assert not any(name.startswith("raw-systematicity") for name in fewer.pools)
    assert within_limit(needs, benchmark, 1).left_out == ()


@pytest.mark.parametrize("precision", ["auto", "float32", "bfloat16"])
@pytest.mark.parametrize("batch", [1, 7, 500])
def test_a_bag_of_words_by_torch_ties_on_every_swap_in_every_precision(
    drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str, batch: int
) -> None:
    import torch

    model = TorchBag()
    monkeypatch.setattr("evaluator.run.load_model", lambda spec, device: model)
    folder, results = run(Request(drawn, None, "x:y", ("binary",), tmp_path / "run", batch, "cpu", precision))
    assert results is not None
    for split, items in (("val", 8), ("seen", 24), ("partial", 24), ("unseen", 24)):
        row = find(results, "binary", split)
        assert (row["items"], row["ties"], row["value"]) == (items, items, 0)
    shown: dict[str, Any] = measure_protocols(folder)["binary"].items.shown()
    assert (shown["true"] != shown["false"]).any()  # the last bits differ
    half = precision == "bfloat16"
    assert model.dtypes == {("text", torch.float32), ("image", torch.bfloat16 if half else torch.float32)}
    record = read_json(folder / "run.json")
    assert record["precision"] == ("bfloat16" if half else "float32")
    caches = {path.name for path in (tmp_path / "cache" / "jackalope" / "embeddings").iterdir()}
    assert caches == ({"torch-bag.sqlite", "torch-bag-bfloat16.sqlite"} if half else {"torch-bag.sqlite"})
