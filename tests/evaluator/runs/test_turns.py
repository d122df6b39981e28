"""Turns of a rotation on the command line: a model for each turn, scored on the questions of its
turn."""

import json
import shutil
from pathlib import Path

import pytest

from evaluator.training.methods import Finetune
from evaluator.training.source import corpus_source
from generator.dataset.reader import Dataset
from generator.describe.benchmark import write_benchmarks
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from tests.conftest import once, refuse
from tests.conftest import succeed as run_gen
from tests.evaluator.conftest import score_json, succeed
from tests.generator.designs import family
from tests.generator.unrendered import write_planned

SCENES = {"train": 60, "val": 4, "partial": 6, "unseen": 12}
TRAINING = ("--epochs", "1", "--batch", "16", "--device", "cpu")


@pytest.fixture(scope="module")
def rotation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of two turns over plain images. Not to be changed."""

    def make(root: Path) -> None:
        path = root.with_suffix(".toml")
        path.write_text(family(5, 5), encoding="utf-8")
        prepared = prepare(
            WorldOptions(family=str(path), holdout="turns=2", scenes=SCENES, resolution="64x48")
        )
        write_planned(root, prepared)
        write_benchmarks(root, Dataset.open(root).world, exposed_negatives=False)

    return once(tmp_path_factory, "rotation", make)


@pytest.mark.usefixtures("little")
def test_each_turn_is_trained_and_scored_with_its_own_model(rotation: Path, tmp_path: Path) -> None:
    done = succeed("train", "scratch", rotation, "--turns", *TRAINING, "--out", tmp_path / "models")
    model = f"jackalope:{tmp_path / 'models'}/{{turn}}"
    assert f"--model '{model}'" in done.stderr
    for turn in ("turn0", "turn1"):
        record = json.loads((tmp_path / "models" / turn / "jackalope.json").read_text())
        assert record["name"] == turn
    score_json("run", rotation, "--model", model, "--out", tmp_path / "runs")
    for turn in ("turn0", "turn1"):
        run = json.loads((tmp_path / "runs" / turn / "run.json").read_text())
        assert run["benchmark_name"] == turn
        assert run["model"] == f"jackalope:{tmp_path / 'models' / turn}"
    # A turn's training has none of what it holds out, so no run is contaminated.
    results = json.loads((tmp_path / "runs/turn0/results.json").read_text())
    assert results["training"]["status"] == "clean"


@pytest.mark.usefixtures("little")
def test_finished_turns_are_not_trained_again(rotation: Path, tmp_path: Path) -> None:
    options = (*TRAINING, "--out", tmp_path / "models")
    first = score_json("train", "scratch", rotation, "--turns", *options)
    assert set(first["losses"]) == {"turn0", "turn1"}
    assert score_json("train", "scratch", rotation, "--turns", *options) == first


def test_turn_names_are_in_order_and_must_be_complete(rotation: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(rotation, tmp_path / "copy"))
    assert Dataset.open(copy).turn_names() == ["turn0", "turn1"]
    # Texts of a turn that are written later do not make the turn ambiguous.
    run_gen("gen describe", copy, "--benchmark", "turn0", "--protocol", "binary", "--name", "again")
    assert Dataset.open(copy).turn_names() == ["turn0", "turn1"]
    shutil.rmtree(copy / "benchmarks/turn0")
    shutil.rmtree(copy / "benchmarks/again")
    refuse("has no benchmark of turn 0", "gen export jsonl", copy, "--out", tmp_path / "lists")


def test_training_lists_share_their_images_and_are_read_by_training(
    rotation: Path, tmp_path: Path
) -> None:
    out = tmp_path / "lists"
    run_gen("gen export jsonl", rotation, "--out", out)
    dataset = Dataset.open(rotation)
    images = set()
    for turn in ("turn0", "turn1"):
        lines = [json.loads(line) for line in (out / f"{turn}.jsonl").read_text().splitlines()]
        # `score train` reads the list as a corpus.
        corpus = corpus_source(out / f"{turn}.jsonl", Finetune())
        assert len(corpus.data) == len({line["image"] for line in lines})
        splits = dataset.benchmark(turn).splits.to_pylist()
        training = {row["scene_id"] for row in splits if row["split"] == "train"}
        assert {Path(line["image"]).stem for line in lines} == training
        images |= {line["image"] for line in lines}
    assert {f"images/{path.name}" for path in (out / "images").iterdir()} == images


@pytest.mark.usefixtures("little")
@pytest.mark.full
def test_doses_are_trained_scored_and_not_taken_for_contamination(tmp_path: Path) -> None:
    root = tmp_path / "world"
    (tmp_path / "family.toml").write_text(family(6, 6), encoding="utf-8")
    scenes = {"train": 270, "val": 3, "partial": 9, "unseen": 18}
    write_planned(
        root,
        prepare(
            WorldOptions(
                family=str(tmp_path / "family.toml"),
                holdout="turns=3",
                scenes=scenes,
                resolution="64x48",
            )
        ),
    )
    write_benchmarks(root, Dataset.open(root).world, exposed_negatives=False)
    run_gen("gen split", root, "--holdout", "turns=3", "--dose", "0,1")
    models, runs = tmp_path / "models", tmp_path / "runs"
    pattern = "{turn}-dose"
    succeed("train", "scratch", root, "--turns", "--benchmark", pattern, *TRAINING, "--out", models)
    model = f"jackalope:{models}/{{turn}}"
    score_json("run", root, "--benchmark", pattern, "--model", model, "--out", runs)
    results = json.loads((runs / "turn1-dose/results.json").read_text())
    assert results["training"]["status"] == "clean"
    assert {"seen", "unseen", "dose1"} <= {row["split"] for row in results["rows"]}
