"""What is read for training: the train split, nothing that is held out, and what each step draws of
it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.training import data as prepared
from evaluator.training.data import Facts, PreparedImages, Steps, TrainingData
from evaluator.training.recipe import Recipe
from evaluator.training.source import benchmark_source, default_kinds, describe
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset, World
from tests.evaluator.conftest import write_certificate
from tests.evaluator.training.conftest import KINDS, read, toy_data
from tests.generator.judge.datasets import Rows, edit


def _ask_unseen(rows: Rows) -> None:
    next(row for row in rows if row["split"] == "unseen")["protocol"] = "train"


def _move_scene(rows: Rows) -> None:
    next(row for row in rows if row["split"] == "train")["split"] = "unseen"


def _leave_out(rows: Rows) -> None:
    for row in rows:
        if row["protocol"] == "train":
            row["protocol"] = "binary"


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("items", _ask_unseen, "trains on scenes outside its split train"),
        ("splits", _move_scene, "trains on scenes outside its split train"),
        ("items", _leave_out, "has no training items: its train split is empty"),
    ],
)
def test_a_benchmark_without_a_train_split_of_its_own_is_refused(
    drawn_copy: Path, table: str, change: Callable[[Rows], None], message: str
) -> None:
    """An item of protocol train in another split, a training scene that is listed in another one,
    and no items."""
    edit(drawn_copy / "benchmarks" / Dataset.open(drawn_copy).benchmark().name, table, change)
    opened = Dataset.open(drawn_copy)
    with pytest.raises(UserError, match=message):
        read(opened.world, opened.benchmark())


@pytest.mark.parametrize(
    ("kinds", "negatives", "positives", "loss"),
    [
        (("plain",), ("swap",), (), "analogy"),
        (("graded", "synonyms"), ("replace", "neg"), ("swap", "converse"), "analogy"),
        (KINDS, ("replace", "neg"), ("swap", "converse"), "caption"),
    ],
)
def test_the_training_data_are_the_train_split_with_the_texts_that_are_asked_for(
    world: World, benchmark: Benchmark, kinds: Any, negatives: Any, positives: Any, loss: Any
) -> None:
    """Each image has its own captions, and each caption its own negatives and positives."""
    data = read(world, benchmark, kinds, negatives, positives, loss)
    train = sorted(
        row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "train"
    )
    assert data.images == [(world, scene) for scene in train]
    assert len(data) == 96
    kind_of = {row["item_id"]: row["kind"] for row in benchmark.items_of("train").to_pylist()}
    rows = [row for row in benchmark.candidates.to_pylist() if kind_of.get(row["item_id"]) in kinds]
    positive_rows = [row for row in rows if row["slot"] == "p" and row["kind"] in positives]
    captions = [row for row in rows if row["slot"] == "c"] + (
        positive_rows if loss == "caption" else []
    )
    expected: dict[str, dict[str, tuple[set[str], set[str]]]] = {}
    for row in captions:
        expected.setdefault(row["scene_id"], {}).setdefault(row["text_id"], (set(), set()))
    for row in rows:
        if row["slot"] == "n" and row["kind"] in negatives:
            expected[row["scene_id"]][row["of"]][0].add(row["text_id"])
    for row in () if loss == "caption" else positive_rows:
        expected[row["scene_id"]][row["of"]][1].add(row["text_id"])
    for i, scene in enumerate(data.scenes):
        texts_of_caption = {
            data.text_ids[row]: tuple(
                {data.text_ids[n] for n in of[i, j] if n >= 0}
                for of in (data.negatives, data.positives)
            )
            for j, row in enumerate(data.captions[i])
            if row >= 0
        }
        assert texts_of_caption == expected[scene]
        true = {row["text_id"] for row in rows if row["scene_id"] == scene and row["truth"]}
        assert {data.text_ids[row] for row in data.true[i] if row >= 0} == true
    assert [benchmark.text_of[text] for text in data.text_ids] == data.texts


def test_images_are_mirrored_only_where_no_text_states_a_relation(
    world: World, benchmark: Benchmark
) -> None:
    assert read(world, benchmark, ("plain",), ("swap", "replace"), ("swap",)).mirrored
    assert not read(world, benchmark, ("relations",)).mirrored
    assert not read(world, benchmark, ("plain", "graded")).mirrored
    assert default_kinds(benchmark) == ("plain",)


def test_the_longest_texts_that_are_asked_are_known_though_no_image_is_trained_on_them(
    world: World, benchmark: Benchmark
) -> None:
    plain = read(world, benchmark, ("plain",))
    longest = max(benchmark.text_of.values(), key=len)
    assert longest in plain.longest
    assert longest not in plain.texts


def test_so_many_images_of_each_class(data: TrainingData) -> None:
    """A class is what the same captions describe; equal seeds draw the same images."""

    def classes(of: TrainingData) -> dict[tuple[int, ...], int]:
        keys = [tuple(sorted(row)) for row in of.captions]
        return {key: keys.count(key) for key in keys}

    assert max(classes(data).values()) > 1
    one, same_seed, other = (data.of_each_class(1, seed) for seed in (0, 0, 1))
    assert classes(one) == dict.fromkeys(classes(data), 1)
    assert one.images == same_seed.images != other.images
    assert data.of_each_class(None, 0) is data
    assert classes(data.of_each_class(2, 0)) == {key: min(2, n) for key, n in classes(data).items()}
    rows = [data.images.index(image) for image in one.images]
    assert np.array_equal(one.negatives, data.negatives[rows])


def test_kinds_that_there_are_not_are_refused(world: World, benchmark: Benchmark) -> None:
    with pytest.raises(
        UserError,
        match=r"no training texts of the kind grated; it has graded, plain, relations, synonyms\.",
    ):
        read(world, benchmark, ("grated",))
    with pytest.raises(
        UserError, match="Unknown kind of training negatives 'flop'; did you mean 'flip'"
    ):
        read(world, benchmark, ("plain",), ("flop",))
    with pytest.raises(
        UserError, match="Unknown kind of training positives 'swop'; did you mean 'swap'"
    ):
        read(world, benchmark, ("plain",), (), ("swop",))
    with pytest.raises(
        UserError, match="--texts plain has no negatives of the kind neg; it has replace,swap: give"
    ):
        read(world, benchmark, ("plain",), ("swap", "neg"))
    with pytest.raises(
        UserError, match=r"has no positives of the kind converse; it has .*: give --positives"
    ):
        read(world, benchmark, ("plain",), (), ("converse",))
    assert (
        benchmark_source(world, benchmark, Recipe(texts="plain")).data.negatives >= 0
    ).any()  # swaps, no flips


def test_every_image_comes_once_in_an_epoch_and_in_another_order_in_the_next(
    all_kinds: TrainingData,
) -> None:
    steps = Steps(all_kinds, batch=20, epochs=2, seed=0)
    assert (steps.epoch, len(steps)) == (4, 8)
    first, second = (np.concatenate([steps[i].images for i in range(j, j + 4)]) for j in (0, 4))
    assert len(set(first)) == len(set(second)) == 80
    assert first.tolist() != second.tolist()


def test_texts_are_of_their_image_and_all_are_drawn(all_kinds: TrainingData) -> None:
    steps = Steps(all_kinds, batch=96, epochs=40, seed=0)
    counts: Counter[tuple[int, int]] = Counter()
    for i in range(len(steps)):
        step = steps[i]
        for image, caption, negative, positive in zip(
            step.images, step.captions, step.negatives, step.positives, strict=True
        ):
            place = all_kinds.captions[image].tolist().index(caption)
            for text, of in ((negative, all_kinds.negatives), (positive, all_kinds.positives)):
                there = of[image, place]
                assert text in there[there >= 0] if (there >= 0).any() else text == -1
            counts[image, caption] += 1
    captions = {(i, c) for i, row in enumerate(all_kinds.captions) for c in row if c >= 0}
    assert set(counts) == captions


def test_a_step_can_be_asked_alone(all_kinds: TrainingData) -> None:
    whole = Steps(all_kinds, batch=20, epochs=3, seed=7)
    inorder = [whole[i] for i in range(len(whole))]
    alone = Steps(all_kinds, batch=20, epochs=3, seed=7)[9]
    for name in ("images", "captions", "negatives", "positives"):
        assert np.array_equal(getattr(alone, name), getattr(inorder[9], name))
    other = Steps(all_kinds, batch=20, epochs=3, seed=8)[9]
    assert not np.array_equal(other.images, alone.images)


def test_so_many_steps_as_are_asked_for(data: TrainingData) -> None:
    whole, some = (
        Steps(data, batch=40, epochs=3, seed=0),
        Steps(data, batch=40, epochs=1, seed=0, count=5),
    )
    assert (len(whole), len(some)) == (6, 5)
    assert all((some[i].captions == whole[i].captions).all() for i in range(5))
    with pytest.raises(
        UserError, match="has 96 images, fewer than a batch of 97; render more, or choose a smaller"
    ):
        Steps(data, batch=97, epochs=1, seed=0)


def test_a_text_whose_words_are_all_true_is_true_for_a_bag() -> None:
    texts = [
        "a red cube and a blue cone",
        "a blue cone and a red cube",
        "A blue cube, and a red cone.",
        "a red cube",
        "a cyan cone",
    ]
    data = toy_data([0, 3], [[0, 1], [3, -1]], texts=texts)
    rows = np.arange(5)
    assert Facts(data).true(np.array([1, 0]), rows).tolist() == [[0, 0, 0, 1, 0], [1, 1, 0, 0, 0]]
    assert Facts(data, bags=True).true(np.array([1, 0]), rows).tolist() == [
        [0, 0, 0, 1, 0],
        [1, 1, 1, 1, 0],
    ]


@pytest.mark.parametrize(("room", "read"), [(1 << 20, [2, 2]), (0, [2, 4])])
def test_images_are_read_once_where_they_fit(
    data: TrainingData, monkeypatch: pytest.MonkeyPatch, room: int, read: list[int]
) -> None:
    monkeypatch.setattr(prepared, "_CACHE_BYTES", room)
    names: list[str] = []

    class Counted:
        def image(self, name: str) -> Any:
            names.append(name)
            return torch.tensor([float(name)])

    counted = replace(data, images=[(Counted(), name) for name in data.scenes])
    images = PreparedImages(
        counted, lambda image: image * 2, lambda image, place, step: image + 10 * place + step
    )
    for times in read:
        batch = images.batch(np.array([1, 0, 1]), [4, 5, 6], 3)
        assert [image.item() for image in batch] == [
            2 * float(data.scenes[i]) + 10 * place + 3 for i, place in ((1, 4), (0, 5), (1, 6))
        ]
        assert len(names) == times


def _certify(root: Path, status: str) -> Dataset:
    opened = Dataset.open(root)
    benchmark = opened.benchmark()
    write_certificate(
        opened.world, benchmark, status=status, faults={"planted": 1} if status == "failed" else {}
    )
    return opened


def test_a_certificate_that_failed_is_refused_and_others_are_recorded(drawn_copy: Path) -> None:
    opened = _certify(drawn_copy, "as declared")
    message = (
        "as declared: the files were checked; the images were not (by the certificate in the "
        "folder)"
    )
    assert describe(opened.world, opened.benchmark())["certificate"] == message
    opened = _certify(drawn_copy, "failed")
    with pytest.raises(
        UserError, match="is not trained on: its certificate says that it failed; `gen verify"
    ):
        benchmark_source(opened.world, opened.benchmark(), Recipe())
