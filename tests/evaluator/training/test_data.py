"""What is read for training: the train split, and nothing that is held out."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from evaluator.training.data import TrainingData
from evaluator.training.source import default_kinds, , says_where
from tests.evaluator.training.conftest import read
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset, World
from tests.generator.judge.datasets import Rows, edit


def test_the_training_data_are_the_train_split_and_nothing_else(
    data: TrainingData, world: World, benchmark: Benchmark
) -> None:
    scenes = sorted(row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "train")
    plain = {row["item_id"] for row in benchmark.items_of("train").to_pylist() if row["kind"] == "plain"}
    rows = [row for row in benchmark.candidates.to_pylist() if row["item_id"] in plain]
    assert data.images == [(world, scene) for scene in scenes]
    assert len(data) == len(scenes) == 96
    assert data.captions.shape == (96, 2)
    assert data.negatives.shape == (96, 2, 1)
    assert (data.positives == -1).all()
    without = 0
    for i, scene in enumerate(scenes):
        of = [r for r in rows if r["scene_id"] == scene]
        assert [data.texts[t] for t in data.captions[i]] == [
            benchmark.text_of[r["text_id"]] for r in of if r["slot"] == "c"
        ]
        swap = {r["of"]: benchmark.text_of[r["text_id"]] for r in of if r["kind"] == "swap" and r["slot"] == "n"}
        expected = [swap.get(r["text_id"]) for r in of if r["slot"] == "c"]
        assert [data.texts[t] if t >= 0 else None for t in data.negatives[i, :, 0]] == expected
        without += expected == [None, None]
    assert 0 < without < 96


def test_nothing_that_is_held_out_reaches_training(world: World, benchmark: Benchmark) -> None:
    """In no kind of caption, negative or positive."""
    assert benchmark.holdout is not None
    held_out = [f"{value} {thing}" for value, thing in benchmark.holdout["bindings"]]
    data = read(
        world, benchmark, KINDS, ("swap", "replace", "flip", "neg"), ("swap", "replace", "converse")
    )
    assert len(data.texts) == len(set(data.texts)) > 100
    assert not [text for text in data.texts if any(binding in text for binding in held_out)]
    assert set(data.used()) <= set(range(len(data.texts)))


KINDS = ("plain", "relations", "graded", "synonyms")


def _retrain(rows: Rows) -> None:
    next(row for row in rows if row["split"] == "unseen")["protocol"] = "train"


@pytest.mark.parametrize("table", ["items", "splits"])
def test_a_benchmark_that_trains_on_other_splits_is_refused(drawn: Path, tmp_path: Path, table: str) -> None:
    """An item of protocol train in another split, and a training scene that is listed in another split."""
    root = Path(shutil.copytree(drawn, tmp_path / "dataset"))

    def move(rows: Rows) -> None:
        next(row for row in rows if row["split"] == "train")["split"] = "unseen"

    edit(root / "benchmarks" / Dataset.open(root).benchmark().name, table, _retrain if table == "items" else move)
    opened = Dataset.open(root)
    with pytest.raises(UserError, match="trains on scenes outside its split train"):
        read(opened.world, opened.benchmark(), ("plain",))


KINDS = ("plain", "relations", "graded", "synonyms")


@pytest.mark.parametrize("kinds", [("relations",), ("graded", "synonyms"), KINDS])
@pytest.mark.parametrize("as_captions", [False, True])
def test_captions_of_any_kinds_have_their_own_negatives_and_positives(
    world: World, benchmark: Benchmark, kinds: tuple[str, ...], as_captions: bool
) -> None:
    data = read(world, benchmark, kinds, ("replace", "neg"), ("swap", "converse"), "caption" if as_captions else "analogy")
    kind_of = {row["item_id"]: row["kind"] for row in benchmark.items_of("train").to_pylist()}
    rows = [row for row in benchmark.candidates.to_pylist() if kind_of.get(row["item_id"]) in kinds]
    wanted = [row for row in rows if row["slot"] == "p" and row["kind"] in ("swap", "converse")]
    captions = [row for row in rows if row["slot"] == "c"] + (wanted if as_captions else [])
    expected: dict[str, dict[str, tuple[set[str], set[str]]]] = {}
    for row in captions:
        expected.setdefault(row["scene_id"], {}).setdefault(row["text_id"], (set(), set()))
    for row in rows:
        if row["slot"] == "n" and row["kind"] in ("replace", "neg"):
            expected[row["scene_id"]][row["of"]][0].add(row["text_id"])
    for row in () if as_captions else wanted:
        expected[row["scene_id"]][row["of"]][1].add(row["text_id"])
    for i, scene in enumerate(data.scenes):
        found = {
            data.text_ids[row]: tuple(
                {data.text_ids[n] for n in of[i, j] if n >= 0} for of in (data.negatives, data.positives)
            )
            for j, row in enumerate(data.captions[i])
            if row >= 0
        }
        assert found == expected[scene]
        true = {row["text_id"] for row in rows if row["scene_id"] == scene and row["truth"]}
        assert {data.text_ids[row] for row in data.true[i] if row >= 0} == true
    assert [benchmark.text_of[text] for text in data.text_ids] == data.texts


def test_images_are_mirrored_only_where_no_text_states_a_relation(world: World, benchmark: Benchmark) -> None:
    assert read(world, benchmark, ("plain",), ("swap", "replace"), ("swap",)).mirrored
    assert not read(world, benchmark, ("relations",)).mirrored
    assert not read(world, benchmark, ("plain", "graded")).mirrored
    forms = benchmark.texts.to_pylist()
    left = next(row["text_id"] for row in forms if "to the left of" in row["text"])
    assert says_where(benchmark, [left])


def test_so_many_images_of_each_class(data: TrainingData) -> None:
    """A class is what the same captions describe; equal seeds draw the same images."""

    def classes(of: TrainingData) -> dict[tuple[int, ...], int]:
        keys = [tuple(sorted(row)) for row in of.captions]
        return {key: keys.count(key) for key in keys}

    assert max(classes(data).values()) > 1
    one, again, other = (data.of_each_class(1, seed) for seed in (0, 0, 1))
    assert classes(one) == dict.fromkeys(classes(data), 1)
    assert one.images == again.images != other.images
    assert data.of_each_class(None, 0) is data
    assert classes(data.of_each_class(2, 0)) == {key: min(2, n) for key, n in classes(data).items()}
    rows = [data.images.index(image) for image in one.images]
    assert np.array_equal(one.negatives, data.negatives[rows])


def test_usual_training_is_on_plain_captions(benchmark: Benchmark) -> None:
    assert default_kinds(benchmark) == ("plain",)


def test_kinds_that_there_are_not_are_refused(world: World, benchmark: Benchmark) -> None:
    with pytest.raises(
        UserError, match=r"no training texts of the kind grated; it has graded, plain, relations, synonyms\."
    ):
        read(world, benchmark, ("grated",))
    with pytest.raises(UserError, match="Unknown kind of training negatives 'flop'; did you mean 'flip'"):
        read(world, benchmark, ("plain",), ("flop",))
    with pytest.raises(UserError, match="Unknown kind of training positives 'swop'; did you mean 'swap'"):
        read(world, benchmark, ("plain",), (), ("swop",))


def test_an_empty_train_split_is_refused(drawn: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(drawn, tmp_path / "dataset"))

    def leave_out(rows: Rows) -> None:
        for row in rows:
            if row["protocol"] == "train":
                row["protocol"] = "binary"

    edit(root / "benchmarks" / Dataset.open(root).benchmark().name, "items", leave_out)
    opened = Dataset.open(root)
    with pytest.raises(UserError, match="has no training items: its train split is empty"):
        read(opened.world, opened.benchmark())
