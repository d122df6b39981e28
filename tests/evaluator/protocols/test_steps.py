"""Ladders through `score run` and `score report`: the oracle is at ceiling and a blind model at
chance at every step, and the half point is where a model's accuracy falls."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from evaluator.protocols.steps import HALF_POINT
from evaluator.report.figures import by_steps
from evaluator.report.questions import answers_of
from evaluator.runs.measure import measure
from generator.judge.verify import verify_dataset
from tests.conftest import once, succeed
from tests.generator.ladders import write_ladder

FACTORS = ("distractors", "interference", "size", "occlusion", "contrast", "caption-length")


@pytest.fixture(scope="session")
def contrast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ladder of contrast with plain images. Not to be changed."""

    def make(root: Path) -> None:
        write_ladder(root, "contrast", steps=6, scenes=40)

    return once(tmp_path_factory, "contrast-ladder", make)


def run(dataset: Path, model: str, out: Path) -> dict[str, Any]:
    """The results of `score run`."""
    succeed("score run", dataset, "--model", model, "--out", out)
    return measure(out)


def accuracies(results: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in results["rows"] if row["metric"] == "accuracy"]


def half_point_of(results: dict[str, Any]) -> dict[str, Any]:
    (row,) = [row for row in results["rows"] if row["metric"] == HALF_POINT]
    return row


@pytest.mark.parametrize("factor", FACTORS)
def test_the_oracle_is_at_ceiling_and_blind_models_at_chance(factor: str, tmp_path: Path) -> None:
    dataset = write_ladder(tmp_path / "ladder", factor, scenes=8).root
    verify_dataset(dataset, None)  # the oracle reads its truths
    oracle = run(dataset, "oracle", tmp_path / "oracle")
    assert [row["value"] for row in accuracies(oracle)] == [1.0] * 4
    assert half_point_of(oracle)["value"] is None
    for model in ("blind:ngram", "blind:length"):
        rows = accuracies(run(dataset, model, tmp_path / model.replace(":", "-")))
        assert len(rows) == 4
        for row in rows:
            # Exactly chance, where a tie counts as half right.
            assert row["value"] + row["ties"] / row["items"] / 2 == pytest.approx(0.5)
            assert row["chance"] == 0.5


def write_reader(path: Path, dataset: Path, accuracy: dict[float, float]) -> str:
    """The spec of a model that is right so often at each magnitude; it knows each image."""
    table = pq.read_table(dataset / "world" / "scenes.parquet")
    scenes = []
    for scene in table["scene"].to_pylist():
        data = json.loads(scene)
        names = [f"{obj['attributes']['color']} {obj['category']}" for obj in data["objects"]]
        scenes.append((names, accuracy[data["rung"][1]]))
    path.write_text(f"""
import random

SCENES = {scenes!r}


class Reader:
    def score(self, image, text):
        red, green, blue = image.getpixel((0, 0))
        number = red + 256 * green
        names, accuracy = SCENES[number]
        is_true = all(name in text for name in names)
        # Of a caption and its foil, which have the same words, equally often wrong.
        is_right = random.Random(f"{{number}} {{sorted(text.split())}}").random() < accuracy
        return float(is_true == is_right)
""")
    return f"python:{path}:Reader"


def test_the_half_point_is_where_accuracy_falls(contrast: Path, tmp_path: Path) -> None:
    accuracy = {1.0: 1.0, 0.5: 1.0, 0.25: 1.0, 0.125: 0.5, 0.0625: 0.5, 0.03125: 0.5}
    results = run(
        contrast, write_reader(tmp_path / "reader.py", contrast, accuracy), tmp_path / "r"
    )
    rows = accuracies(results)
    kinds = [row["kind"] for row in rows]
    assert kinds == [f"contrast {magnitude:g}" for magnitude in accuracy]
    assert [row["value"] for row in rows[:3]] == [1.0] * 3

    row = half_point_of(results)
    assert (row["kind"], row["unit"], row["split"]) == ("contrast", "score", "all")
    assert 0.125 < row["low"] < row["value"] < row["high"] < 0.25
    assert (row["items"], row["unscored"]) == (480, 0)
    # Accuracy is 100% at 0.25; half lies on the line to the next step, over the logarithm.
    after = np.minimum.accumulate([row["value"] for row in rows])[3]
    share = 0.25 / (1 - max(after, np.mean([row["value"] for row in rows[3:]])))
    assert row["value"] == pytest.approx(0.25 * 0.5**share, rel=0.05)

    (figure,) = by_steps([results], "steps")
    (records,) = figure.panels.values()
    assert [record["x"] for record in records] == list(accuracy)
    ((question, sentence, _),) = answers_of(results)
    assert question.name == "steps"
    assert sentence.startswith(f"At contrast {row['value']:.3g} [")


def test_a_curve_that_does_not_cross_half_is_reported_as_such(
    contrast: Path, tmp_path: Path
) -> None:
    magnitudes = [0.5**step for step in range(6)]
    # Python keeps modules by name, so each model has a file of another name.
    for name, accuracy, words in (
        ("good_reader", 0.95, "does not fall to half"),
        ("guessing_reader", 0.5, "below half"),
    ):
        spec = write_reader(tmp_path / f"{name}.py", contrast, dict.fromkeys(magnitudes, accuracy))
        results = run(contrast, spec, tmp_path / str(accuracy))
        row = half_point_of(results)
        assert (row["value"], row["low"] and row["high"]) == (None, None)
        ((_, sentence, _),) = answers_of(results)
        assert words in sentence


def test_the_report_has_the_curve(contrast: Path, tmp_path: Path) -> None:
    accuracy = {0.5**step: 1 - step / 10 for step in range(6)}
    run(contrast, write_reader(tmp_path / "tiring_reader.py", contrast, accuracy), tmp_path / "run")
    page = tmp_path / "page.html"
    done = succeed("score report", tmp_path / "run", "--out", page)
    assert "Where does accuracy fall to half" in done.stdout
    assert "steps-steps" in page.read_text()
