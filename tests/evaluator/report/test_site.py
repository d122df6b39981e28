"""A site of many models: from runs and from files that others send, which are checked."""

import re
from pathlib import Path

import pytest

from generator.base.files import read_json, write_json
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.report.many import write_many


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    return write_many(tmp_path / "many", 240, 30, seeds=1)


def test_every_model_has_a_line_and_a_page_of_its_own(runs: list[str], tmp_path: Path) -> None:
    sent = tmp_path / "sent.json"
    sent.write_bytes((Path(runs[2].split("=")[1]) / "results.json").read_bytes())
    done = score_command("leaderboard", *runs[:2], f"theirs={sent}", "--out", tmp_path / "site")
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(tmp_path / "site" / "index.html")
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    links = dict(re.findall(r'<th scope="row" class="name"><a href="([^"]+)">([^<]+)</a>', index))
    assert set(links.values()) == {"scratch", "finetuned", "theirs"}
    for file, model in links.items():
        page = (tmp_path / "site" / file).read_text(encoding="utf-8")
        assert set(re.findall(r'<th scope="row" class="name">([^<]+)</th>', page)) == {model}
        assert '<a href="index.html">All models</a>' in page
    assert {path.suffix for path in (tmp_path / "site").iterdir()} == {".html", ".csv", ".md", ".tex"}


def test_a_site_of_results_shows_no_gallery_and_no_path_of_a_machine(runs: list[str], tmp_path: Path) -> None:
    assert score_command("leaderboard", *runs, "--out", tmp_path / "site").exit_code == 0
    for path in (tmp_path / "site").glob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert 'id="gallery"' not in page
        assert str(tmp_path) not in page


def test_contaminated_models_are_marked(runs: list[str], tmp_path: Path) -> None:
    path = Path(runs[0].split("=")[1]) / "results.json"
    training = {"status": "contaminated", "said": "CONTAMINATED: 1 of 9 bindings.", "overlaps": []}
    write_json(path, {**read_json(path), "training": training})
    assert score_command("leaderboard", *runs, "--out", tmp_path / "site").exit_code == 0
    assert ">scratch (CONTAMINATED)</a>" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("change", [{"value": 1.2}, {"low": 0.9, "high": 0.1}])
def test_impossible_numbers_are_refused(runs: list[str], tmp_path: Path, change: dict[str, float]) -> None:
    results = read_json(Path(runs[0].split("=")[1]) / "results.json")
    rows = [{**results["rows"][0], **change}, *results["rows"][1:]]
    write_json(tmp_path / "sent.json", {**results, "rows": rows})
    refused = score_command("leaderboard", tmp_path / "sent.json", "--out", tmp_path / "site")
    assert_one_sentence(refused, "sent.json has an impossible number (binary, accuracy, seen")
    assert not (tmp_path / "site").exists()


def test_damaged_files_and_other_benchmarks_are_refused(runs: list[str], tmp_path: Path) -> None:
    results = read_json(Path(runs[0].split("=")[1]) / "results.json")
    write_json(tmp_path / "bad.json", {**results, "rows": "none"})
    assert_one_sentence(score_command("leaderboard", tmp_path / "bad.json", "--out", tmp_path / "site"), "bad.json")
    factors = {**results["factors"], "design": {"world seed": 4}}
    write_json(tmp_path / "other.json", {**results, "factors": factors})
    refused = score_command("leaderboard", runs[1], tmp_path / "other.json", "--out", tmp_path / "site")
    assert_one_sentence(refused, "Expected results of one benchmark", "Give each benchmark a site of its own")
