"""Results as mteb writes them: in place, with its scores and the values of the run."""

import json
from pathlib import Path

import pytest

from evaluator import evaluate
from evaluator.exports.mteb_results import write_results
from generator.base.errors import UserError
from tests.conftest import succeed

_FIELDS = {
    "dataset_revision",
    "task_name",
    "mteb_version",
    "scores",
    "evaluation_time",
    "kg_co2_emissions",
}
"""The fields of mteb 2.26.24 (mteb/results/task_result.py)."""


def test_the_scores_are_those_of_the_run(bags: None, drawn: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    results = evaluate(f"bag:sharp@{drawn}", drawn, out=run).results
    done = succeed(
        "score export mteb",
        run,
        *("--title", "Small", "--model-id", "ada/bag", "--model-revision", "abc"),
        *("--dataset-revision", "def", "--out", tmp_path),
    )
    files = [Path(line) for line in done.stdout.split()]
    folder = tmp_path / "results" / "ada__bag" / "abc"
    assert {file.parent for file in files} == {folder}
    n_checked = 0
    for file in files:
        record = json.loads(file.read_text())
        assert set(record) == _FIELDS
        assert (record["task_name"], record["dataset_revision"]) == (file.stem, "def")
        for split, (scores,) in record["scores"].items():
            assert scores["languages"] == ["eng-Latn"]
            protocol = "pairs" if "Pairs" in file.stem else "binary"
            main = "accuracy" if protocol == "pairs" else "text_acc"
            assert scores["main_score"] == scores[main]
            metric = "group" if protocol == "pairs" else "accuracy"
            (row,) = [
                row
                for row in results["rows"]
                if (row["protocol"], row["metric"], row["split"]) == (protocol, metric, split)
                and row["kind"] is not None
                and file.stem.lower().endswith(row["kind"].lower())
                and not row["is_gap"]
            ]
            assert scores["main_score"] == row["value"]
            n_checked += 1
    assert n_checked > 0

    mteb = pytest.importorskip("mteb.results.task_result", reason="mteb is not a dependency")
    for file in files:
        assert mteb.TaskResult.model_validate_json(file.read_text()).task_name == file.stem


def test_results_without_a_task_are_refused(tmp_path: Path) -> None:
    for model_id, sentence in (
        ("bag", "Expected --model-id"),
        ("ada/bag", "has no results of pairs"),
    ):
        with pytest.raises(UserError, match=sentence):
            write_results(
                {"rows": []},
                tmp_path,
                title="Small",
                model_id=model_id,
                model_revision="abc",
                dataset_revision="def",
            )
    assert not [*tmp_path.iterdir()]
