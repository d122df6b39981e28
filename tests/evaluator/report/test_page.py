"""The page: one file that needs nothing else, with figures, tables and examples right and wrong."""

import base64
import html
import io
import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from PIL import Image

from evaluator.analysis.comparison import compare
from evaluator.analysis.pooling import pool_runs
from evaluator.api import evaluate
from evaluator.metrics.formats import number
from evaluator.protocols.records import split_of
from evaluator.provenance.contamination import is_stand_in
from evaluator.report.figure import Figure
from evaluator.report.gallery import grid_cells
from evaluator.report.page import _sections, write_page
from evaluator.report.table import interval, p_value
from evaluator.report.verdict import judge
from evaluator.runs.folder import read_named
from evaluator.runs.measure import measure, measure_protocols
from evaluator.runs.tables import item_rows
from generator.base.files import read_json, write_json
from generator.base.pages import thumbnails
from generator.dataset.reader import Dataset
from tests.evaluator.analysis.test_pooling import made_run
from tests.evaluator.conftest import assert_one_sentence, score_command, succeed
from tests.evaluator.encoders import Sharp, captions_by_image
from tests.evaluator.report.conftest import ROW
from tests.evaluator.synthetic import Row


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
        return self.encode_texts(
            [self._misread(text) if "red" in text else text for text in captions]
        )

    @staticmethod
    def _misread(text: str) -> str:
        _, a, first, _, _, b, second = text.split()
        return f"a {b} {first} and a {a} {second}"


Scored = Callable[..., Path]


@pytest.fixture
def scored(drawn: Path, tmp_path: Path) -> Scored:
    """Scores an encoder under a name; returns the folder of the run."""

    def score(name: str, encoder: type[Sharp] = Sharp, **options: Any) -> Path:
        model = encoder(captions_by_image(drawn), key=encoder.__name__)
        return evaluate(model, drawn, out=tmp_path / encoder.__name__, name=name, **options).folder

    return score


@pytest.fixture
def half_right(scored: Scored) -> Path:
    return scored("half:right", HalfRight)


def image_of(source: str) -> Image.Image:
    """The image that the page has as base64."""
    return Image.open(io.BytesIO(base64.b64decode(source.split(",")[1])))


def data_of(page: str, name: str) -> str:
    """The JSON that a page has in a script of this id."""
    script = re.search(f'id="{name}">(.*?)</script>', page, re.DOTALL)
    assert script is not None
    return script[1]


def items_of(path: Path) -> list[dict[str, Any]]:
    """The data of the gallery of a page."""
    galleries: list[dict[str, Any]] = json.loads(
        data_of(path.read_text(encoding="utf-8"), "items-data")
    )
    return galleries


def write(source: Path, path: Path) -> tuple[list[Row], str]:
    """The results of a run, and the page that is written of it."""
    results, _ = write_page([read_named(str(source))], path)
    return results, path.read_text(encoding="utf-8")


def test_the_first_screen_has_verdict_holdout_and_a_wrong_unseen_image(
    half_right: Path, scored: Scored
) -> None:
    path = half_right.parent / "first.html"
    results, text = write(half_right, path)
    first, _ = text.split("<nav", 1)
    head = first.split('<section class="first"')[0]
    assert judge(pool_runs(results)[0]).sentence in html.unescape(head)
    assert f"Held out of training: {results[0]['held_out']}." in html.unescape(head)
    assert first.count('data-figure="gap"') == 1
    panels = json.loads(data_of(text, "figures-data"))["gap"]["concat"]
    assert [panel["title"]["text"][0].split(",")[0] for panel in panels] == ["retrieval", "binary"]
    figure = re.search(
        r'<figure class="example"><img src="([^"]+)" alt="([^"]+)">(.*?)</figure>', first, re.DOTALL
    )
    assert figure is not None
    false = re.findall(r'<span class="w">(.*?)</span>', figure[3])
    assert false != [figure[2]]
    run = read_named(str(half_right)).run
    rows = item_rows(run, measure_protocols(run))
    wrong = [
        row
        for row in rows
        if row["split"] == "unseen" and row["value"] is not None and row["value"] < 1
    ]
    assert any({figure[2], *false} <= set(row["texts"]) for row in wrong)
    assert max(image_of(figure[1]).size) <= 256


def test_a_model_without_a_wrong_unseen_answer_has_no_example(scored: Scored) -> None:
    run = scored("all:right")
    _, text = write(run, run.parent / "right.html")
    assert 'class="example"' not in text


