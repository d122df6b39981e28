"""The questions of a benchmark, for `evaluate`, torch and Hugging Face."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from torch.utils.data import DataLoader

from evaluator import Dataset
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World


def test_a_question_has_its_images_words_and_truth(
    drawn: Path, benchmark: Benchmark, world: World
) -> None:
    dataset = Dataset.open(drawn)
    assert (
        len(dataset)
        == benchmark.items_of("binary").num_rows + benchmark.items_of("retrieval").num_rows
    )
    by_item = {question["item_id"]: question for question in dataset}
    assert len(by_item) == len(dataset)
    candidates = benchmark.candidates.to_pylist()
    expected: dict[str, list[tuple[str, str, bool]]] = {}
    for row in candidates:
        if row["item_id"] in by_item:
            candidate = (row["scene_id"], benchmark.text_of[row["text_id"]], row["truth"])
            expected.setdefault(row["item_id"], []).append(candidate)
    for item, question in by_item.items():
        scenes = [question["scene_ids"][i] for i in question["image_of"]]
        assert (
            list(zip(scenes, question["texts"], question["truth"], strict=True)) == expected[item]
        )
        for name, image in zip(question["scene_ids"], question["images"], strict=True):
            np.testing.assert_array_equal(np.asarray(image), np.asarray(world.image(name)))
    assert dataset[-1]["item_id"] == dataset[len(dataset) - 1]["item_id"]
    with pytest.raises(IndexError):
        dataset[len(dataset)]


def test_protocols_are_chosen_and_train_is_one(drawn: Path, benchmark: Benchmark) -> None:
    train = Dataset.open(drawn, protocols="train")
    assert {question["split"] for question in train} == {"train"}
    assert len(train) == benchmark.items_of("train").num_rows
    assert {question["protocol"] for question in Dataset.open(drawn, protocols=["retrieval"])} == {
        "retrieval"
    }
    with pytest.raises(UserError, match=r"has no protocol 'binery'; did you mean 'binary'\?"):
        Dataset.open(drawn, protocols="binery")
    with pytest.raises(UserError, match="has no benchmark 'other'"):
        Dataset.open(drawn, "other")


def test_a_pool_has_all_texts_that_retrieval_asks(drawn: Path, benchmark: Benchmark) -> None:
    dataset = Dataset.open(drawn, protocols="retrieval")
    pool = dataset.pool(dataset[0]["pool_id"])
    assert len(pool) == benchmark.pools.num_rows
    assert set(dataset[0]["texts"]) < set(pool)
    assert all(dataset[0]["truth"])


def test_a_data_loader_of_torch_reads_it_in_processes_of_its_own(drawn: Path) -> None:
    dataset = Dataset.open(drawn, protocols="binary")
    loader = DataLoader(
        dataset, batch_size=16, num_workers=1, collate_fn=list, multiprocessing_context="fork"
    )
    assert [question["item_id"] for batch in loader for question in batch] == [
        question["item_id"] for question in dataset
    ]
    assert pickle.loads(pickle.dumps(dataset))[3]["texts"] == dataset[3]["texts"]


def test_hugging_face_datasets_have_the_same_questions(drawn: Path) -> None:
    dataset = Dataset.open(drawn, protocols="binary")
    rows = dataset.to_hf()
    assert rows.num_rows == len(dataset)
    for i in (0, 7):
        row, question = rows[i], dataset[i]
        assert {name: row[name] for name in question if name != "images"} == {
            name: value for name, value in question.items() if name != "images"
        }
        np.testing.assert_array_equal(
            np.asarray(row["images"][0].convert("RGB")), np.asarray(question["images"][0])
        )
