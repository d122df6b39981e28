"""`score run`: results on stdout, talk on stderr, mistakes in one sentence."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.runs.folder import folder_name
from tests.conftest import run_process
from tests.evaluator.benchmarks.conftest import write_vl_checklist
from tests.evaluator.conftest import Tiny, assert_one_sentence, score_command, score_json, succeed
from tests.test_wheel import MODEL

pytestmark = pytest.mark.usefixtures("bags")


@pytest.mark.full
def test_a_run_from_the_shell(tiny: Callable[..., Tiny], drawn: Path, tmp_path: Path) -> None:
    """The whole way as processes: results on stdout, talk on stderr."""
    from tests.evaluator.tiny_models import open_clip_folder

    model, folder = open_clip_folder(tiny(), tmp_path / "model"), tmp_path / "run"
    arguments = [
        "score",
        "run",
        drawn,
        "--model",
        f"open_clip:local-dir:{model}",
        "--out",
        folder,
        "--device",
        "cpu",
    ]
    done = run_process(*arguments, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert set(printed.pop("verdict")) == {"kind", "sentence"}
    assert printed == json.loads((folder / "results.json").read_text())
    assert "40 images and 900 texts to encode" in done.stderr
    assert "GELU" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.full
def test_a_run_as_a_job_of_slurm_prints_the_same(drawn: Path, slurm: Path, tmp_path: Path) -> None:
    (tmp_path / "my_model.py").write_text(MODEL, encoding="utf-8")
    arguments = [
        "score",
        "run",
        drawn,
        "--model",
        "python:my_model.py:Model",
        "--device",
        "cpu",
        "--json",
    ]
    here = run_process(*arguments, "--out", "here", cwd=tmp_path)
    assert here.returncode == 0, here.stderr
    there = run_process(
        *arguments, "--out", "there", "--farm", "slurm", "--gpus", "1", "--time", "30", cwd=tmp_path
    )
    assert there.returncode == 0, there.stderr
    one, other = (json.loads(done.stdout)["rows"] for done in (here, there))
    assert other == one
    (script,) = slurm.glob("script-*")
    assert "#SBATCH --gpus-per-node=1" in script.read_text()
    assert "#SBATCH --time=30" in script.read_text()
    wrong = run_process(
        *arguments[:3], "--model", "jackalope:/nowhere", "--farm", "slurm", cwd=tmp_path
    )
    assert wrong.returncode == 2
    assert "The job failed (Error: There is no file or folder '/nowhere'" in wrong.stderr


@pytest.mark.full
def test_a_mistake_in_a_process_is_one_sentence_and_2(drawn: Path, tmp_path: Path) -> None:
    done = run_process("score", "run", drawn, "--model", "jackalope:/nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    error = (
        "Error: There is no file or folder '/nowhere', which jackalope:/nowhere names; give one "
        "that exists.\n"
    )
    assert done.stderr == error
    assert list(tmp_path.iterdir()) == [tmp_path / "cache"] or list(tmp_path.iterdir()) == []


def test_results_are_printed_for_people_and_for_machines(drawn: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    people = succeed("run", drawn, "--model", f"bag:sharp@{drawn}", "--out", folder)
    for part in (
        "metric",
        "seen",
        "partial",
        "unseen",
        "100.0",
        "chance %",
        "(dataset not verified)",
    ):
        assert part in people.stdout
    assert f"Scores and results are in {folder}. Next: score report {folder}" in people.stderr
    results = json.loads((folder / "results.json").read_text())
    for command in (
        ["run", drawn, "--model", f"bag:sharp@{drawn}", "--out", folder],
        ["measure", folder],
    ):
        printed = score_json(*command)
        assert set(printed.pop("verdict")) == {"kind", "sentence"}
        assert printed == results
    report = score_json("report", folder)
    assert (report["report"], report["results"]) == (str(folder.parent / "report.html"), [results])
    both = score_json("report", folder, folder, "--out", tmp_path / "page.html")
    assert (both["report"], both["results"]) == (str(tmp_path / "page.html"), [results, results])
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!")
    assert succeed("report", folder).stdout.splitlines()[-1] == report["report"]
    assert [(entry["model"], entry["runs"]) for entry in report["pooled"]] == [
        (results["model"], 1)
    ]


def test_the_level_of_a_run_is_kept_when_it_is_measured_again(drawn: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    arguments = ("run", drawn, "--model", f"bag:sharp@{drawn}", "--out", folder)
    done = score_command(*arguments, "--level", "0.9")
    assert "90% intervals" in done.stdout
    assert "95%" not in done.stdout + (folder / "tables" / "binary.tex").read_text()
    remeasured = score_json("measure", folder)
    assert remeasured["rules"]["level"] == 0.9
    other = score_json("measure", folder, "--level", "0.99")
    widths = [
        [row["high"] - row["low"] for row in results["rows"] if row["low"] is not None]
        for results in (remeasured, other)
    ]
    # An interval of 0..1, as two clusters give, has no wider one.
    assert all(narrow < wide or narrow == wide == 1 for narrow, wide in zip(*widths, strict=True))
    assert sum(narrow < wide for narrow, wide in zip(*widths, strict=True)) > 10
    assert "99% intervals" in score_command("report", folder).stdout


def test_a_run_has_a_folder_of_its_own_by_default(
    drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.symlink(drawn, tmp_path / "w")
    succeed("run", "w", "--model", "bag:sharp@w")
    assert (
        tmp_path / "runs" / "dataset-color-shape-3x3-b0" / "bag_sharp_w" / "results.json"
    ).exists()


def test_a_folder_that_cannot_be_made_is_one_sentence(drawn: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    done = score_command(
        "run", drawn, "--model", f"bag:sharp@{drawn}", "--out", tmp_path / "file" / "run"
    )
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1].startswith(
        f"Error: Cannot write {tmp_path / 'file' / 'run'}: "
    )


def test_several_models_are_scored_and_printed_together(drawn: Path, tmp_path: Path) -> None:
    specs = [f"bag:sharp@{drawn}", f"bag:float32@{drawn}"]
    models = [part for spec in specs for part in ("--model", spec)]
    data = score_json("run", drawn, *models, "--protocol", "binary", "--out", tmp_path / "runs")
    assert [results["model"] for results in data["results"]] == specs
    folders = [tmp_path / "runs" / folder_name(spec) for spec in specs]
    assert all(set(results.pop("verdict")) == {"kind", "sentence"} for results in data["results"])
    assert [json.loads((folder / "results.json").read_text()) for folder in folders] == data[
        "results"
    ]
    printed = score_command(
        "run", drawn, *models, "--protocol", "binary", "--out", tmp_path / "runs"
    )
    assert all(f"{spec} on color-shape-3x3-b0" in printed.stdout for spec in specs)
    assert f"Next: score report {folders[0]} {folders[1]}" in printed.stderr
    refused = score_command(
        "run", drawn, "--model", "bag:a:b", "--model", "bag:a_b", "--out", tmp_path / "other"
    )
    assert_one_sentence(
        refused,
        "Expected models with different folders, got bag:a:b, bag:a_b; score them one by one",
    )


def test_filters_of_a_benchmark_of_others_are_printed(drawn: Path, tmp_path: Path) -> None:
    path = write_vl_checklist(tmp_path / "files")
    arguments = (
        f"vl_checklist:{path}",
        "--images",
        path / "images",
        "--model",
        "blind:length",
        "--out",
        tmp_path / "run",
    )
    done = succeed("run", *arguments, "--filter", "first=1")
    assert "vl_checklist (first=1)" in done.stdout
    assert "Left out: 6: it is not among the first of its file." in done.stdout
    assert "accuracy, mean of categories" in done.stdout


def test_a_path_that_does_not_exist_is_told_before_torch_is_imported(tmp_path: Path) -> None:
    models = [
        "jackalope:none",
        "hf:./none",
        "open_clip:ViT-B-32@../none.pt",
        "open_clip:local-dir:/none",
    ]
    code = """
import sys
from evaluator.cli.main import main
for model in sys.argv[2:]:
    try:
        main(["run", sys.argv[1], "--model", model])
    except SystemExit as end:
        print(end.code, "torch" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path, *models], capture_output=True, text=True, check=False
    )
    assert done.stdout == len(models) * "2 False\n"
    assert done.stderr.count("There is no file or folder") == len(models)
