"""`score train forgetting`, and `--forgetting` of a training."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.provenance.forgetting import changes, read_forgetting
from generator.dataset.reader import Dataset
from tests.evaluator.conftest import SHORT_TRAINING, Tiny, assert_one_sentence, build_dataset, score_command


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return build_dataset(tmp_path / "other", {"train": 6, "val": 1, "seen": 4, "partial": 4, "unseen": 4}, 8)


@pytest.fixture
def base(tiny: Callable[..., Tiny], tmp_path: Path) -> str:
    return f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"


@pytest.mark.full
def test_a_training_is_measured_on_every_benchmark_of_another_dataset(
    base: str, drawn: Path, class_lists: Path, tmp_path: Path
) -> None:
    out = tmp_path / "tuned"
    done = score_command(
        "train", "finetune", base, drawn, "--out", out, *SHORT_TRAINING, "--forgetting", class_lists, "--json"
    )
    assert done.exit_code == 0, done.stderr
    measured = read_forgetting(out)
    assert [each["after"]["benchmark"] for each in measured] == Dataset.open(class_lists).benchmark_names()
    assert json.loads(done.stdout)["forgetting"] == changes(measured)
    row = next(row for row in changes(measured) if (row["kind"], row["split"]) == ("single", "id_test"))
    assert (
        f"gzsl-single-b0 gzsl single id_test GZSL: {100 * row['before']:.1f}% → {100 * row['after']:.1f}%"
        in done.stderr
    )


def test_a_training_says_how_to_measure_it(base: str, drawn: Path, other: Path, tmp_path: Path) -> None:
    out = tmp_path / "tuned"
    done = score_command("train", "labclip", base, drawn, "--out", out, *SHORT_TRAINING)
    assert done.exit_code == 0, done.stderr
    assert f"is not measured yet: score train forgetting {out} DATASET" in done.stderr
    done = score_command("train", "forgetting", out, other, "--protocol", "binary", "--device", "cpu")
    assert done.exit_code == 0, done.stderr
    row = next(row for row in changes(read_forgetting(out)) if row["split"] == "seen")
    assert f"binary swap seen accuracy: {100 * row['before']:.1f}% → {100 * row['after']:.1f}%" in done.stdout


def test_a_mistake_is_found_before_the_training(
    base: str, drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("train", "finetune", base, drawn, "--out", tmp_path / "tuned", *SHORT_TRAINING, "--forgetting")
    assert_one_sentence(score_command(*given, f"sugarcrape:{drawn}"), "Unknown benchmark 'sugarcrape'")
    assert_one_sentence(score_command(*given, tmp_path / "nowhere"), "nowhere")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert_one_sentence(
        score_command(*given, drawn), "Several processes train, but one measures: leave --forgetting out"
    )
    assert not (tmp_path / "tuned").exists()
