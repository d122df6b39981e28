"""Records for Every Eval Ever, by its own schema (schemas/, from every-eval-ever 0.3.0, MIT)."""

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from evaluator import evaluate
from evaluator.exports.every_eval_ever import Submission, write_record
from evaluator.runs.folder import read_named
from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from tests.conftest import succeed

SCHEMAS = Path(__file__).parent / "schemas"
SUBMISSION = Submission("ada/bag", "Ada", "third_party", 1_800_000_000)


def validator(name: str) -> jsonschema.Draft7Validator:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return jsonschema.Draft7Validator(schema)


@pytest.fixture
def run(bags: None, drawn: Path, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path / "run"
    results = evaluate(f"bag:sharp@{drawn}", drawn, limit=9, out=folder).results
    return folder, results


def test_both_files_are_valid_and_belong_together(
    run: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    folder, _ = run
    aggregate, samples = write_record(read_named(str(folder)), SUBMISSION, tmp_path)
    record = json.loads(aggregate.read_text())
    validator("eval").validate(record)
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    for line in lines:
        validator("instance_level_eval").validate(line)

    # Paths and links between the files, as their validator checks them.
    place = aggregate.relative_to(tmp_path)
    assert place.parts[0] == "data"
    assert place.parts[2:4] == ("ada", "bag")
    details = record["detailed_evaluation_results"]
    assert details["file_path"] == samples.relative_to(tmp_path).as_posix()
    assert samples.name == f"{aggregate.stem}_samples.jsonl"
    assert details["total_rows"] == len(lines) > 0
    assert details["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()
    assert {line["evaluation_id"] for line in lines} == {record["evaluation_id"]}
    ids = [result["evaluation_result_id"] for result in record["evaluation_results"]]
    assert len(set(ids)) == len(ids)
    assert {line["evaluation_result_id"] for line in lines} <= set(ids)


def test_scores_intervals_and_digests_are_those_of_the_run(
    run: tuple[Path, dict[str, Any]], drawn: Path, tmp_path: Path
) -> None:
    folder, results = run
    aggregate, samples = write_record(read_named(str(folder)), SUBMISSION, tmp_path)
    record = json.loads(aggregate.read_text())
    written = [
        (result["score_details"]["score"], result["score_details"]["uncertainty"])
        for result in record["evaluation_results"]
    ]
    expected = [
        row
        for row in results["rows"]
        if row["value"] is not None and row["error"] is None and row["unit"] != "score"
    ]
    assert len(written) == len(expected)
    for (score, uncertainty), row in zip(written, expected, strict=True):
        assert score == row["value"]
        assert uncertainty["num_samples"] == row["items"]
        if row["low"] is not None:
            interval = uncertainty["confidence_interval"]
            assert (interval["lower"], interval["upper"]) == (row["low"], row["high"])
            assert interval["confidence_level"] == 0.95

    dataset = Dataset.open(drawn)
    source = record["evaluation_results"][0]["source_data"]
    assert source["additional_details"]["world_sha256"] == dataset.world.digest
    # The mean of the questions of a result is its score.
    scores: dict[str, list[float]] = {}
    for line in map(json.loads, samples.read_text().splitlines()):
        scores.setdefault(line["evaluation_result_id"], []).append(line["evaluation"]["score"])
        for name, digest in line["metadata"].items():
            if name.startswith("sha256 of "):
                scene = name.removeprefix("sha256 of ")
                assert digest == dataset.world.digest_of(f"images/{scene}.png")
    n_checked = 0
    for result in record["evaluation_results"]:
        own = scores.get(result["evaluation_result_id"])
        if own:
            assert sum(own) / len(own) == pytest.approx(result["score_details"]["score"], abs=1e-5)
            n_checked += 1
    assert n_checked == len(scores)


def test_the_same_submission_has_the_same_bytes(
    run: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    first = write_record(read_named(str(run[0])), SUBMISSION, tmp_path / "a")
    second = write_record(read_named(str(run[0])), SUBMISSION, tmp_path / "b")
    for one, other in zip(first, second, strict=True):
        assert one.name == other.name
        assert one.read_bytes() == other.read_bytes()


def test_a_malformed_id_is_refused(run: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    submission = Submission("bag", "Ada", "third_party", 0)
    with pytest.raises(UserError, match="Expected --model-id as ORG/NAME, got 'bag'"):
        write_record(read_named(str(run[0])), submission, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_writes_the_files(run: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    done = succeed(
        "score export every-eval-ever",
        run[0],
        *("--model-id", "ada/bag", "--organization", "Ada", "--hub-dataset", "ada/small"),
        *("--out", tmp_path),
    )
    record = json.loads(Path(done.stdout.strip()).read_text())
    validator("eval").validate(record)
    assert record["evaluation_results"][0]["source_data"]["hf_repo"] == "ada/small"
