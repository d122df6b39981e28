"""Before and after: the shares are those of `evaluate`, and the base is the model that was trained."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator import Dataset, evaluate
from evaluator.training.finetune import finetune
from evaluator.training.forgetting import measure_forgetting
from evaluator.training.recipe import Recipe
from evaluator.training.scratch import train_scratch
from evaluator.training.source import benchmark_source
from generator.dataset.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator.conftest import Tiny, assert_one_sentence, build_dataset, score_command

RECIPE = Recipe(epochs=2, batch=32, rate=1e-3, decay=0.0, warmup=0.0, negatives="", flip=False, shift=0)


@pytest.fixture
def tuned(world: World, benchmark: Benchmark, tiny: Callable[..., Tiny], tmp_path: Path) -> tuple[str, Path]:
    base = f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"
    finetune(base, benchmark_source(world, benchmark, RECIPE), RECIPE, tmp_path / "tuned", "cpu")
    return base, tmp_path / "tuned"


def test_both_models_are_scored_elsewhere(tuned: tuple[str, Path], tmp_path: Path) -> None:
    base, folder = tuned
    other = Dataset.open(
        build_dataset(tmp_path / "other", {"train": 12, "val": 2, "seen": 6, "partial": 6, "unseen": 6}, 8)
    )
    rows = measure_forgetting(folder, other, ("binary",), None, "cpu")
    for spec, name in ((base, "before"), (f"jackalope:{folder}", "after")):
        found = evaluate(spec, other, protocols="binary", device="cpu", allow_contaminated=True).results["rows"]
        expected = [(row["split"], row["value"], row["items"]) for row in found if row["unit"] == "share"]
        assert [(row["split"], row[name], row["items"]) for row in rows] == expected
    assert any(row["before"] != row["after"] for row in rows)
    again = measure_forgetting(folder, other, ("binary",), None, "cpu")
    assert json.loads((folder / "forgetting.json").read_text())["rows"] == again == rows
    done = score_command("train", "forgetting", folder, tmp_path / "other", "--protocol", "binary", "--device", "cpu")
    assert done.exit_code == 0, done.stderr
    assert f"binary swap seen accuracy: {100 * rows[1]['before']:.1f}% → {100 * rows[1]['after']:.1f}%" in done.stdout


def test_a_base_that_changed_and_a_model_without_one_are_refused(
    tuned: tuple[str, Path], tiny: Callable[..., Tiny], drawn: Path, world: World, benchmark: Benchmark, tmp_path: Path, little: None
) -> None:  # fmt: skip
    _, folder = tuned
    state = {name: each + 1 if each.is_floating_point() else each for name, each in tiny().state.items()}
    Tiny("tiny", tiny().config, state).save(tmp_path / "tiny.pt")
    assert_one_sentence(
        score_command("train", "forgetting", folder, drawn), "has other weights now than when it was trained"
    )
    train_scratch(world, benchmark, Recipe(epochs=1, batch=32), tmp_path / "scratch", "cpu")
    with pytest.raises(UserError, match="so there is nothing to forget"):
        measure_forgetting(tmp_path / "scratch", Dataset.open(drawn), (), None, "cpu")
