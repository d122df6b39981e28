"""The page: one file that needs nothing else, with figures, tables and examples right and wrong."""

import base64
import io
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from evaluator.api import evaluate
from evaluator.protocols.records import split_of
from evaluator.report.page import write_page
from evaluator.report.table import interval, number, p_value
from evaluator.runs.folder import read_named
from evaluator.runs.measure import measure
from generator.base.files import read_json, write_json
from generator.dataset.reader import Dataset
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.encoders import Sharp, captions_by_image


class _Page(HTMLParser):
    """Collects what a page refers to, its tags and its text."""

    def __init__(self, text: str):
        super().__init__()
        self.sources: list[str] = []
        self.tags: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.words += " "
        names = ("src", "href", "xlink:href", "srcset", "data", "poster", "action", "background")
        self.sources += [value or "" for name, value in attrs if name in names]

    def handle_data(self, data: str) -> None:
        self.words += data


class HalfRight(Sharp):
    """Binds, but reads every image whose caption names red as its swap."""

    def encode_images(self, images: Any) -> Any:
        captions = [self._captions[image.tobytes()] for image in images]
        return self.encode_texts([self._misread(text) if "red" in text else text for text in captions])

    @staticmethod
    def _misread(text: str) -> str:
        _, a, first, _, _, b, second = text.split()
        return f"a {b} {first} and a {a} {second}"


Scored = Callable[..., Path]


