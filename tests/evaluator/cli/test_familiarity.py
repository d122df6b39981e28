"""The command `score familiarity`."""

import json
from pathlib import Path

import pytest

from tests.evaluator.conftest import assert_one_sentence, score_command


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, Path]:
    rows = {
        "0": {
            "filename": "a.jpg",
            "caption": "A red car and a blue bus.",
            "negative_caption": "A blue car and a red bus.",
        }
    }
    (tmp_path / "swap_att.json").write_text(json.dumps(rows))
    (tmp_path / "corpus.txt").write_text("a red car\na blue bus\na small blue car\n")
    return f"sugarcrepe:{tmp_path / 'swap_att.json'}", tmp_path / "corpus.txt"


def test_a_benchmark_is_audited_without_its_images(files: tuple[str, Path], tmp_path: Path) -> None:
    benchmark, corpus = files
    done = score_command("familiarity", benchmark, "--reference", corpus, "--out", tmp_path / "out", "--workers", 1)
    assert done.exit_code == 0
    assert "amb_mixed                 1" in done.stdout
    assert "+100.0 points" in done.stdout
    assert (tmp_path / "out" / "splits" / "amb_mixed.txt").read_text() == "0\n"
    again = score_command("familiarity", benchmark, "--reference", corpus, "--out", tmp_path / "out", "--json")
    summary = json.loads(again.stdout)
    assert summary["bindings"]["positive"]["perfect"] == 1
    assert summary["bindings"]["negative"] == {"perfect": 0, "close": 0.5, "none": 0.5}


def test_mistakes_are_one_sentence(files: tuple[str, Path], tmp_path: Path) -> None:
    benchmark, corpus = files
    assert_one_sentence(score_command("familiarity", str(tmp_path), "--reference", corpus), "NAME:PATH")
    assert_one_sentence(score_command("familiarity", f"aro:{tmp_path / 'gone'}", "--reference", corpus), "There is no")
    (tmp_path / "bad.jsonl").write_text("{}")
    out = tmp_path / "other"
    assert_one_sentence(score_command("familiarity", benchmark, "--reference", tmp_path / "bad.jsonl", "--out", out, "--workers", 1), "line 1")  # fmt: skip
