"""The stand-in for CLIP: it sees every split, and its texts state neither relations nor denials."""

from pathlib import Path

from evaluator.contamination import CONTAMINATED, training_of
from evaluator.models.registry import load_model
from evaluator.training.pretrain import pretrain, whole_source
from evaluator.training.recipe import Recipe
from generator.dataset.reader import Benchmark, Dataset, World
from tests.evaluator.conftest import build_dataset


def test_all_images_are_shown_with_their_plain_texts(world: World, benchmark: Benchmark) -> None:
    source = whole_source([(world, benchmark)])
    assert source.data.scenes == sorted(row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"])
    objects = {row["scene_id"]: row["objects"] for row in world.scenes.to_pylist()}
    for i, scene in enumerate(source.data.scenes):
        texts = [source.data.texts[row] for row in source.data.captions[i] if row >= 0]
        assert texts
        for text in texts:
            assert not {"not", "no", "left", "right", "behind", "front"} & set(text.split())
        assert any(all(thing["category"] in text for thing in objects[scene]) for text in texts)
    assert (source.data.negatives == -1).all()
    assert source.data.mirrored


def test_a_pretrained_model_is_contaminated_for_what_it_has_seen(
    world: World, benchmark: Benchmark, tmp_path: Path, little: None
) -> None:
    record = pretrain([(world, benchmark)], Recipe(epochs=2, batch=34), tmp_path / "model", "cpu")
    assert record["method"] == "pretrain"
    assert record["losses"][1] < record["losses"][0]
    assert record["images"] == 136
    model = load_model(f"jackalope:{tmp_path / 'model'}", "cpu")
    unseen = [row["scene_id"] for row in benchmark.splits.to_pylist() if row["split"] == "unseen"]
    found = training_of(model, world, benchmark, unseen)
    assert found["status"] == CONTAMINATED
    assert {each["what"]: each["n"] for each in found["overlaps"]} == {
        "held-out bindings": 9, "scored images": len(unseen),
    }  # fmt: skip


def test_several_worlds_are_shown_together(world: World, benchmark: Benchmark, tmp_path: Path) -> None:
    other = Dataset.open(
        build_dataset(tmp_path / "other", {"train": 12, "val": 2, "seen": 2, "partial": 2, "unseen": 2}, 8)
    )
    both = whole_source([(world, benchmark), (other.world, other.benchmark())])
    one = whole_source([(world, benchmark)])
    assert len(both.data) == len(one.data) + 20
    assert both.record["world"] == f"{world.digest}+{other.world.digest}"
    shown, alone = both.exposure(both.data), one.exposure(one.data)
    assert shown is not None
    assert alone is not None
    assert alone.scenes < shown.scenes