@pytest.fixture
def scored(drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scored:
    """Scores an encoder under a name; returns the folder of the run."""

    def score(name: str, encoder: type[Sharp] = Sharp, **options: Any) -> Path:
        model = encoder(captions_by_image(drawn), key=encoder.__name__)
        monkeypatch.setattr("evaluator.runs.run.load_model", lambda spec, device: model)
        out = tmp_path / encoder.__name__
        return evaluate(name, drawn, out=out, batch_size=64, device="cpu", **options).folder

    return score


@pytest.fixture
def half_right(scored: Scored) -> Path:
    return scored("half:right", HalfRight)


def test_a_page_needs_no_other_file(half_right: Path) -> None:
    done = score_command("report", half_right)
    assert done.exit_code == 0
    text = (half_right / "report.html").read_text(encoding="utf-8")
    page = _Page(text)
    assert {"svg", "img", "table"} <= set(page.tags)
    assert not {"link", "iframe", "object", "embed"} & set(page.tags)
    assert re.findall("<script[^>]*>", text) == ["<script>"]  # the one that sorts
    assert all(source.startswith(("data:image/", "#")) for source in page.sources)
    for target in re.findall(r"url\(([^)]*)\)", text):
        assert target.strip("'\"").startswith(("#", "data:"))
    assert "@import" not in text
    assert str(half_right / "report.html") in done.stdout.replace("\n", "")


def test_a_page_shows_scenes_that_were_right_and_wrong(half_right: Path, drawn: Path) -> None:
    write_page([read_named(str(half_right))], half_right / "report.html")
    text = (half_right / "report.html").read_text(encoding="utf-8")
    page, dataset = _Page(text), Dataset.open(drawn)
    galleries = dict(zip(re.findall(r"<h3>(.*?)</h3>", text), re.split(r"<h3>.*?</h3>", text)[1:], strict=True))
    shown = 0
    for title in (
        f"{name}, {split}" for name in ("binary, accuracy", "retrieval, R@1") for split in ("seen", "partial", "unseen")
    ):
        right, wrong = galleries[title].split('<div class="label wrong">')
        for part, red in ((right, False), (wrong, True)):
            figures = re.findall(
                r'<img src="data:image/webp;base64,([^"]+)" alt="scene (\d+)">(.*?)</figure>', part, re.DOTALL
            )
            assert 0 < len(figures) <= 4
            shown += len(figures)
            assert len({scene for _, scene, _ in figures}) == len(figures)
            for data, scene, lines in figures:
                image, kept = Image.open(io.BytesIO(base64.b64decode(data))), dataset.world.image(scene)
                assert image.size == kept.size
                assert (
                    sum(
                        abs(a - b)
                        for a, b in zip(image.convert("L").tobytes(), kept.convert("L").tobytes(), strict=True)
                    )
                    < 64 * 64 * 8
                )
                said = re.findall(r'<span class="score">([-.\d]+)</span> <span( class="truth")?>(.*?)</span>', lines)
                assert len(said) == 2
                assert float(said[0][0]) >= float(said[1][0])
                (truth,) = (words for _, true, words in said if true)
                assert set(truth.split(" and ")) == set(_caption(dataset, scene).split(" and "))
                assert ("red" in truth) == red
                assert bool(said[0][1]) != red
    assert page.sources.count("") == 0
    assert len([s for s in page.sources if s.startswith("data:")]) == shown


def _caption(dataset: Dataset, scene: str) -> str:
    benchmark = dataset.benchmark()
    rows = benchmark.candidates.to_pylist()
    return next(benchmark.text_of[r["text_id"]] for r in rows if r["scene_id"] == scene and r["truth"])


def test_a_page_says_the_numbers_and_how_they_were_made(half_right: Path) -> None:
    (results,) = write_page([read_named(str(half_right))], half_right / "report.html")
    words = " ".join(_Page((half_right / "report.html").read_text(encoding="utf-8")).words.split())
    assert len([row for row in results["rows"] if not row["metric"].startswith("errors by")]) == 14
    assert {row["error"] for row in results["rows"] if row["metric"].startswith("errors by") and row["value"]} == {
        "as familiar",
        "binding",
    }
    for row in results["rows"]:
        numbers = " ".join(
            "" if row[name] is None else str(row[name]) for name in ("items", "clusters", "ties", "unscored")
        )
        value, chance = (number(row[name], row["unit"]) for name in ("value", "chance"))
        shown = f"{split_of(row)} {value} {interval(row) or '–'} {p_value(row['p'])} {numbers} {chance}"
        assert " ".join(shown.split()) in words
    assert "certificate: not verified" in words
    assert "95% interval" in words
    assert "half:right on color-shape-3x3-b0" in words
    assert "torch" in words


def test_each_run_of_a_page_says_its_own_level(half_right: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(half_right, tmp_path / "other"))
    measure(other, level=0.9)
    write_page([read_named(str(half_right)), read_named(str(other))], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    first, second = text.split("<h2>")[1:3]
    assert "half:right, level 0.9 on" in second
    assert "Not averaged: level is 0.95 or 0.9." in text
    assert ("95% interval" in first, "90% interval" in first) == (True, False)
    assert ("95% interval" in second, "90% interval" in second) == (False, True)


def test_a_page_is_the_same_bytes_again(half_right: Path) -> None:
    write_page([read_named(str(half_right))], half_right / "a.html")
    write_page([read_named(str(half_right))], half_right / "b.html")
    assert (half_right / "a.html").read_bytes() == (half_right / "b.html").read_bytes()


def test_several_runs_share_a_page(half_right: Path, scored: Scored, tmp_path: Path) -> None:
    sharp = scored("all:right", protocols="binary")
    done = score_command("report", half_right, sharp, "--out", tmp_path / "pages" / "both.html", "--json")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "pages" / "both.html").read_text(encoding="utf-8")
    assert re.findall(r"<h2>(.*?) on", text) == ["half:right", "all:right"]
    assert text.count("<svg") == 2
    table = re.search(r'<table class="overview">(.*?)</table>', text, re.DOTALL)
    assert table is not None
    lines = [re.sub(r"<[^>]+>", " ", row).split() for row in table[1].split("<tr>")[2:]]
    assert [(line[0], line[3]) for line in lines] == [
        ("binary", "half:right"),
        ("binary", "all:right"),
        ("retrieval", "half:right"),
    ]
    head, *rows = (tmp_path / "pages" / "both.csv").read_text().splitlines()
    assert head.startswith('"model","benchmark","protocol","metric"')
    assert len([row for row in rows if row.startswith('"all:right"')]) == 7
    assert (tmp_path / "pages" / "both.tex").read_text().count(r"\begin{table}") == 4


def test_runs_of_one_name_are_one_line(half_right: Path, scored: Scored, tmp_path: Path) -> None:
    sources = [f"ours={half_right}", *[f"ours={scored('all:right', protocols='binary')}"] * 2]
    done = score_command("report", *sources, "--out", tmp_path / "page.html")
    assert "95% intervals, scores tie within 1e-05, 2 runs over 1 block\n" in done.stdout
    assert "± is the standard deviation over the runs of one block." in done.stdout
    assert re.findall(r"<h2>(.*?) on", (tmp_path / "page.html").read_text(encoding="utf-8")) == ["ours"]


def test_names_from_outside_are_text_and_no_markup(scored: Scored, tmp_path: Path) -> None:
    name = "x:<script>alert(1)</script>&"
    write_page([read_named(str(scored(name, protocols="binary")))] * 2, tmp_path / "page.html")
    page = _Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.tags.count("script") == 1
    assert name in page.words


def test_a_page_reads_the_results_and_measures_nothing(half_right: Path) -> None:
    before = {
        path: path.read_bytes() for path in half_right.rglob("*") if path.is_file() and path.name != "report.html"
    }
    (half_right / "scores.parquet").unlink()
    assert score_command("report", half_right).exit_code == 0
    for path, content in before.items():
        assert path.name == "scores.parquet" or path.read_bytes() == content


def test_a_run_without_results_says_how_to_write_them(half_right: Path) -> None:
    (half_right / "results.json").unlink()
    done = score_command("report", half_right)
    assert_one_sentence(done, f"has no results; write them with `score measure {half_right}`.")


def test_control_characters_of_names_are_shown(half_right: Path, tmp_path: Path) -> None:
    results = read_json(half_right / "results.json")
    write_json(half_right / "results.json", {**results, "model": "evil\u202etxt\x1b[2J<b>"})
    write_page([read_named(str(half_right))], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "evil\\u202etxt\\x1b[2J&lt;b&gt;" in page
    assert not {"\u202e", "\x1b"} & {*page}
    assert "<svg" in page
