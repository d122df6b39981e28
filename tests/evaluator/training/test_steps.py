"""Batches: every image once in an epoch, and texts of each image alone; drawn by seed and step."""

from collections import Counter

import numpy as np
import pytest

from evaluator.training.data import Steps, TrainingData
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator.training.conftest import read


@pytest.fixture(scope="module")
def all_kinds(world: World, benchmark: Benchmark) -> TrainingData:
    kinds = ("plain", "relations", "graded")
    return read(world, benchmark, kinds, ("swap", "replace", "flip"), ("swap", "replace"))


def test_every_image_comes_once_in_an_epoch_and_in_another_order_in_the_next(all_kinds: TrainingData) -> None:
    steps = Steps(all_kinds, 20, 2, 0)
    assert (steps.epoch, len(steps)) == (4, 8)
    first, second = (np.concatenate([steps[i].images for i in range(j, j + 4)]) for j in (0, 4))
    assert len(set(first)) == len(set(second)) == 80
    assert first.tolist() != second.tolist()


def test_texts_are_of_their_image_and_all_are_drawn(all_kinds: TrainingData) -> None:
    steps = Steps(all_kinds, 96, 40, 0)
    drawn: Counter[tuple[int, int]] = Counter()
    for i in range(len(steps)):
        step = steps[i]
        for image, caption, negative, positive in zip(
            step.images, step.captions, step.negatives, step.positives, strict=True
        ):
            place = all_kinds.captions[image].tolist().index(caption)
            for text, of in ((negative, all_kinds.negatives), (positive, all_kinds.positives)):
                there = of[image, place]
                assert text in there[there >= 0] if (there >= 0).any() else text == -1
            drawn[image, caption] += 1
    captions = {(i, c) for i, row in enumerate(all_kinds.captions) for c in row if c >= 0}
    assert set(drawn) == captions


def test_a_step_can_be_asked_alone(all_kinds: TrainingData) -> None:
    whole = Steps(all_kinds, 20, 3, 7)
    inorder = [whole[i] for i in range(len(whole))]
    alone = Steps(all_kinds, 20, 3, 7)[9]
    for name in ("images", "captions", "negatives", "positives"):
        assert np.array_equal(getattr(alone, name), getattr(inorder[9], name))
    other = Steps(all_kinds, 20, 3, 8)[9]
    assert not np.array_equal(other.images, alone.images)


def test_too_few_images_are_refused(all_kinds: TrainingData) -> None:
    with pytest.raises(
        UserError, match="has 96 images, fewer than a batch of 97; render more, or choose a smaller batch"
    ):
        Steps(all_kinds, 97, 1, 0)


def test_so_many_steps_as_are_asked_for(data: TrainingData) -> None:
    whole, some = Steps(data, 40, 3, 0), Steps(data, 40, 1, 0, 5)
    assert (len(whole), len(some)) == (6, 5)
    assert all((some[i].captions == whole[i].captions).all() for i in range(5))
