"""truth.parquet: every pair that a protocol compares is in it, as the generator's own rules decide
it too."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.base.tables import write_table
from generator.dataset.reader import Benchmark, Dataset
from generator.dataset.records import TRUTH
from generator.dataset.truth import RAW_RETRIEVAL, TRUTH_FILE, Truths, read_truths
from generator.describe.request import TextRequest
from generator.judge.verify import verify_dataset
from generator.language.form import Form, Link, Mention
from generator.language.truth import Facts, decide
from generator.scene.scene import Scene
from generator.vocabulary.schema import parse_vocabulary
from tests.generator.designs import BENCHMARK, Design, make
from tests.generator.judge.datasets import edit

CROWD = Design(6, 6, "3x3", objects=(2, 3), scenes=14, request=TextRequest(strict=False))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A verified dataset with items of every protocol."""
    root = make(CROWD, tmp_path_factory.mktemp("pairs") / "dataset")
    assert verify_dataset(root, None)[BENCHMARK]["status"] == "clean"
    return root


def test_every_compared_pair_is_decided_as_the_generator_decides_it(judged: Path) -> None:
    dataset = Dataset.open(judged)
    benchmark = dataset.benchmark(BENCHMARK)
    truths = read_truths(benchmark, dataset.world)
    assert truths is not None
    vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "vocabulary.toml")
    forms = [_form(json.loads(text)) for text in benchmark.texts["form"].to_pylist()]
    scenes = {
        row["scene_id"]: row["scene"]
        for row in dataset.world.scenes.to_pylist()
        if row["status"] == "ok"
    }
    compared = _compared(benchmark)
    assert {scene_id for scene_id, _ in compared} == set(truths.true)
    for scene_id, texts in compared:
        facts, scores = (
            Facts(Scene.from_json(scenes[scene_id]), vocabulary),
            truths.scores(scene_id),
        )
        expected = [
            {True: 1.0, False: 0.0, None: 0.5}[decide(forms[text], facts)] for text in texts
        ]
        np.testing.assert_array_equal(scores[texts], expected)


def test_raw_captions_are_decided_on_other_images_too(judged: Path) -> None:
    """Without them an oracle would call a caption false of every image but its own."""
    dataset = Dataset.open(judged)
    benchmark = dataset.benchmark(BENCHMARK)
    truths = read_truths(benchmark, dataset.world)
    assert truths is not None
    own = {(row["scene_id"], row["text_id"]) for row in benchmark.candidates.to_pylist()}
    text_ids = benchmark.texts["text_id"].to_pylist()
    true = {(scene_id, text_ids[row]) for scene_id, rows in truths.true.items() for row in rows}
    assert true - own


def test_a_file_for_other_digests_does_not_count(judged: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(judged, tmp_path / "dataset"))
    path = root / "benchmarks" / BENCHMARK / TRUTH_FILE
    rows = pq.read_table(path).to_pylist()
    write_table(
        path, rows, TRUTH.with_metadata({"format": "jackalope/1", "benchmark": "0", "world": "0"})
    )
    assert _read(root) is None
    path.unlink()
    assert _read(root) is None


@pytest.mark.parametrize("row", [-1, 10**6])
def test_a_text_that_does_not_exist_is_refused(judged: Path, tmp_path: Path, row: int) -> None:
    root = Path(shutil.copytree(judged, tmp_path / "dataset"))
    path = root / "benchmarks" / BENCHMARK / TRUTH_FILE
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0]["true_texts"] = [row]
    write_table(path, rows, TRUTH.with_metadata(table.schema.metadata))
    with pytest.raises(UserError, match="texts that do not exist"):
        _read(root)


def test_a_scene_that_is_missing_is_named(judged: Path) -> None:
    truths = _read(judged)
    assert truths is not None
    with pytest.raises(UserError, match="scene nowhere is missing"):
        truths.scores("nowhere")


def test_a_faulty_benchmark_keeps_no_truths(judged: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(judged, tmp_path / "dataset"))
    folder = root / "benchmarks" / BENCHMARK

    def exchange(rows: list[dict[str, Any]]) -> None:
        rows[0]["truth"] = not rows[0]["truth"]

    edit(folder, "candidates", exchange)
    assert verify_dataset(root, None)[BENCHMARK]["status"] == "failed"
    assert not (folder / TRUTH_FILE).exists()


def _read(root: Path) -> Truths | None:
    dataset = Dataset.open(root)
    return read_truths(dataset.benchmark(BENCHMARK), dataset.world)


def _compared(benchmark: Benchmark) -> list[tuple[str, list[int]]]:
    """Each scene that is asked about, and the texts that protocols compare with it, from the tables
    alone."""
    items = {
        row["item_id"]: row for row in benchmark.items.to_pylist() if row["protocol"] != "train"
    }
    row_of = {text_id: row for row, text_id in enumerate(benchmark.texts["text_id"].to_pylist())}
    pools: dict[str, set[int]] = {}
    for row in benchmark.pools.to_pylist():
        pools.setdefault(row["pool_id"], set()).add(row_of[row["text_id"]])
    questions = [
        (items[row["item_id"]], row)
        for row in benchmark.candidates.to_pylist()
        if row["item_id"] in items
    ]
    captions: dict[tuple[str, str], set[int]] = {}
    for item, row in questions:
        if item["protocol"] in RAW_RETRIEVAL and row["slot"] == "c" and row["truth"]:
            captions.setdefault((item["protocol"], item["split"]), set()).add(
                row_of[row["text_id"]]
            )
    texts_of: dict[str, set[int]] = {}
    for item, row in questions:
        texts = texts_of.setdefault(row["scene_id"], set())
        texts.add(row_of[row["text_id"]])
        texts |= pools.get(item["pool_id"], set()) | captions.get(
            (item["protocol"], item["split"]), set()
        )
    return [(scene_id, sorted(texts)) for scene_id, texts in texts_of.items()]


def _form(data: dict[str, Any]) -> Form:
    """The form that a JSON of the column `form` states."""
    objects = tuple(
        Mention(
            record["category"],
            tuple(record["attributes"].items()),
            tuple(record.get("without", {}).items()),
            record.get("count", 1),
        )
        for record in data["objects"]
    )
    links = tuple(Link(*link[:4], tuple(link[4:])) for link in data.get("relations", ()))
    return Form(objects, links, data.get("negated", False), data.get("environment"))
