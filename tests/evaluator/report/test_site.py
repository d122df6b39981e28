"""A site of many models: from runs of one's own and of others, whose results are computed again
from their scores."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from generator.base.files import read_json, write_json
from tests.conftest import refuse
from tests.evaluator.conftest import succeed

HEAD = "item,protocol,slot,image,text,truth,split,score\n"
ITEMS = 24


def write_run(folder: Path, model: str, seed: int, items: int = ITEMS) -> Path:
    """Write a run of a table of questions: each has a true and a false text, half are seen."""
    scores = np.random.default_rng(seed).normal(size=(items, 2)).round(4)
    lines = [
        f"{item},binary,{slot},{item},{text},{truth},{'seen' if item % 2 else 'unseen'},{scores[item, truth]}\n"
        for item in range(items)
        for slot, text, truth in (("c", "a red cube", 1), ("n", "a blue cube", 0))
    ]
    table = folder.with_suffix(".csv")
    table.write_text(HEAD + "".join(lines))
    succeed("measure", "--items", table, "--benchmark", "b", "--model", model, "--out", folder)
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> dict[str, Path]:
    return {
        model: write_run(tmp_path / model, model, seed)
        for seed, model in enumerate(("ada", "bob", "eve"))
    }


def test_every_model_has_a_line_and_a_page_of_its_own(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    """Without a gallery and without a path of a machine; contaminated models are marked."""
    record = read_json(runs["eve"] / "run.json")
    training = {
        "status": "contaminated",
        "sentence": "CONTAMINATED: 1 of 9 bindings.",
        "overlaps": [],
    }
    write_json(runs["eve"] / "run.json", {**record, "training": training})
    sources = [runs["ada"], runs["bob"], f"theirs={runs['eve']}"]
    done = succeed("leaderboard", *sources, "--out", tmp_path / "site")
    assert done.stdout.strip() == str(tmp_path / "site" / "index.html")
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    links = dict(re.findall(r'<th scope="row" class="name"><a href="([^"]+)">([^<]+)</a>', index))
    assert set(links.values()) == {"theirs (CONTAMINATED)", "ada", "bob"}
    for file, model in links.items():
        page = (tmp_path / "site" / file).read_text(encoding="utf-8")
        assert set(re.findall(r'<th scope="row" class="name">([^<]+)</th>', page)) == {model}
        assert '<a href="index.html">All models</a>' in page
    for path in (tmp_path / "site").glob("*.html"):
        page = path.read_text(encoding="utf-8")
        assert 'id="gallery"' not in page
        assert str(tmp_path) not in page
    assert {path.suffix for path in (tmp_path / "site").iterdir()} == {
        ".html",
        ".csv",
        ".md",
        ".tex",
    }


def test_numbers_are_computed_from_the_scores(runs: dict[str, Path], tmp_path: Path) -> None:
    """Results that someone wrote by hand, and a claimed certificate, do not reach the site."""
    succeed("leaderboard", runs["ada"], runs["bob"], "--out", tmp_path / "honest")
    results = read_json(runs["bob"] / "results.json")
    for row in results["rows"]:
        row["value"] = row["low"] = row["high"] = 0.987
    write_json(
        runs["bob"] / "results.json", {**results, "certificate": "clean, verified for this run"}
    )
    succeed("leaderboard", runs["ada"], runs["bob"], "--out", tmp_path / "site")
    page = (tmp_path / "site" / "index.html").read_text()
    assert page == (tmp_path / "honest" / "index.html").read_text()
    assert "98.7" not in page
    assert "verified for this run" not in page
    assert "claimed by the sender of the run" in page


def test_what_cannot_be_checked_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    message = "whose numbers cannot be checked; give the folder of the run"
    refuse(message, "score leaderboard", runs["ada"] / "results.json", "--out", tmp_path / "site")
    (runs["bob"] / "scores.parquet").unlink()
    refuse("scores.parquet", "score leaderboard", runs["bob"], "--out", tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_run_does_not_displace_another_of_its_name(runs: dict[str, Path], tmp_path: Path) -> None:
    """Of two runs of one model, training and benchmark the first stood for both."""
    forged = write_run(tmp_path / "forged", "ada", seed=9)
    for order in ((forged, runs["ada"]), (runs["ada"], forged)):
        refuse(
            "say that they are the same run of ada",
            "score leaderboard",
            *order,
            "--out",
            tmp_path / "site",
        )
    shutil.copytree(runs["ada"], tmp_path / "copy")
    succeed("leaderboard", runs["ada"], tmp_path / "copy", runs["bob"], "--out", tmp_path / "site")


def test_runs_on_other_benchmarks_do_not_share_a_site(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    """Not even one that has the same name."""
    other = write_run(tmp_path / "other", "zoe", seed=9, items=ITEMS + 2)
    message = "were scored on different benchmarks of the same held-out block"
    refuse(message, "score leaderboard", runs["ada"], other, "--out", tmp_path / "site")
    assert not (tmp_path / "site").exists()
