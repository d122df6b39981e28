"""`score suite` as a command: from a made suite to results, a table and pages."""

import json
from pathlib import Path

import pytest

from tests.conftest import refuse, run_command, succeed

MODELS = """
[models.dual]
method = "scratch"
train = { epochs = 1, batch = 16 }

[models.length]
spec = "blind:length"

[models.short]
spec = "blind:length"
tracks = ["zero-shot"]
run = { limit = 4 }
"""
# A model that loads, and fails when it is asked.
FAILING = """
def make():
    raise RuntimeError("out of luck")
"""


@pytest.mark.full
@pytest.mark.usefixtures("little")
def test_from_a_suite_to_its_page(suite_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    (tmp_path / "models.toml").write_text(MODELS)
    words = ["score", "suite", suite_folder, "--models", tmp_path / "models.toml"]
    words += ["--device", "cpu", "--out", out]
    done = succeed(*words)
    assert "length is not asked describe: it does not answer in words." in done.stderr
    assert "mini-1, part full, form standard" in done.stdout
    results = json.loads((out / "results.json").read_text())
    assert {name: set(tracks) for name, tracks in results["models"].items()} == {
        "dual": {"bind"},
        "length": {"bind", "zero-shot"},
        "short": {"zero-shot"},
    }
    assert results["restrictions"] == {"short": "at most 4 items of a protocol"}
    assert results["models"]["dual"]["bind"]["seen"]["questions"] == 2
    # The best model of the first track stands first.
    table = (out / "index.md").read_text()
    assert "short: asked at most 4 items of a protocol" in table
    unseen = {
        name: results["models"][name]["bind"]["unseen"]["value"] for name in ("dual", "length")
    }
    first, second = sorted(unseen, key=lambda name: table.index(f"| {name} "))
    assert unseen[first] >= unseen[second]
    assert results["marked"] == {}
    # A model that sees no image does no better on seen combinations than on unseen ones.
    of_length = results["models"]["length"]["bind"]
    assert of_length["gap"]["low"] <= 0 <= of_length["gap"]["high"]
    assert of_length["worlds"]["color-shape"]["verdicts"]

    page = (out / "index.html").read_text()
    for name in ("dual", "length", "color-shape", "pages/bind-color-shape.html"):
        assert name in page
    assert (out / "pages" / "zero-shot-two.html").exists()
    assert "unseen" in (out / "index.csv").read_text()

    # Nothing is run twice, and the results are the same.
    before = (out / "results.json").read_bytes()
    second_run = succeed(*words, "--json")
    assert "Left: 0 trainings of all turns, 0 runs" in second_run.stderr
    assert json.loads(second_run.stdout)["page"] == str(out / "index.html")
    assert (out / "results.json").read_bytes() == before


def test_a_suite_is_found_by_its_name(suite_copy: Path) -> None:
    arguments = ["--model", "blind:length", "--limit", "4", "--dry-run"]
    done = succeed("score", "suite", "mini-1", *arguments, cwd=suite_copy.parent)
    assert "score run" in done.stdout
    assert not (suite_copy.parent / "results-mini-1").exists()


def test_worlds_that_are_not_made_are_named(suite_copy: Path) -> None:
    record = json.loads((suite_copy / "suite.json").read_text())
    del record["worlds"]["describe/two"]
    (suite_copy / "suite.json").write_text(json.dumps(record))
    done = succeed("score", "suite", suite_copy, "--model", "blind:length", "--dry-run")
    assert "Not made, and left out: describe/two." in done.stderr


def test_a_failure_is_named_and_the_other_models_are_shown(
    suite_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    models = ["--model", "length=blind:length"]
    models += ["--model", f"failing=python:{tmp_path / 'failing.py'}:make"]
    done = run_command(
        "score", "suite", suite_folder, *models, "--track", "zero-shot", "--out", tmp_path / "r"
    )
    assert done.returncode in (1, 2)
    assert "out of luck" in done.stderr
    results = json.loads((tmp_path / "r" / "results.json").read_text())
    assert set(results["models"]) == {"length"}
    (left_out,) = [one for one in results["left_out"] if one["model"] == "failing"]
    assert left_out["reason"] == "`score run` failed"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere-9", "--model", "oracle"], "make it with `gen suite nowhere-9`"),
        (["mini-1"], "Expected --model SPEC or --models FILE"),
        (["mini-1", "--model", "oracle", "--track", "bnd"], "Unknown track 'bnd'"),
        (["mini-1", "--model", "a=oracle", "--model", "a=oracle"], "Two models are named 'a'"),
        (["mini-1", "--model", "hf:m", "--track", "bind"], "No model can be asked"),
        (
            ["mini-1", "--model", "a=jackalope:nothing-here"],
            "There is no file or folder 'nothing-here'",
        ),
        (["mini-1", "--model", "oracle", "--part", "tiny"], "is the part full, not tiny"),
    ],
)
def test_mistakes_are_one_sentence(arguments: list[str], sentence: str, suite_copy: Path) -> None:
    refuse(sentence, "score", "suite", *arguments, cwd=suite_copy.parent)