def test_a_page_needs_no_other_file_and_is_the_same_again(half_right: Path) -> None:
    done = succeed("report", half_right)
    path = half_right.parent / "report.html"
    _, text = write(half_right, half_right.parent / "again.html")
    assert path.read_text(encoding="utf-8") == text
    page = _Page(text)
    assert {"table", "details", "dialog"} <= set(page.tags)
    assert not {"link", "iframe", "object", "embed"} & set(page.tags)
    assert not re.findall("<script[^>]* src", text)
    assert text.count('data-figure="gap"') == 1
    ends = re.findall(r'data-order="([^"]*)"[^>]*>(?:[+-]?[0-9.]+ <small>|&lt;?[.0-9]|\[)', text)
    assert ends
    assert all(re.fullmatch(r"-?[0-9.]+", end) for end in ends)
    assert all(source.startswith(("data:image/", "#")) for source in page.sources)
    style = re.search("<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert {file.suffix for file in half_right.parent.glob("report.*")} == {
        ".html",
        ".csv",
        ".md",
        ".tex",
    }
    assert str(path) in done.stdout.replace("\n", "")


def test_a_page_has_every_item_with_its_image_texts_scores_and_outcome(
    half_right: Path, drawn: Path
) -> None:
    path, dataset = half_right.parent / "report.html", Dataset.open(drawn)
    write(half_right, path)
    (data,) = items_of(path)
    (run,) = data["runs"]
    items = dataset.benchmark().items.filter(pc.field("protocol") != "train")
    assert sorted(data["id"]) == sorted(items["item_id"].to_pylist())
    captions = captions_by_image(drawn)
    protocols = [
        data["labels"]["protocol"]["names"][code] for code in data["labels"]["protocol"]["codes"]
    ]
    for i, protocol in enumerate(protocols):
        own = range(*data["candidates"]["start"][i : i + 2])
        (scene,) = {data["scenes"][data["candidates"]["scene"][k]] for k in own}
        texts = {
            data["texts"][data["candidates"]["text"][k]]: data["candidates"]["truth"][k]
            for k in own
        }
        true = [words for words, truth in texts.items() if truth]
        caption = captions[dataset.world.image(scene).tobytes()]
        assert set(caption.split(" and ")) in [set(words.split(" and ")) for words in true]
        assert run["outcome"][i] == ("w" if "red" in true[0] else "r")
        assert (run["margin"][i] > 0) == (run["outcome"][i] == "r")
        if protocol == "binary":
            scores = {data["candidates"]["truth"][k]: run["score"][k] for k in own}
            assert scores[1] - scores[0] == pytest.approx(run["margin"][i], abs=1e-4)
        else:
            best = run["best"][str(i)]
            assert [score for *_, score in best] == sorted(
                (score for *_, score in best), reverse=True
            )
            assert best[0][1] == (run["outcome"][i] == "r")
    for scene, source in zip(data["scenes"], data["images"], strict=True):
        image, original = image_of(source), dataset.world.image(scene)
        assert image.size == original.size
        both = zip(image.convert("L").tobytes(), original.convert("L").tobytes(), strict=True)
        assert sum(abs(a - b) for a, b in both) < 64 * 64 * 8
        assert (path.parent / data["folder"] / f"{scene}.png").exists()


def test_a_page_says_the_numbers_and_how_they_were_made(half_right: Path) -> None:
    (results,), text = write(half_right, half_right.parent / "report.html")
    words = " ".join(_Page(text).words.split())
    # Accuracy, matching and four metrics of retrieval; errors by direction have other tests.
    rows = [row for row in results["rows"] if not row["metric"].startswith("errors by")]
    assert len(rows) == 38
    assert len([row for row in results["rows"] if row["metric"] == "matching"]) == 3
    assert {
        row["error"]
        for row in results["rows"]
        if row["metric"].startswith("errors by") and row["value"]
    } == {
        "as familiar",
        "binding",
    }
    for row in results["rows"]:
        numbers = " ".join(
            "" if row[name] is None else str(row[name])
            for name in ("items", "clusters", "ties", "unscored")
        )
        value, chance = (number(row[name], row["unit"]) for name in ("value", "chance"))
        wider = interval({**row, "low": row["low_wider"], "high": row["high_wider"]}) or "–"
        line = (
            f"{split_of(row)} {value} {interval(row) or '–'} {wider} {p_value(row['p'])} {numbers} "
            f"{chance}"
        )
        assert " ".join(line.split()) in words
    for phrase in (
        "certificate: not verified",
        "95% interval",
        "half:right on color-shape-3x3-b0",
        "torch",
    ):
        assert phrase in words


