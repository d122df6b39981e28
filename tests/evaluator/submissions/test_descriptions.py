"""Descriptions in submissions: judged again by the board, asked again by the organiser."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.suite.scores import score_descriptions
from generator.base.files import read_json, write_json
from tests.conftest import run_command
from tests.evaluator.conftest import succeed
from tests.evaluator.submissions.conftest import run_folders, sign

MODEL = """
import hashlib, json

class Model:
    '''Describes an image by its bytes: other seeds say other things of the same image.'''
    def __init__(self, seed: int = 0):
        self.seed = seed
        self.info = {"seed": seed}
    def answer(self, images, question):
        digest = hashlib.sha256(images[0].tobytes() + bytes([self.seed])).digest()
        colors, shapes = ("red", "blue", "green"), ("cube", "sphere", "cylinder")
        objects = [
            {"shape": shapes[digest[i] % 3], "color": colors[digest[i + 8] % 3]} for i in range(2)
        ]
        return json.dumps(objects)
"""


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], str]:
    """The SPEC of the describing model of a seed."""
    path = tmp_path_factory.mktemp("models") / "describing_model.py"
    path.write_text(MODEL)
    return lambda seed: f"python:{path}:Model,seed={seed}"


@pytest.fixture(scope="module")
def described(
    standard: Path, spec: Callable[[int], str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The run of seed 1 on one world. Not to be changed."""
    out = tmp_path_factory.mktemp("runs") / "described"
    dataset = standard / "zero-shot" / "one"
    succeed("ask", dataset, "--form", "describe", "--model", spec(1), "--out", out)
    return out


@pytest.fixture(scope="module")
def whole(described: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its submission. Not to be changed."""
    out = tmp_path_factory.mktemp("submissions") / "eve"
    succeed("submit", described, "--name", "eve", "--out", out)
    return out


@pytest.fixture
def submission(whole: Path, tmp_path: Path) -> Path:
    """A copy of the submission that a test may change."""
    return Path(shutil.copytree(whole, tmp_path / "eve"))


def board_of(submission: Path, suite: Path, out: Path, *options: str | Path) -> dict[str, Any]:
    """The data of a board of one submission that is not refused."""
    succeed("leaderboard", submission, "--dataset", suite, "--out", out, *options)
    return dict(read_json(out / "leaderboard.json"))


def test_a_board_ranks_descriptions_by_their_own_rows(
    whole: Path, described: Path, standard: Path, tmp_path: Path
) -> None:
    (table,) = board_of(whole, standard, tmp_path / "site")["tables"]
    (row,) = table["rows"]
    assert (row["model"], row["rank"], row["mark"]) == ("eve", 1, "self-reported")
    expected = score_descriptions(read_json(described / "descriptions.json")["rows"])
    assert expected.all_questions is not None
    assert row["worlds"]["one"] == expected.all_questions.record()
    page = next((tmp_path / "site").glob("model-*.html")).read_text()
    assert "zero-shot/one" in page


def test_a_submission_has_answers_and_nothing_of_the_machine(whole: Path, described: Path) -> None:
    (folder,) = run_folders(whole)
    assert {path.name for path in folder.iterdir()} == {
        "run.json",
        "claims.json",
        "answers.jsonl",
    }
    answers = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    stored = [
        json.loads(line) for line in (described / "descriptions.jsonl").read_text().splitlines()
    ]
    assert [line["answer"] for line in answers] == [line["answer"] for line in stored]
    assert str(described) not in (folder / "run.json").read_text()


def _change_an_answer(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    for line in lines:
        line["answer"] = "[]"
    _write_lines(folder, lines)


def _leave_one_out(folder: Path) -> None:
    lines = (folder / "answers.jsonl").read_text().splitlines()
    (folder / "answers.jsonl").write_text("\n".join(lines[1:]) + "\n")


def _answer_twice(folder: Path) -> None:
    lines = (folder / "answers.jsonl").read_text().splitlines()
    (folder / "answers.jsonl").write_text("\n".join([*lines, lines[0]]) + "\n")


def _answer_about_another_image(folder: Path) -> None:
    lines = (folder / "answers.jsonl").read_text().splitlines()
    other = json.dumps({"scene_id": "\x1b[31mother", "answer": "[]", "finish": "stop"})
    (folder / "answers.jsonl").write_text("\n".join([*lines, other]) + "\n")


def _fail_to_answer(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    lines[0] |= {"answer": "", "finish": "not answered: too hard"}
    lines[1] |= {"answer": "", "finish": "not answered: too hard"}
    _write_lines(folder, lines)


def _claim_more(folder: Path) -> None:
    claims = read_json(folder / "claims.json")
    claims["rows"][0]["value"] += 0.1
    write_json(folder / "claims.json", claims)


def _damage_the_rules(folder: Path) -> None:
    record = read_json(folder / "run.json")
    record["rules"]["form"] = "verse"
    write_json(folder / "run.json", record)


def _damage_a_line(folder: Path) -> None:
    (folder / "answers.jsonl").write_text('{"scene_id": 3}\n')


def _write_lines(folder: Path, lines: list[dict[str, Any]]) -> None:
    text = "\n".join(json.dumps(line) for line in lines) + "\n"
    (folder / "answers.jsonl").write_text(text)


@pytest.mark.parametrize(
    ("forge", "words"),
    [
        (_change_an_answer, "its scores give"),
        (_claim_more, "its scores give"),
        (_leave_one_out, "does not describe 1 of"),
        (_answer_twice, "twice; one could be chosen"),
        (_answer_about_another_image, "describes 1 images that nobody asked about"),
        (_fail_to_answer, "has no answer about 2 of"),
        (_damage_the_rules, "form"),
        (_damage_a_line, "scene_id"),
    ],
)
def test_what_does_not_match_is_refused(
    forge: Callable[[Path], None], words: str, submission: Path, standard: Path, tmp_path: Path
) -> None:
    (folder,) = run_folders(submission)
    forge(folder)
    sign(submission)
    arguments = ("leaderboard", submission, "--dataset", standard, "--out", tmp_path / "site")
    done = run_command("score", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "\x1b" not in done.stderr


def test_the_organiser_asks_random_images_again(
    submission: Path, standard: Path, spec: Callable[[int], str], tmp_path: Path
) -> None:
    receipts = tmp_path / "receipts"
    shared = ("rerun", submission, "--dataset", standard, "-k", "6", "--receipts")
    succeed(*shared, receipts, "--model", spec(1))
    (table,) = board_of(submission, standard, tmp_path / "site", "--receipts", receipts)["tables"]
    assert table["rows"][0]["mark"] == "re-run"
    other = run_command("score", *shared, tmp_path / "others", "--model", spec(2))
    assert other.returncode == 1
    assert "is not confirmed" in other.stderr


def test_a_wrong_spec_is_refused_before_the_submission_is_read(
    whole: Path, standard: Path, tmp_path: Path
) -> None:
    arguments = ("--dataset", standard, "--receipts", tmp_path / "receipts", "--model", "nothing")
    (tmp_path / "damaged").mkdir()
    for submission in (whole, tmp_path / "damaged"):
        done = run_command("score", "rerun", submission, *arguments)
        assert done.returncode == 2
        assert "Expected --model to be family:name" in done.stderr


def test_answers_that_another_model_read_are_refused(described: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(described, tmp_path / "run"))
    record = read_json(run / "descriptions.json")
    write_json(run / "descriptions.json", {**record, "reader": {"model": "api:m"}})
    done = run_command("score", "submit", run, "--name", "eve", "--out", tmp_path / "eve")
    assert done.returncode == 2
    assert "was read by another model (--reader)" in done.stderr
