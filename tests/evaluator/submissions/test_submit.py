"""`score submit`: what a submission has, and what of the user's machine it never has."""

import platform
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.submissions.public import check_public, public_value
from generator.base.errors import UserError
from generator.base.files import read_json, sha256, write_json
from tests.conftest import refuse
from tests.evaluator.conftest import score_json, succeed
from tests.evaluator.submissions.conftest import PROTOCOLS


def test_a_submission_has_all_that_the_board_needs(submitted: dict[str, Path]) -> None:
    """Its manifest lists every file with its digest, the model, the versions and the training."""
    folder = submitted["ada"]
    record = read_json(folder / "submission.json")
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert {*record["files"], "submission.json"} == files
    assert all(sha256(folder / name) == digest for name, digest in record["files"].items())
    assert record["name"] == "ada"
    assert record["model"]["specs"] == ["python:embedding_model.py:Model,seed=1"]
    assert {"python", "jackalope", "numpy", "torch"} <= set(record["versions"])
    assert [(run["track"], run["world"]) for run in record["runs"]] == [
        ("zero-shot", "one"),
        ("zero-shot", "two"),
    ]
    form = {"suite": "toy", "version": "1", "part": "tiny", "form": "standard"}
    assert all(run["form"] == form for run in record["runs"])
    assert all(run["training"]["saw"] == "unknown" for run in record["runs"])


def test_nothing_of_the_machine_is_passed_on(submitted: dict[str, Path], standard: Path) -> None:
    """No path of the dataset, the model or the user, and not the name of the machine."""
    private = (str(standard), str(Path.home()), str(Path.cwd()), "/tmp/", platform.node())
    for path in submitted["ada"].rglob("*.json"):
        text = path.read_text()
        assert not [word for word in private if word in text]


def test_a_secret_in_a_record_is_refused(
    ada_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-1234")
    runs = Path(shutil.copytree(ada_runs, tmp_path / "runs"))
    record_path = runs / "zero-shot/one/all/run.json"
    record = read_json(record_path)
    write_json(record_path, {**record, "info": {**record["info"], "note": "sk-very-secret-1234"}})
    refuse("the value of OPENAI_API_KEY", "score submit", runs, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError, match="your home folder"):
        check_public(f"weights in {Path.home()}/models", "a text")


def test_hosts_and_files_of_models_are_left_out() -> None:
    info = {
        "weights": "/home/ada/clip.pt",
        "endpoint": "http://gpu-7.lab:8000/v1",
        "trained_on": {"base": {"model": "jackalope:/home/ada/base"}},
        "note": "see http://gpu-7.lab",
    }
    assert public_value(info) == {
        "weights": "clip.pt",
        "trained_on": {"base": {"model": "jackalope:base"}},
        "note": "see URL",
    }


def test_the_model_is_named_by_its_spec_without_paths(ada_runs: Path, tmp_path: Path) -> None:
    record = score_json("submit", ada_runs / "zero-shot/one/all", "--out", tmp_path / "out")
    assert record["name"] == "python:embedding_model.py:Model,seed=1"


def test_runs_that_nobody_could_compare_are_refused(
    ada_runs: Path,
    bob_runs: Path,
    standard: Path,
    spec: Callable[[int], str],
    tmp_path: Path,
) -> None:
    one = ada_runs / "zero-shot/one/all"
    for sentence, runs in (
        ("answer the same questions", (one, shutil.copytree(one, tmp_path / "again"))),
        ("The runs are of 2 models", (one, bob_runs / "zero-shot/two/all")),
        ("has no finished run", (standard,)),
    ):
        refuse(sentence, "score submit", *runs, "--out", tmp_path / "out")
    dataset = standard / "zero-shot" / "one"
    limited = ("--model", spec(1), *PROTOCOLS, "--limit", "3", "--out", tmp_path / "limited")
    succeed("run", dataset, *limited)
    refuse("only a part", "score submit", tmp_path / "limited", "--out", tmp_path / "out")
    table = tmp_path / "scores.csv"
    table.write_text(
        "item,protocol,slot,image,text,truth,score\n1,binary,c,1,a,1,2\n1,binary,n,1,b,0,1\n"
    )
    succeed("measure", "--items", table, "--out", tmp_path / "own")
    refuse("nobody could check", "score submit", tmp_path / "own", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_with_files_is_not_written_over(
    ada_runs: Path, submitted: dict[str, Path]
) -> None:
    refuse("is not empty", "score submit", ada_runs, "--out", submitted["ada"])