def test_each_run_of_a_page_says_its_own_level(half_right: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(half_right, tmp_path / "other"))
    measure(other, level=0.9)
    write_page([read_named(str(half_right)), read_named(str(other))], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    first, second = text.split("<h3>half:right")[-4:-2]
    assert ", level 0.9 on" in second
    assert "Not averaged: level is 0.95 or 0.9." in text
    assert ("95% interval" in first, "90% interval" in first) == (True, False)
    assert ("95% interval" in second, "90% interval" in second) == (False, True)


def test_several_runs_share_a_page(half_right: Path, scored: Scored, tmp_path: Path) -> None:
    sharp = scored("all:right", protocols="binary")
    path = tmp_path / "pages" / "both.html"
    succeed("report", half_right, sharp, "--out", path)
    text = path.read_text(encoding="utf-8")
    table = re.search(r'<table class="sorted" id="board">(.*?)</table>', text, re.DOTALL)
    assert table is not None
    lines = [re.sub(r"<[^>]+>", " ", row).split() for row in table[1].split("<tr>")[2:]]
    assert [(line[0], line[1]) for line in lines] == [
        ("half:right", "binary"),
        ("all:right", "binary"),
        ("half:right", "retrieval"),
    ]
    assert [run["label"] for run in items_of(path)[0]["runs"]] == ["half:right", "all:right"]
    head, *rows = path.with_suffix(".csv").read_text().splitlines()
    assert head.startswith('"model","benchmark","protocol","metric"')
    assert len([row for row in rows if row.startswith('"all:right"')]) == 10
    assert len([row for row in rows if row.startswith('"all:right"') and '"matching"' in row]) == 3
    assert path.with_suffix(".tex").read_text().count(r"\begin{table}") == 4


def test_runs_of_one_name_are_one_line(half_right: Path, scored: Scored, tmp_path: Path) -> None:
    sources = [f"ours={half_right}", *[f"ours={scored('all:right', protocols='binary')}"] * 2]
    done = succeed("report", *sources, "--out", tmp_path / "page.html")
    assert "95% intervals, scores tie within 1e-05, 2 runs over 1 block\n" in done.stdout
    assert "± is the standard deviation over the runs of one block." in done.stdout
    (data,) = items_of(tmp_path / "page.html")
    assert [run["label"] for run in data["runs"]] == ["ours, run 1", "ours, run 2"]


def test_a_page_measures_nothing_and_leaves_the_run_as_it_is(half_right: Path) -> None:
    (half_right / "scores.parquet").unlink()
    before = {path: path.read_bytes() for path in half_right.rglob("*") if path.is_file()}
    write(half_right, half_right.parent / "report.html")
    assert {path: path.read_bytes() for path in half_right.rglob("*") if path.is_file()} == before
    (data,) = items_of(half_right.parent / "report.html")
    assert set(data["runs"][0]["score"]) == {None}
    assert None not in data["runs"][0]["margin"]


def test_a_dataset_that_moved_is_found_where_it_is_now(half_right: Path, drawn_copy: Path) -> None:
    record = read_json(half_right / "run.json")
    write_json(half_right / "run.json", {**record, "dataset": str(half_right / "gone")})
    assert_one_sentence(
        score_command("report", half_right),
        "is not at",
        "give `score report` its place with --dataset",
    )
    succeed("report", half_right, "--dataset", drawn_copy)
    (data,) = items_of(half_right.parent / "report.html")
    assert all(data["images"])


def test_an_unfinished_run_is_named_and_has_no_results(half_right: Path, tmp_path: Path) -> None:
    (tmp_path / "begun").mkdir()
    write_json(tmp_path / "begun" / ".begun.json", {})
    done = succeed(
        "report", half_right, f"other={tmp_path / 'begun'}", "--out", tmp_path / "page.html"
    )
    assert "is unfinished" in done.stderr
    assert f"Unfinished, not shown: other={tmp_path / 'begun'}" in (
        tmp_path / "page.html"
    ).read_text(encoding="utf-8")
    assert_one_sentence(
        score_command("report", tmp_path / "begun"), "Expected one finished RUN or more"
    )


def test_figures_are_written_for_papers(half_right: Path, tmp_path: Path) -> None:
    done = succeed("report", half_right, "--figures", tmp_path / "figures")
    assert "files of figures are in" in done.stderr
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"gap.svg", "gap.pdf", "gap.png"} <= names


def test_inline_images_are_larger_than_thumbnails_of_many(
    monkeypatch: pytest.MonkeyPatch, drawn: Path
) -> None:
    monkeypatch.setattr("generator.base.pages._ROOM", 1)
    world = Dataset.open(drawn).world
    scenes = world.scenes["scene_id"].to_pylist()[:2]
    for inline, size in ((False, (48, 48)), (True, (64, 64))):
        assert [image_of(url).size for url in thumbnails(world.image, scenes, inline)] == [size] * 2


