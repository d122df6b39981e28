"""What is read for training: the train split, and nothing that is held out."""

import shutil
from pathlib import Path

import open_clip
import pytest

from evaluator.training.data import TrainingSet, read_training_set
from generator.dataset.errors import UserError
from generator.dataset.reader import Benchmark, Dataset, World
from tests.generator.judge.datasets import Rows, edit

TOKENIZER = open_clip.SimpleTokenizer()


def _words(data: TrainingSet, row: int) -> str:
    text: str = TOKENIZER.decode(data.tokens[row].tolist())
    return text.replace("<start_of_text>", "").partition("<end_of_text>")[0].strip()


def test_the_training_set_is_the_train_split_and_nothing_else(
    data: TrainingSet, world: World, benchmark: Benchmark
) -> None:
    scenes = sorted(row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "train")
    rows = benchmark.candidates.to_pylist()
    assert len(data.images) == len(scenes) == 96
    assert data.images.shape == (96, 3, 64, 64)
    assert data.captions.shape == data.negatives.shape == (96, 2)
    without = 0
    for i, scene in enumerate(scenes):
        assert data.images[i].permute(1, 2, 0).numpy().tobytes() == world.image(scene).tobytes()
        of = [r for r in rows if r["scene_id"] == scene]
        assert [_words(data, t) for t in data.captions[i]] == [
            benchmark.text_of[r["text_id"]] for r in of if r["truth"]
        ]
        swap = {r["of"]: benchmark.text_of[r["text_id"]] for r in of if not r["truth"]}
        expected = [swap.get(r["text_id"]) for r in of if r["truth"]]
        assert [_words(data, t) if t >= 0 else None for t in data.negatives[i]] == expected
        without += expected == [None, None]
    assert 0 < without < 96


def test_nothing_that_is_held_out_reaches_training(data: TrainingSet, benchmark: Benchmark) -> None:
    assert benchmark.holdout is not None
    held_out = [f"{value} {thing}" for value, thing in benchmark.holdout["bindings"]]
    texts = [_words(data, row) for row in range(len(data.tokens))]
    assert len(texts) == len(set(texts))
    assert not [text for text in texts if any(binding in text for binding in held_out)]
    assert sorted({*data.captions.ravel(), *data.negatives.ravel()} - {-1}) == list(range(len(texts)))


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
        read_training_set(opened.world, opened.benchmark(), 64, 16)
