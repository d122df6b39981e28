"""A site of many models: from runs and from files that others send, which are checked."""

import re
from pathlib import Path

import pytest

from generator.base.files import read_json, write_json
from tests.evaluator.conftest import assert_one_sentence, score_command, succeed
from tests.evaluator.report.many import write_many
from tests.evaluator.synthetic import Row


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    return write_many(tmp_path / "many", 240, 30, seeds=1)


@pytest.fixture
def results(runs: list[str]) -> Row:
    """What somebody sends."""
    return read_json(Path(runs[0].split("=")[1]) / "results.json")


def test_every_model_has_a_line_and_a_page_of_its_own(runs: list[str], results: Row, tmp_path: Path) -> None:
    """Without a gallery and without a path of a machine; contaminated models are marked."""
    training = {"status": "contaminated", "said": "CONTAMINATED: 1 of 9 bindings.", "overlaps": []}
    write_json(tmp_path / "sent.json", {**results, "training": training})
    done = succeed("leaderboard", *runs[1:], f"theirs={tmp_path / 'sent.json'}", "--out", tmp_path / "site")
    assert done.stdout.strip() == str(tmp_path / "site" / "index.html")
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    links = dict(re.findall(r'<th scope="row" class="name"><a href="([^"]+)">([^<]+)</a>', index))
    assert set(links.values()) == {"theirs (CONTAMINATED)", "finetuned", "hard negatives"}
    for file, model in links.items():
        page = (tmp_path / "site" / file).read_text(encoding="utf-8")
        assert set(re.findall(r'<th scope="row" class="name">([^<]+)</th>', page)) == {model}
        assert '<a href="index.html">All models</a>' in page
    for path in (tmp_path / "site").glob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert 'id="gallery"' not in page
        assert str(tmp_path) not in page
    assert {path.suffix for path in (tmp_path / "site").iterdir()} == {".html", ".csv", ".md", ".tex"}


def test_damaged_files_impossible_numbers_and_other_benchmarks_are_refused(
    runs: list[str], results: Row, tmp_path: Path
) -> None:
    first, *others = results["rows"]
    for change, said in (
        ({"rows": [{**first, "value": 1.2}, *others]}, "has an impossible number (binary, accuracy, seen"),
        ({"rows": [{**first, "low": 0.9, "high": 0.1}, *others]}, "has an impossible number (binary, accuracy, seen"),
        ({"rows": "none"}, "sent.json"),
        (
            {"factors": {**results["factors"], "design": {"world seed": 4}}},
            "one benchmark. Not averaged: world seed is null or 4. Write a separate site for each benchmark",
        ),
    ):
        write_json(tmp_path / "sent.json", {**results, **change})
        done = score_command("leaderboard", runs[1], tmp_path / "sent.json", "--out", tmp_path / "site")
        assert_one_sentence(done, said)
        assert not (tmp_path / "site").exists()