def test_files_of_other_commands_are_drawn_on_the_page(
    half_right: Path, scored: Scored, tmp_path: Path
) -> None:
    sharp = scored("all:right", protocols="binary")
    compared = score_command("compare", half_right, sharp, "--json")
    (tmp_path / "comparison.json").write_text(compared.stdout)
    twice = [f"{name}={tmp_path / 'comparison.json'}" for name in ("one", "two")]
    succeed("report", half_right, sharp, *twice, "--out", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    section = re.search(r'<details id="differences">(.*?)</details>', text, re.DOTALL)
    assert section is not None
    names = re.findall(r'data-figure="(.*?)"', section[1])
    assert len(set(names)) == len(names) == 2 * text.count("<h3>Paired differences</h3>") > 0


def test_names_from_outside_are_text_whose_control_characters_are_shown(
    half_right: Path, tmp_path: Path
) -> None:
    results = read_json(half_right / "results.json")
    write_json(
        half_right / "results.json",
        {**results, "model": "<script>alert(1)</script>&\u202etxt\x1b[2J"},
    )
    write_page([read_named(str(half_right))] * 2, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = _Page(text)
    assert page.tags.count("script") == 7
    assert "<script>alert(1)</script>&\\u202etxt\\x1b[2J" in page.words
    assert "<script>alert" not in text
    assert not {"\u202e", "\x1b"} & {*text}


def test_a_cell_of_a_grid_counts_answered_items() -> None:
    coded = {"codes": [0, 0, 0], "names": ["x"]}
    data = {
        "labels": {"protocol": coded, "split": coded},
        "bindings": {**coded, "names": ["red:cube"]},
    }
    (cell,) = grid_cells(
        {**data, "runs": [{"outcome": "ru-"}]}, model_of=["m"], held_out=[], protocol="x"
    )
    assert (cell["share"], cell["items"]) == (1, 1)


def test_a_figure_of_an_unknown_name_has_a_section_at_the_end() -> None:
    drawings = [
        Figure(name, f"About {name}", "", "bars", {}, {})
        for name in ("novel-a", "gaps", "novel-b", "split-x")
    ]
    (entry,) = pool_runs([{**made_run(), "held_out": "", "rows": [ROW]}])
    sections = [
        (section.name, section.title, [figure.name for figure in section.figures])
        for section in _sections([entry], entry, drawings)
    ]
    assert sections == [
        ("split", "Does every task show the same?", ["gaps", "split-x"]),
        ("novel", "About novel-a", ["novel-a", "novel-b"]),
    ]


def test_two_models_are_compared_on_the_same_questions_on_the_first_screen(
    half_right: Path, scored: Scored
) -> None:
    path = half_right.parent / "two.html"
    runs = [read_named(str(half_right)), read_named(str(scored("all:right")))]
    write_page(runs, path)
    text = path.read_text(encoding="utf-8")
    first = html.unescape(text.split("<nav", 1)[0])
    sentence = re.search(
        "On the same questions, all:right less half:right is, in points, ([^.]*.[^<]*)<", first
    )
    assert sentence is not None
    comparison = compare([str(half_right), f"{half_right.parent / 'Sharp'}"])
    (row,) = [
        row
        for row in comparison["rows"]
        if (row["protocol"], row["split"]) == ("retrieval", "unseen")
    ]
    difference = number(-row["difference"], "difference")
    assert f"{difference} [" in sentence[1].split(", ")[-2] + sentence[1].split(", ")[-1]
    assert 'data-figure="differences"' in text


def test_two_models_are_compared_by_a_metric_that_both_were_measured_by(
    scored: Scored, drawn: Path, tmp_path: Path
) -> None:
    """The verdict is about retrieval, which a model that is fitted on the texts is not asked."""
    path = tmp_path / "blind.html"
    blind = evaluate("blind:ngram", drawn, out=tmp_path / "blind").folder
    write_page([read_named(str(scored("all:right"))), read_named(str(blind))], path)
    first = html.unescape(path.read_text(encoding="utf-8").split("<nav", 1)[0])
    assert re.search("less blind:ngram by [a-z]+ \\(binary[^)]*\\) is, in points, [-+]", first)


def test_the_mark_of_a_stand_in_follows_from_the_training_not_from_an_old_record(
    half_right: Path,
) -> None:
    """Runs of before said "stand-in" of every model that was trained here."""
    for name in ("run.json", "results.json"):
        record = read_json(half_right / name)
        training = {**record["training"], "stand_in": True}
        write_json(half_right / name, {**record, "training": training})
    assert is_stand_in(read_named(str(half_right)).results)
    record = read_json(half_right / "run.json")
    for method, is_one in (("scratch", False), ("pretrain", True)):
        info = {**record["info"], "trained_on": {"method": method}}
        write_json(half_right / "run.json", {**record, "info": info})
        named = read_named(str(half_right))
        assert is_stand_in(named.results) == is_one
        assert named.run.record["training"]["stand_in"] == is_one
