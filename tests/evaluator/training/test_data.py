"""What is read for training: the train split, and nothing that is held out."""

import shutil
from pathlib import Path

import open_clip
import pytest

from evaluator.training.data import TrainingSet, default_kinds, read_training_texts
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
    plain = {row["item_id"] for row in benchmark.items_of("train").to_pylist() if row["kind"] == "plain"}
    rows = [row for row in benchmark.candidates.to_pylist() if row["item_id"] in plain]
    assert len(data.images) == len(scenes) == 96
    assert data.images.shape == (96, 3, 64, 64)
    assert data.captions.shape == (96, 2)
    assert data.negatives.shape == (96, 2, 1)
    without = 0
    for i, scene in enumerate(scenes):
        assert data.images[i].permute(1, 2, 0).numpy().tobytes() == world.image(scene).tobytes()
        of = [r for r in rows if r["scene_id"] == scene]
        assert [_words(data, t) for t in data.captions[i]] == [
            benchmark.text_of[r["text_id"]] for r in of if r["slot"] == "c"
        ]
        swap = {r["of"]: benchmark.text_of[r["text_id"]] for r in of if r["kind"] == "swap" and r["slot"] == "n"}
        expected = [swap.get(r["text_id"]) for r in of if r["slot"] == "c"]
        assert [_words(data, t) if t >= 0 else None for t in data.negatives[i, :, 0]] == expected
        without += expected == [None, None]
    assert 0 < without < 96


def test_nothing_that_is_held_out_reaches_training(data: TrainingSet, benchmark: Benchmark) -> None:
    assert benchmark.holdout is not None
    held_out = [f"{value} {thing}" for value, thing in benchmark.holdout["bindings"]]
    texts = [_words(data, row) for row in range(len(data.tokens))]
    assert len(texts) == len(set(texts))
    assert not [text for text in texts if any(binding in text for binding in held_out)]
    assert sorted({*data.true.ravel(), *data.negatives.ravel()} - {-1}) == list(range(len(texts)))


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
        read_training_texts(opened.benchmark(), ("plain",), ())


KINDS = ("plain", "relations", "graded", "synonyms")


@pytest.mark.parametrize("kinds", [("relations",), ("graded", "synonyms"), KINDS])
@pytest.mark.parametrize("positives", [False, True])
def test_captions_of_any_kinds_have_their_own_negatives_and_positives(
    benchmark: Benchmark, kinds: tuple[str, ...], positives: bool
) -> None:
    texts = read_training_texts(benchmark, kinds, ("replace", "neg"), positives)
    kind_of = {row["item_id"]: row["kind"] for row in benchmark.items_of("train").to_pylist()}
    rows = [row for row in benchmark.candidates.to_pylist() if kind_of.get(row["item_id"]) in kinds]
    expected: dict[str, dict[str, set[str]]] = {}
    for row in rows:
        if row["slot"] == "c" or (positives and row["slot"] == "p"):
            expected.setdefault(row["scene_id"], {}).setdefault(row["text_id"], set())
    for row in rows:
        if row["slot"] == "n" and row["kind"] in ("replace", "neg"):
            expected[row["scene_id"]][row["of"]].add(row["text_id"])
    for i, scene in enumerate(texts.scenes):
        found = {
            texts.texts[row]: {texts.texts[n] for n in texts.negatives[i, j] if n >= 0}
            for j, row in enumerate(texts.captions[i])
            if row >= 0
        }
        assert found == expected[scene]
        true = {row["text_id"] for row in rows if row["scene_id"] == scene and row["truth"]}
        assert {texts.texts[row] for row in texts.true[i] if row >= 0} == true
    assert (texts.tokens[:, 0] > 0).all()
    assert (texts.tokens == TOKENIZER.eot_token_id).any(1).all()  # no text is cut off


def test_usual_training_is_on_plain_captions(benchmark: Benchmark) -> None:
    assert default_kinds(benchmark) == ("plain",)


def test_kinds_that_there_are_not_are_refused(benchmark: Benchmark) -> None:
    with pytest.raises(
        UserError, match=r"no training texts of the kind grated; it has graded, plain, relations, synonyms\."
    ):
        read_training_texts(benchmark, ("grated",), ())
    with pytest.raises(UserError, match="Unknown kind of training negatives 'flop'; did you mean 'flip'"):
        read_training_texts(benchmark, ("plain",), ("flop",))
