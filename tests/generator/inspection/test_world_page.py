"""The page that `gen preview` writes: every image with its texts, found by what it shows."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from generator.dataset.reader import Dataset
from tests.browser import barriers
from tests.conftest import FEWEST, render_into, succeed


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world with masks, and its page."""
    folder = tmp_path_factory.mktemp("masked")
    render_into(folder / "world", *FEWEST, "--with", "masks")
    done = succeed("gen preview --json", folder / "world")
    assert json.loads(done.stdout)["page"] == str(folder / "world" / "preview.html")
    return folder / "world"


@pytest.fixture
def page(browser: Any, masked: Path) -> Any:
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    errors: list[str] = []
    opened.on("console", lambda message: errors.append(message.text))
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(f"file://{masked / 'preview.html'}")
    opened.wait_for_selector(".card")
    yield opened
    opened.close()
    assert errors == []


def test_a_combination_leads_to_its_images_and_their_texts(page: Page, masked: Path) -> None:
    dataset = Dataset.open(masked)
    benchmark = dataset.benchmark()
    held_out = {f"{value}:{category}" for value, category in benchmark.holdout_block()["bindings"]}
    shows = {
        row["scene_id"]: {
            f"{dict(obj['attributes'])['color']}:{obj['category']}" for obj in row["objects"]
        }
        for row in dataset.world.scenes.to_pylist()
    }
    there = held_out & {binding for of in shows.values() for binding in of}
    framed = page.locator("#block td.held")
    assert framed.count() == len(held_out)
    assert framed.locator("img").count() == len(there) > 0
    framed.locator("a").first.click()
    page.wait_for_function("location.hash.startsWith('#gallery?binding=')")
    binding = page.evaluate("new URLSearchParams(location.hash.slice(9)).get('binding')")
    scenes = {scene for scene, of in shows.items() if binding in of}
    assert page.locator("#count").inner_text().startswith(f"{len(scenes)} of {len(shows)} images")
    page.locator(".card").first.click()
    page.wait_for_selector("dialog[open]")
    scene = page.evaluate("new URLSearchParams(location.hash.slice(9)).get('item')")
    assert scene in scenes
    rows = zip(
        *(benchmark.candidates[name].to_pylist() for name in ("scene_id", "text_id", "truth")),
        strict=True,
    )
    texts = {
        (benchmark.text_of[text], truth)
        for scene_of_row, text, truth in rows
        if scene_of_row == scene
    }
    table_cells = [
        row.locator("td").all_inner_texts() for row in page.locator("dialog tbody tr").all()
    ]
    assert {(text, sign == "✓ true") for sign, text, _ in table_cells} == texts
    assert len(table_cells) == len(texts)


def test_a_long_name_makes_no_column_wider_than_its_pictures(page: Page) -> None:
    page.locator("#block thead th").first.evaluate("cell => cell.textContent = 'hippopotamus'")
    widths = page.locator("#block thead th").evaluate_all(
        "cells => cells.map(cell => cell.getBoundingClientRect().width)"
    )
    assert max(widths) - min(widths) < 1


def test_boxes_and_masks_are_drawn_on_request(page: Page, masked: Path) -> None:
    page.locator(".card").first.click()
    page.wait_for_selector("dialog[open]")
    scene = page.evaluate("new URLSearchParams(location.hash.slice(9)).get('item')")
    assert page.locator(".box:visible").count() == page.locator(".mask:visible").count() == 0
    for checkbox in page.locator("dialog input[type=checkbox]").all():
        checkbox.check()
    assert page.locator(".mask:visible").count() == 1
    (row,) = [
        row for row in Dataset.open(masked).world.scenes.to_pylist() if row["scene_id"] == scene
    ]
    image = page.locator("dialog .framed img").first.bounding_box()
    assert image is not None
    scale = image["width"] / row["width"]
    for box, obj in zip(page.locator(".box").all(), row["objects"], strict=True):
        shown_box, (left, top, right, _) = box.bounding_box(), obj["amodal_box"]
        assert shown_box is not None
        assert shown_box["x"] - image["x"] == pytest.approx(left * scale, abs=1)
        assert shown_box["y"] - image["y"] == pytest.approx(top * scale, abs=1)
        assert shown_box["width"] == pytest.approx((right - left) * scale, abs=1)
    page.keyboard.press("ArrowRight")
    page.locator("dialog button", has_text="next").click()
    page.wait_for_function(f"!location.hash.includes('item={scene}')")
    assert page.locator(".box:visible").count() > 0  # what was asked for stays


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1400, "dark")])
def test_nothing_bars_a_reader(browser: Any, masked: Path, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(f"file://{masked / 'preview.html'}")
    opened.wait_for_selector(".card")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(opened) == []
    opened.locator(".card").first.click()
    opened.wait_for_selector("dialog[open]")
    assert barriers(opened) == []
    context.close()


def test_only_what_is_asked_for_is_on_the_page(masked: Path, tmp_path: Path) -> None:
    succeed("gen preview --split train --n 2", masked, "--out", tmp_path / "two.png")
    text = (tmp_path / "two.html").read_text(encoding="utf-8")
    (data,) = json.loads(text.split('id="items-data">')[1].split("</script>")[0])
    assert (len(data["id"]), data["labels"]["split"]["names"]) == (2, ["train"])


def test_the_page_needs_no_dataset_beside_it(browser: Any, masked: Path, tmp_path: Path) -> None:
    shutil.copy(masked / "preview.html", tmp_path / "alone.html")
    opened, requests = browser.new_page(), []
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(f"file://{tmp_path / 'alone.html'}")
    opened.wait_for_selector(".card img")
    opened.close()
    assert [url for url in requests if not url.startswith(("data:", "file:"))] == []
    assert sum(url.startswith("file:") for url in requests) == 1
