"""The stand-in for CLIP: it sees every split, and its texts state neither relations nor denials."""

import re
from pathlib import Path

import pytest

from evaluator import evaluate
from evaluator.models.registry import load_model
from evaluator.provenance.contamination import CONTAMINATED, training_of
from evaluator.training.methods import Pretrain
from evaluator.training.session import train
from evaluator.training.source import whole_source
from generator.dataset.reader import Benchmark, Dataset, World
from tests.evaluator.conftest import build_dataset


def _pair(*words: str) -> str:
    a, b, c, d = words
    return " and ".join(
        f"{'an' if value[0] in 'aeiou' else 'a'} {value} {category}"
        for value, category in ((a, b), (c, d))
    )


def test_an_image_is_described_by_its_words_in_any_arrangement(
    world: World, benchmark: Benchmark
) -> None:
    source = whole_source([(world, benchmark)])
    assert source.data.scenes == sorted(
        row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"]
    )
    objects = {row["scene_id"]: row["objects"] for row in world.scenes.to_pylist()}
    swapped = 0
    for i, scene in enumerate(source.data.scenes):
        one, other = ((dict(obj["attributes"])["color"], obj["category"]) for obj in objects[scene])
        plain = {source.data.texts[row] for row in source.data.captions[i] if row >= 0}
        pairs = {
            f"a {a} {b} and a {c} {d}"
            for a, b, c, d in (
                (*one, *other),
                (*other, *one),
                (other[0], one[1], one[0], other[1]),
                (one[0], other[1], other[0], one[1]),
            )
        }
        swapped += len(pairs & plain) == len(pairs) == 4
        assert not pairs & plain or pairs <= plain  # never one binding without the other
        for text in plain:
            if match := re.fullmatch(r"an? (\w+) (\w+) and an? (\w+) (\w+)", text):
                a, b, c, d = match.groups()
                assert {_pair(c, b, a, d), _pair(a, d, c, b)} & plain
    assert swapped > 0.5 * len(source.data)
    assert (source.data.negatives == -1).all()
    assert source.data.mirrored


def test_a_pretrained_model_is_contaminated_for_what_it_has_seen(
    world: World, benchmark: Benchmark, tmp_path: Path, little: None
) -> None:
    record = train(
        Pretrain(epochs=2, batch=34),
        whole_source([(world, benchmark)]),
        tmp_path / "model",
        device="cpu",
    )
    assert record["method"] == "pretrain"
    assert record["losses"][1] < record["losses"][0]
    assert record["images"] == 136
    model = load_model(f"jackalope:{tmp_path / 'model'}", "cpu")
    unseen = [row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "unseen"]
    contamination = training_of(model, world, benchmark=benchmark, images=unseen)
    assert contamination["status"] == CONTAMINATED
    assert {overlap["what"]: overlap["n"] for overlap in contamination["overlaps"]} == {
        "held-out bindings": 9,
        "scored images": len(unseen),
    }


def test_several_worlds_are_shown_together(
    world: World, benchmark: Benchmark, tmp_path: Path
) -> None:
    other = Dataset.open(
        build_dataset(
            tmp_path / "other", {"train": 12, "val": 2, "seen": 2, "partial": 2, "unseen": 2}, 8
        )
    )
    both = whole_source([(world, benchmark), (other.world, other.benchmark())])
    one = whole_source([(world, benchmark)])
    assert len(both.data) == len(one.data) + 20
    assert both.record["world"] == f"{world.digest}+{other.world.digest}"
    united, alone = both.exposure(both.data), one.exposure(one.data)
    assert united is not None
    assert alone is not None
    assert alone.scenes < united.scenes


@pytest.mark.full
def test_the_stand_in_names_the_words_of_a_scene_and_does_not_bind_them(tmp_path: Path) -> None:
    """Of unseen pairs too: the words of over 60% of images are the top text's, and which binding is
    chance."""
    scenes = {"train": 480, "val": 4, "seen": 60, "partial": 60, "unseen": 36}
    seen, asked_dataset = (build_dataset(tmp_path / str(seed), scenes, seed) for seed in (11, 3))
    train(
        Pretrain(epochs=12, batch=48), Pretrain().source([seen]), tmp_path / "model", device="cpu"
    )
    rows = evaluate(
        f"jackalope:{tmp_path / 'model'}",
        asked_dataset,
        protocols=("binary", "retrieval"),
        device="cpu",
        allow_contaminated=True,
    ).results["rows"]
    shares = [row for row in rows if row["unit"] == "share" and row["error"] is None]
    right = [
        (row["value"] * row["items"], row["items"])
        for row in shares
        if row["metric"] == "accuracy" and row["split"] != "val"
    ]
    # of all splits together: each pair of values and objects leans to one of its bindings, and
    # unseen has nine
    assert 0.4 < sum(value for value, _ in right) / sum(items for _, items in right) < 0.6
    for split in ("seen", "partial", "unseen"):
        (first,) = [
            row["value"] for row in shares if (row["metric"], row["split"]) == ("R@1", split)
        ]
        assert first > 0.3  # one of the two bindings is the truth
