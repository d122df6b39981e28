"""`score report` of runs of descriptions: the page has the script's own counts, every atom has the
colour of its verdict at its place, and texts of strangers stay texts."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evaluator.report.descriptions.answers import answer_data
from evaluator.report.descriptions.page import write_description_page
from evaluator.runs.described import read_described
from generator.base.files import read_json, write_json
from generator.dataset.descriptions.description import description_of
from generator.dataset.reader import Dataset
from tests.browser import barriers
from tests.conftest import refuse, succeed
from tests.evaluator.descriptions.test_ask import script, truths_of

EVIL = "<script>document.title='evil'</script><b>\u202e"


def data_of(page: Path, name: str = "descriptions-data") -> Any:
    """The data of a script element of a page."""
    start = f'<script type="application/json" id="{name}">'
    return json.loads(page.read_text().split(start)[1].split("</script>")[0])


def test_the_page_and_its_files_have_the_script_s_own_counts(
    crowded: Dataset, runs: Path, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    done = succeed("score", "report", runs / "errs", "--out", page, "--figures", tmp_path / "drawn")
    record = read_json(runs / "errs" / "descriptions.json")
    assert record["sentence"] in done.stdout
    assert record["sentence"] in page.read_text()

    truths = truths_of(crowded)
    counts: Counter[tuple[str, str]] = Counter()
    for truth in truths.values():
        for measure, (count, _) in script(truth).shares.items():
            counts[truth.split or "", measure] += count
    with page.with_suffix(".csv").open() as file:
        table = list(csv.DictReader(file))
    n_compared = 0
    for row in table:
        by_split = row["objects"] == row["interference"] == row["load"] == ""
        if by_split and (row["split"], row["measure"]) in counts:
            assert float(row["total"]) == counts[row["split"], row["measure"]]
            n_compared += 1
    assert n_compared == 3 * 11

    # The gallery counts the same errors, atom by atom.
    shown_counts: Counter[str] = Counter()
    for item in data_of(page)["items"]:
        shown_counts.update(item["answers"][0]["counts"])
    for name, measure in (("exchanged", "values exchanged"),):
        assert shown_counts[name] == sum(n for (_, of), n in counts.items() if of == measure)
    objects = {truth.scene_id: len(truth.objects) for truth in truths.values()}
    for item in data_of(page)["items"]:
        assert len(item["objects"]) == objects[item["scene"]]
    value = next(r for r in record["rows"] if r["measure"] == "values right")["value"]
    assert f"{100 * value:.1f}" in page.with_suffix(".tex").read_text()
    assert "| values right |" in page.with_suffix(".md").read_text()
    assert any((tmp_path / "drawn").glob("measures*.svg"))


def test_a_model_that_names_no_object_has_a_page_without_figures(
    crowded: Dataset, tmp_path: Path
) -> None:
    code = tmp_path / "silent_model.py"
    code.write_text("class Silent:\n    def answer(self, images, question):\n        return '[]'\n")
    model = f"python:{code}:Silent"
    run, page = tmp_path / "run", tmp_path / "report.html"
    options = ["--form", "describe", "--limit", "2", "--out", run]
    succeed("score", "ask", crowded.root, "--model", model, *options)
    succeed("score", "report", run, "--out", page, "--figures", tmp_path / "drawn")
    assert read_json(run / "descriptions.json")["sentence"] in page.read_text()
    assert not any((tmp_path / "drawn").glob("measures*"))


def test_every_atom_of_prose_is_at_its_place(crowded: Dataset, runs: Path) -> None:
    run = read_described(str(runs / "prose"))
    truths = {truth.scene_id: truth for truth in truths_of(crowded).values()}
    for line in run.lines:
        data = answer_data(line, truths[line["scene_id"]])
        (segments,) = data["phrases"]
        assert "".join(segment["text"] for segment in segments) == line["answer"]
        assert segments[0] == {**segments[0], "text": "There may be a cube.", "colour": "unread"}
        right = [segment["text"] for segment in segments if segment["colour"] == "right"]
        expected = []
        for described in description_of(truths[line["scene_id"]]).objects:
            expected += [*described.attributes.values(), described.category]
        assert right == expected
        assert set(data["states"]) == {"right"}


def test_an_exchanged_value_says_whose_it_is(crowded: Dataset, runs: Path) -> None:
    run = read_described(str(runs / "errs"))
    truths = {truth.scene_id: truth for truth in truths_of(crowded).values()}
    n_exchanged = 0
    for line in run.lines:
        truth = truths[line["scene_id"]]
        data = answer_data(line, truth)
        for segment in (segment for phrase in data["phrases"] for segment in phrase):
            if segment["colour"] != "exchanged":
                continue
            n_exchanged += 1
            (index,) = segment["objects"]
            kind = truth.tested_kind or ""
            own = truth.objects[index].attributes[kind]
            assert f"object {index + 1} is {own}" in segment["why"]
            owners = segment["why"].rpartition("of object ")[2].split(", ")
            for owner in owners:
                assert truth.objects[int(owner) - 1].attributes[kind] == segment["text"]
    assert n_exchanged


def test_texts_of_strangers_stay_texts(
    runs: Path, tmp_path: Path, browser: Any, crowded: Dataset
) -> None:
    folder = tmp_path / "evil"
    folder.mkdir()
    record = read_json(runs / "prose" / "descriptions.json")
    evil = {"model": EVIL, "sentence": EVIL, "info": {EVIL: EVIL}}
    write_json(folder / "descriptions.json", {**record, **evil})
    lines = (runs / "prose" / "descriptions.jsonl").read_text()
    moved = []
    for text in lines.splitlines():
        line = json.loads(text)
        line["answer"] += EVIL
        line["unread"][0]["reason"] = EVIL
        moved.append(json.dumps(line))
    (folder / "descriptions.jsonl").write_text("\n".join(moved) + "\n")
    page = tmp_path / "report.html"
    write_description_page([read_described(str(folder))], page)
    opened = browser.new_page()
    opened.goto(f"file://{page}")
    opened.wait_for_selector("#described .atom")
    assert opened.title() == "What does it see, and on which object?"
    assert opened.locator("#described b script, #described .phrase b").count() == 0
    assert "evil" in opened.locator("#described .phrase").first.inner_text()
    opened.close()


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        (390, "dark"),
        pytest.param(1280, "dark", marks=pytest.mark.full),
        pytest.param(390, "light", marks=pytest.mark.full),
    ],
)
def test_the_page_in_a_browser(
    runs: Path, tmp_path: Path, browser: Any, scheme: str, width: int
) -> None:
    page = tmp_path / "report.html"
    both = [read_described(str(runs / name)) for name in ("errs", "prose")]
    write_description_page(both, page)
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(f"file://{page}")
    opened.wait_for_selector("#described .described")
    assert barriers(opened) == []
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    if (width, scheme) == (1280, "light"):
        items = data_of(page)["items"]
        n_exchanged = sum(item["answers"][0]["counts"].get("exchanged", 0) > 0 for item in items)
        opened.locator("#item-filters select[name=shows]").select_option("exchanged")
        assert opened.locator("#count").inner_text().startswith(f"{n_exchanged} of {len(items)} ")
        opened.locator("#described .scene").first.click()
        assert "the whole answer" in opened.locator("dialog").inner_text()
    assert errors == []
    context.close()


def test_what_cannot_be_reported_is_said(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    refuse("has descriptions", "score", "report", runs / "errs", tmp_path / "empty")
    refuse("--hub", "score", "report", runs / "errs", "--hub", tmp_path / "hub")
    refuse("has descriptions", "score", "leaderboard", runs / "errs", "--out", tmp_path / "site")
    refuse(
        "has descriptions", "score", "tables", "crepe2023", runs / "errs", "--out", tmp_path / "t"
    )
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for name in ("descriptions.json", "descriptions.jsonl"):
        (damaged / name).write_bytes((runs / "errs" / name).read_bytes())
    line = json.loads((damaged / "descriptions.jsonl").read_text().splitlines()[0])
    line["atoms"][0]["objects"] = [99]
    (damaged / "descriptions.jsonl").write_text(json.dumps(line) + "\n")
    refuse("is damaged", "score", "report", damaged)
    (damaged / "descriptions.jsonl").write_text('{"scene_id": ')
    refuse("is damaged in line 1", "score", "report", damaged)
