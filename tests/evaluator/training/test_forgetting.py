"""Before and after: the results are those of `evaluate`, and the base is the model that was trained."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator import Dataset, evaluate
from evaluator.provenance.forgetting import read_forgetting
from evaluator.training.corpus import corpus_source
from evaluator.training.dreambooth import dreambooth
from evaluator.training.finetune import finetune
from evaluator.training.forgetting import measure_forgetting
from evaluator.training.recipe import Recipe
from evaluator.training.scratch import train_scratch
from evaluator.training.source import benchmark_source
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World
from tests.evaluator import diffusers_folders
from tests.evaluator.conftest import Tiny, build_dataset

RECIPE = Recipe(epochs=2, batch=32, rate=1e-3, decay=0.0, warmup=0.0, negatives="", flip=False, shift=0)


@pytest.fixture
def tuned(world: World, benchmark: Benchmark, tiny: Callable[..., Tiny], tmp_path: Path) -> tuple[str, Path]:
    base = f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"
    finetune(base, benchmark_source(world, benchmark, RECIPE), RECIPE, tmp_path / "tuned", "cpu")
    return base, tmp_path / "tuned"


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    scenes = {"train": 12, "val": 2, "seen": 6, "partial": 6, "unseen": 6}
    return Dataset.open(build_dataset(tmp_path_factory.mktemp("other") / "other", scenes, 8))


def test_both_models_are_scored_elsewhere(tuned: tuple[str, Path], other: Dataset) -> None:
    base, folder = tuned
    measured = measure_forgetting(folder, other, ("binary",), None, "cpu")
    for spec, name in ((base, measured["before"]), (f"jackalope:{folder}", measured["after"])):
        found = evaluate(spec, other, protocols="binary", device="cpu", allow_contaminated=True).results
        assert name["rows"] == found["rows"]
        assert name["factors"] == found["factors"]
    values = [[row["value"] for row in each["rows"]] for each in (measured["before"], measured["after"])]
    assert values[0] != values[1]
    assert measure_forgetting(folder, other, ("binary",), None, "cpu") == measured
    assert read_forgetting(folder) == [measured]


def test_a_run_says_what_its_model_forgot(tuned: tuple[str, Path], other: Dataset, drawn: Path) -> None:
    """Results have it, so that tables need no folder of the model."""
    _, folder = tuned
    measured = measure_forgetting(folder, other, ("binary",), 4, "cpu")
    found = evaluate(f"jackalope:{folder}", drawn, protocols="binary", limit=4, device="cpu")
    assert found.results["forgetting"] == [measured]
    assert evaluate("blind:length", drawn, protocols="binary", limit=4).results["forgetting"] == []


def test_a_diffusion_model_is_scored_as_its_base(other: Dataset, tmp_path: Path) -> None:
    base = f"diffusion:{diffusers_folders.stable_diffusion(tmp_path / 'sd')}@fixed,samples=2,loss=l1"
    recipe = Recipe(steps=1, batch=1, negatives="", flip=False, shift=0)
    diffusers_folders.pictures(1)[0].save(tmp_path / "0.png")
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"image": "0.png", "caption": diffusers_folders.TEXTS[0]}))
    dreambooth(base, corpus_source(tmp_path / "corpus.jsonl", recipe), recipe, tmp_path / "tuned", "cpu")
    measured = measure_forgetting(tmp_path / "tuned", other, ("binary",), 2, "cpu")
    assert measured["after"]["model"] == f"jackalope:{tmp_path / 'tuned'}@fixed,samples=2,loss=l1"


def test_a_base_that_changed_and_a_model_without_one_are_refused(
    tuned: tuple[str, Path], tiny: Callable[..., Tiny], other: Dataset, world: World, benchmark: Benchmark, tmp_path: Path, little: None
) -> None:  # fmt: skip
    _, folder = tuned
    state = {name: each + 1 if each.is_floating_point() else each for name, each in tiny().state.items()}
    Tiny("tiny", tiny().config, state).save(tmp_path / "tiny.pt")
    with pytest.raises(UserError, match="has other weights now than when it was trained"):
        measure_forgetting(folder, other)
    recipe = Recipe(epochs=1, batch=32)
    train_scratch(benchmark_source(world, benchmark, recipe), recipe, tmp_path / "scratch", "cpu")
    with pytest.raises(UserError, match="so there is nothing to forget"):
        measure_forgetting(tmp_path / "scratch", other)
