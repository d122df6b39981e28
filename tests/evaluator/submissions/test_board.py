"""`score leaderboard` of submissions: forms, ranks, pages, and the folder of a board."""

import csv
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from evaluator.submissions.form_spread import FormValue, spread_over_forms
from evaluator.submissions.forms import Form
from generator.base.files import read_json, write_json
from tests.conftest import refuse
from tests.evaluator.conftest import score_command, succeed
from tests.evaluator.submissions.conftest import run_folders, score_on, sign
from tests.paths import CHECKOUT


@pytest.fixture(scope="module")
def fresh_bob(
    fresh: Path, spec: Callable[[int], str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Bob's submission on the fresh form."""
    folder = tmp_path_factory.mktemp("fresh-bob")
    runs = score_on(fresh, spec(2), folder / "runs")
    succeed("submit", runs, "--name", "bob on fresh", "--out", folder / "bob")
    return folder / "bob"


@pytest.fixture
def folder(submitted: dict[str, Path], standard: Path, tmp_path: Path) -> Path:
    """The folder of a board: two submissions, and the questions without images."""
    board = tmp_path / "board"
    for name, submission in submitted.items():
        shutil.copytree(submission, board / name)
    shutil.copytree(standard, board / "questions", ignore=shutil.ignore_patterns("images"))
    return board


def test_a_folder_of_a_board_needs_no_images(folder: Path, tmp_path: Path) -> None:
    done = succeed("leaderboard", folder, "--out", tmp_path / "site")
    assert done.stdout.strip() == str(tmp_path / "site" / "index.html")
    data = read_json(tmp_path / "site" / "leaderboard.json")
    (form,) = data["tables"]
    names = ("suite", "version", "part", "form", "track", "split")
    values = ["toy", "1", "tiny", "standard", "zero-shot", "unseen"]
    assert [form[name] for name in names] == values
    assert {row["model"]: row["mark"] for row in form["rows"]} == {
        "ada": "self-reported",
        "bob": "self-reported",
    }
    assert sorted(row["rank"] for row in form["rows"]) == [1, 2]
    for row in form["rows"]:
        values = [world["value"] for world in row["worlds"].values()]
        mean = row["mean"]
        assert mean["value"] == pytest.approx(sum(values) / 2)
        assert mean["low"] < mean["value"] < mean["high"]
    pages = {path.name for path in (tmp_path / "site").glob("*.html")}
    assert {"index.html", "model-1-ada.html", "model-2-bob.html"} < pages
    assert len(pages) == 5
    for path in (tmp_path / "site").glob("*"):
        assert str(tmp_path) not in path.read_text(encoding="utf-8")


def test_a_refused_submission_is_named_and_the_others_stay(folder: Path, tmp_path: Path) -> None:
    run = next(run_folders(folder / "ada"))
    claims = read_json(run / "claims.json")
    claims["rows"][0]["value"] = 1.0
    write_json(run / "claims.json", claims)
    sign(folder / "ada")
    done = score_command("leaderboard", folder, "--out", tmp_path / "site")
    assert done.exit_code == 1
    assert "Refused: " in done.stderr
    page = (tmp_path / "site" / "index.html").read_text()
    assert "claims" in page
    data = read_json(tmp_path / "site" / "leaderboard.json")
    assert list(data["refused"]) == ["ada"]
    assert [row["model"] for row in data["tables"][0]["rows"]] == ["bob"]
    shutil.rmtree(folder / "bob")
    refuse("No submission is left", "score leaderboard", folder, "--out", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_forms_are_ranked_apart_and_pooled_on_request(
    submitted: dict[str, Path], fresh_bob: Path, standard: Path, fresh: Path, tmp_path: Path
) -> None:
    """Rows of two forms are never in one table; the pooled table has the spread of forms."""
    sources = (submitted["ada"], submitted["bob"], fresh_bob)
    datasets = ("--dataset", standard, "--dataset", fresh)
    succeed("leaderboard", *sources, *datasets, "--pool-forms", "--out", tmp_path / "site")
    data = read_json(tmp_path / "site" / "leaderboard.json")
    models_of_form = {
        form["form"]: sorted(row["model"] for row in form["rows"]) for form in data["tables"]
    }
    assert models_of_form == {"standard": ["ada", "bob"], "fresh-7": ["bob on fresh"]}
    (pooled,) = data["over_forms"]
    # No model has both forms under one name, so the spread of forms is not known.
    assert (pooled["sd"], pooled["freedom"]) == (None, 0)
    page = (tmp_path / "site" / "index.html").read_text()
    assert "the spread of forms is not known" in page


def test_the_spread_of_forms_is_in_the_interval() -> None:
    """By hand: residuals ±5 and ±7 points give s² = (2·25 + 2·49) / 2 = 74 square points."""
    values = {"a": {"f": 0.5, "g": 0.6}, "b": {"f": 0.7, "g": 0.56}, "c": {"g": 0.4}}
    spread = spread_over_forms(with_reach(values, 0.01))
    assert spread.freedom == 2
    assert spread.sd == pytest.approx(0.74**0.5 / 10)
    reach = 4.302653 * 0.74**0.5 / 10
    assert spread.means["a"].high == pytest.approx(0.55 + reach / 2**0.5)
    assert spread.means["c"].low == pytest.approx(0.4 - reach)


def test_forms_that_agree_by_chance_do_not_narrow_the_interval() -> None:
    """Two forms of ±10 points each have ±7.1 points together, however close their values are."""
    spread = spread_over_forms(with_reach({"a": {"f": 0.5, "g": 0.501}}, 0.1))
    assert spread.means["a"].high == pytest.approx(0.5005 + 0.1 / 2**0.5)


def with_reach(
    values: dict[str, dict[str, float]], reach: float
) -> dict[str, dict[str, FormValue]]:
    """Values with equal intervals."""
    return {
        model: {form: FormValue(value, reach) for form, value in of_model.items()}
        for model, of_model in values.items()
    }


def test_plain_runs_stand_beside_submissions(
    submitted: dict[str, Path], bob_runs: Path, standard: Path, tmp_path: Path
) -> None:
    runs = [f"eve={bob_runs / 'zero-shot' / world / 'all'}" for world in ("one", "two")]
    arguments = ("leaderboard", submitted["ada"], *runs, "--dataset", standard)
    succeed(*arguments, "--out", tmp_path / "site")
    data = read_json(tmp_path / "site" / "leaderboard.json")
    marks = {row["model"]: row["mark"] for row in data["tables"][0]["rows"]}
    assert marks == {"ada": "self-reported", "eve (run)": "self-reported"}


def test_a_model_that_lacks_a_world_has_no_rank(
    submitted: dict[str, Path], bob_runs: Path, standard: Path, tmp_path: Path
) -> None:
    """Worlds differ in difficulty, so a mean over some of them is not comparable."""
    succeed("submit", bob_runs / "zero-shot/one/all", "--name", "half", "--out", tmp_path / "half")
    sources = (submitted["ada"], tmp_path / "half")
    succeed("leaderboard", *sources, "--dataset", standard, "--out", tmp_path / "site")
    data = read_json(tmp_path / "site" / "leaderboard.json")
    rows = {row["model"]: row for row in data["tables"][0]["rows"]}
    assert rows["ada"]["rank"] == 1
    assert (rows["half"]["rank"], rows["half"]["why_unranked"]) == (
        None,
        "It does not answer binary color-shape-3x3-b0 of two and 1 more.",
    )


def test_names_have_no_effect_on_the_page(
    submitted: dict[str, Path], standard: Path, tmp_path: Path
) -> None:
    name = "<script>alert(1)</script>\x1b[2J"
    evil = Path(shutil.copytree(submitted["ada"], tmp_path / "evil"))
    write_json(evil / "submission.json", {**read_json(evil / "submission.json"), "name": name})
    done = succeed("leaderboard", evil, "--dataset", standard, "--out", tmp_path / "site")
    assert "\x1b" not in done.output
    for path in (tmp_path / "site").glob("*.html"):
        page = path.read_text()
        assert "<script>alert" not in page
        assert "\x1b" not in page


def test_answers_in_words_are_complete_and_asked_again(
    standard: Path, model_file: Path, tmp_path: Path
) -> None:
    """Every question has its answer, or the submission is refused."""
    from evaluator.scoring.words.files import ANSWERS
    from generator.base.tables import read_table, write_table

    spec = f"python:{model_file}:Model,seed=1"
    dataset = standard / "zero-shot" / "one"
    run = tmp_path / "run"
    succeed("ask", dataset, "--model", spec, "--protocol", "binary", "--out", run)
    succeed("submit", run, "--name", "talker", "--out", tmp_path / "talker")
    arguments = ("--model", spec, "--dataset", standard, "--receipts", tmp_path / "receipts")
    done = succeed("rerun", tmp_path / "talker", *arguments, "-k", "5")
    assert "5 of 5 random items are equal" in done.stderr
    (submitted_run,) = run_folders(tmp_path / "talker")
    answers = read_table(submitted_run / "answers.parquet", ANSWERS)
    write_table(submitted_run / "answers.parquet", answers.slice(4), ANSWERS)
    sign(tmp_path / "talker")
    sentence = "and none to 4 of them"
    out = ("--dataset", standard, "--out", tmp_path / "site")
    refuse(sentence, "score leaderboard", tmp_path / "talker", *out)


def test_make_leaderboard_builds_the_site_of_a_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the Makefile runs, over a tiny folder in place of results/jackalope-1."""
    arguments = ["make", "-n", "-o", ".venv/run", "leaderboard", f"BOARD={folder}"]
    printed = subprocess.run(
        arguments, capture_output=True, text=True, check=True, cwd=CHECKOUT
    ).stdout
    (line,) = [line for line in printed.splitlines() if "score leaderboard" in line]
    command, *words = line.split()
    assert command == ".venv/bin/score"
    monkeypatch.chdir(tmp_path)
    succeed(*words)
    assert (tmp_path / "site/leaderboard/index.html").is_file()


def test_make_leaderboard_without_a_folder_shows_the_published_results(tmp_path: Path) -> None:
    """In a fresh clone: results/jackalope-1 has tables and no scores."""
    done = succeed("leaderboard", CHECKOUT / "results/jackalope-1", "--out", tmp_path)
    assert "jackalope-1 (tiny) standard, published without scores" in done.stderr
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "nothing is computed again" in page
    table = (CHECKOUT / "results/jackalope-1/tiny/index.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(table.splitlines()):
        assert row["model"] in page
        if row["value"]:
            assert f"{100 * float(row['value']):z.1f}" in page


def test_published_results_stand_beside_submissions(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "results/jackalope-1/tiny", folder / "tiny")
    succeed("leaderboard", folder, "--out", tmp_path / "site")
    data = read_json(tmp_path / "site/leaderboard.json")
    assert [table["track"] for table in data["tables"]]
    assert [record["part"] for record in data["published"]] == ["tiny"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"suite": "toy-3"}, "is of the suite 'toy-3', which this version does not have"),
        ({"part": "half"}, "Unknown part 'half'"),
        ({"models": {"a": {"x": {"worlds": {"y": {}}}}}}, "has the world 'y' of the track 'x'"),
        ({"models": []}, "is damaged"),
    ],
)
def test_published_results_that_cannot_be_read(
    changes: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    record = read_json(CHECKOUT / "results/jackalope-1/tiny/results.json")
    write_json(tmp_path / "results.json", {**record, **changes})
    refuse(sentence, "score leaderboard", tmp_path, "--out", tmp_path / "site")


def test_published_results_behind_a_link_are_not_read(tmp_path: Path) -> None:
    published = tmp_path / "board/tiny"
    published.mkdir(parents=True)
    target = CHECKOUT / "results/jackalope-1/tiny/results.json"
    (published / "results.json").symlink_to(target)
    refuse("is a link", "score leaderboard", tmp_path / "board", "--out", tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_suite_says_which_questions_count(
    folder: Path, submitted: dict[str, Path], tmp_path: Path
) -> None:
    """With a declaration beside suite.json, a protocol beyond it does not count, and one that a
    model lacks takes its rank, whatever the others answer."""
    world = {
        "about": "Two objects.",
        "family": "clevr",
        "holdout": ["3x3"],
        "scenes": "10",
        "resolution": "64x64",
        "texts": [{"name": "color-shape-3x3-b0", "protocols": ["binary"]}],
        "runs": [{"benchmark": "color-shape-3x3-b0", "protocols": ["binary", "pairs"]}],
    }
    declaration = {
        "name": "toy",
        "version": 1,
        "about": "A toy.",
        "tracks": {"zero-shot": {"about": "All.", "worlds": {"one": world, "two": world}}},
    }
    (folder / "questions/suite.toml").write_text(tomli_w.dumps(declaration))
    succeed("leaderboard", folder, "--out", tmp_path / "site")
    (table,) = read_json(tmp_path / "site" / "leaderboard.json")["tables"]
    reason = "It does not answer pairs color-shape-3x3-b0 of one and 1 more."
    assert [row["why_unranked"] for row in table["rows"]] == [reason, reason]
    world["runs"] = [{"benchmark": "color-shape-3x3-b0", "protocols": ["binary"]}]
    (folder / "questions/suite.toml").write_text(tomli_w.dumps(declaration))
    succeed("leaderboard", folder, "--out", tmp_path / "site")
    (table,) = read_json(tmp_path / "site" / "leaderboard.json")["tables"]
    assert [row["rank"] for row in table["rows"]] == [1, 2]
    assert {world["questions"] for row in table["rows"] for world in row["worlds"].values()} == {1}


def test_the_standard_form_is_told_from_fresh_ones() -> None:
    shared = {"suite": "toy", "version": "1", "part": "tiny"}
    assert Form(**shared, name="standard").is_standard
    assert not Form(**shared, name="fresh-7").is_standard
