"""Captions of each split are true of their images, and are the same for a seed."""

from pathlib import Path

import pytest

from evaluator.audits.prompts import choose_prompts
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, Dataset


def test_captions_are_true_of_their_images_and_of_their_split(benchmark: Benchmark) -> None:
    prompts = choose_prompts(benchmark, (), 3, 0)
    assert [prompt.split for prompt in prompts] == [
        split for split in ("train", "seen", "partial", "unseen") for _ in range(3)
    ]
    split_of = dict(zip(*(benchmark.splits[name].to_pylist() for name in ("scene_id", "split")), strict=True))
    true = {
        (row["scene_id"], benchmark.text_of[row["text_id"]]) for row in benchmark.candidates.to_pylist() if row["truth"]
    }
    assert all(
        split_of[prompt.scene_id] == prompt.split and (prompt.scene_id, prompt.text) in true for prompt in prompts
    )
    assert len({prompt.text for prompt in prompts}) == 12
    assert not any(prompt.text.endswith(".") for prompt in prompts)  # relations are not learnt by default
    assert choose_prompts(benchmark, (), 3, 0) == prompts != choose_prompts(benchmark, (), 3, 1)
    assert choose_prompts(benchmark, ("unseen",), 3, 0) == prompts[-3:]
    assert [prompt.split for prompt in choose_prompts(benchmark, ("val", "train"), 1, 0)] == ["val", "train"]


def test_class_lists_have_a_caption_for_each_label(class_lists: Path) -> None:
    lists = Dataset.open(class_lists).benchmark("gzsl-single-b0")
    prompts = choose_prompts(lists, (), 1000, 0)
    assert list(dict.fromkeys(prompt.split for prompt in prompts)) == ["train", "id_test", "ood_test"]
    train, unseen = ({prompt.text for prompt in prompts if prompt.split == split} for split in ("train", "ood_test"))
    assert train
    assert unseen
    assert not train & unseen


def test_a_split_without_captions_is_refused(benchmark: Benchmark) -> None:
    with pytest.raises(UserError, match="has no captions of a split 'unsee'; did you mean 'unseen'"):
        choose_prompts(benchmark, ("unsee",), 1, 0)
