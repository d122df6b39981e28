"""The page in a browser: sorting, filtering, one item and back, in light and dark, without errors
and barriers.

With JACKALOPE_PICTURES=docs/images the pictures of the documentation are made here.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from evaluator.metrics.formats import number
from evaluator.report.page import write_page
from evaluator.report.site import write_site
from evaluator.runs.folder import read_named
from tests.browser import barriers
from tests.evaluator.report.many import EVIL, write_many
from tests.evaluator.report.test_site import write_run

WIDTHS = {390: 844, 1400: 900, 1920: 1080}
ITEMS = 10_000


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A page of three models with three seeds each and four protocols, and the results of its
    runs."""
    folder = tmp_path_factory.mktemp("many")
    named = [read_named(source) for source in write_many(folder, ITEMS, 300)]
    results, _ = write_page(named, folder / "report.html")
    return folder / "report.html", results


@pytest.fixture
def opened(browser: Any, report: tuple[Path, Any]) -> Iterator[Page]:
    """The page, of which no error may be heard."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page, errors = context.new_page(), []
    page.on(
        "console",
        lambda message: (
            errors.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(dialog.message))
    page.goto(f"file://{report[0]}")
    page.wait_for_selector(".chart svg")
    yield page
    context.close()
    assert errors == []


def count_items(page: Page) -> int:
    """How many items the gallery says that it shows."""
    return int(page.locator("#count").inner_text().split(" of ")[0].replace(",", ""))


def items_of(page: Page) -> Any:
    """The data of the gallery."""
    return json.loads(page.locator("#items-data").text_content() or "")[0]


def test_a_click_on_a_head_sorts_and_lists_filter(opened: Page) -> None:
    opened.locator("#board-filters select").nth(1).select_option("binary")
    rows = opened.locator("#board tbody tr")
    assert rows.count() == 3
    head = opened.locator("#board th", has_text="unseen %").first
    values = []
    for way in ("ascending", "descending"):
        head.locator(".dt-column-order").click()
        opened.wait_for_selector(f"#board th[aria-sort={way}]")
        values.append(
            [float(cell.split()[0]) for cell in rows.locator("td:nth-child(6)").all_inner_texts()]
        )
    assert values[0] == sorted(values[0])
    assert values[1] == sorted(values[1], reverse=True)


def test_failures_of_one_binding_an_item_its_scores_and_back(opened: Page) -> None:
    opened.locator("#item-filters select[name=binding]").select_option("red:cube")
    opened.locator("#item-filters select[name=outcome]").select_option("wrong")
    data = items_of(opened)
    shows = [data["bindings"]["names"][code].split(";") for code in data["bindings"]["codes"]]
    expected = [
        i
        for i, bindings in enumerate(shows)
        if "red:cube" in bindings and data["runs"][0]["outcome"][i] == "w"
    ]
    assert count_items(opened) == len(expected) > 0
    assert "binding=red%3Acube" in opened.url
    assert opened.locator(".card").count() < 60  # only those in view exist
    opened.locator(".card").nth(1).click()
    opened.wait_for_selector("dialog[open]")
    item = opened.evaluate("new URLSearchParams(location.hash.slice(9)).get('item')")
    i = data["id"].index(item)
    assert i == expected[1]
    start = data["candidates"]["start"][i]
    cells = opened.locator("dialog tbody tr").first.locator("td").all_inner_texts()
    assert cells[1] == data["texts"][data["candidates"]["text"][start]]
    assert float(cells[3]) == pytest.approx(data["runs"][0]["score"][start], rel=1e-3)
    opened.go_back()
    opened.wait_for_selector("dialog:not([open])", state="attached")
    assert count_items(opened) == len(expected)
    opened.go_back()
    opened.wait_for_function("!location.hash.includes('outcome')")
    assert count_items(opened) == sum("red:cube" in bindings for bindings in shows)


def test_a_link_to_an_item_opens_it_with_its_filters(
    opened: Page, report: tuple[Path, Any]
) -> None:
    data = items_of(opened)
    item = data["id"][41]
    opened.goto("about:blank")
    opened.goto(f"file://{report[0]}#gallery?split=seen&item={item}")
    opened.wait_for_selector("dialog[open]")
    assert item in opened.locator("dialog").inner_text()
    opened.keyboard.press("Escape")
    opened.wait_for_function("!location.hash.includes('item')")
    assert opened.locator("#item-filters select[name=split]").input_value() == "seen"


def test_one_model_right_and_the_other_wrong(opened: Page) -> None:
    data = items_of(opened)
    labels = [run["label"] for run in data["runs"]]
    opened.evaluate(
        "asked => { location.hash = `gallery?${new URLSearchParams(asked)}` }",
        {"run": labels[6], "outcome": "right", "other": labels[0], "otherwise": "wrong"},
    )
    opened.wait_for_function("document.querySelectorAll('.card .w').length > 0")
    both = zip(data["runs"][6]["outcome"], data["runs"][0]["outcome"], strict=True)
    assert count_items(opened) == sum(pair == ("r", "w") for pair in both)


def test_the_last_of_all_items_is_reached_by_scrolling(opened: Page) -> None:
    opened.wait_for_function("document.querySelectorAll('.card').length > 0")
    opened.evaluate("list = document.getElementById('list'); list.scrollTop = list.scrollHeight")
    last = items_of(opened)["id"][-1]
    opened.wait_for_selector(f".card[href*='{last}']")
    assert opened.locator(".card").count() < 60


def test_captions_stay_text(opened: Page) -> None:
    opened.locator("#item-filters input").fill("alert(1)")
    opened.locator("#item-filters input").press("Enter")
    opened.wait_for_function("document.querySelector('.said')?.textContent.includes('alert')")
    tooltip = opened.locator(".said").first.inner_text()
    assert tooltip == EVIL.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b")
    assert opened.locator(".card script").count() == 0
    assert tooltip in (opened.locator(".card img").first.get_attribute("alt") or "")


def test_numbers_of_the_page_are_those_of_the_results(
    opened: Page, report: tuple[Path, Any]
) -> None:
    _, results = report
    lines = [
        row.locator("th, td").all_inner_texts() for row in opened.locator("#board tbody tr").all()
    ]
    assert len(lines) == 12
    for m, model in enumerate(("scratch", "finetuned", "hard negatives")):
        for protocol in ("binary", "hard_positives", "skill", "retrieval"):
            (line,) = [cells for cells in lines if cells[:2] == [model, protocol]]
            for split, cell in zip(("seen", "partial", "unseen"), line[3:6], strict=True):
                values = [
                    row["value"]
                    for result in results[3 * m : 3 * m + 3]
                    for row in result["rows"]
                    if (row["protocol"], row["split"], row["is_gap"]) == (protocol, split, False)
                ]
                assert cell.split()[0] == number(sum(values) / 3, "share")


def test_a_chart_leads_to_the_items_of_its_cell(opened: Page) -> None:
    opened.evaluate("location.hash = 'grid'")
    opened.wait_for_selector("#grid[open] .chart svg")
    opened.locator("#grid .chart svg .mark-text text").first.click()
    opened.wait_for_function("location.hash.startsWith('#gallery?binding=')")
    assert 0 < count_items(opened) < ITEMS


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        pytest.param(width, scheme, marks=[pytest.mark.full] * (scheme != quick_scheme))
        for width, quick_scheme in zip(WIDTHS, ("neither", "dark", "neither"), strict=True)
        for scheme in ("light", "dark")
    ],
)
def test_nothing_bars_a_reader(
    browser: Any, report: tuple[Path, Any], scheme: str, width: int
) -> None:
    """axe-core finds nothing, nothing is wider than the screen, and every section can be opened."""
    context = browser.new_context(
        viewport={"width": width, "height": WIDTHS[width]}, color_scheme=scheme
    )
    page = context.new_page()
    page.goto(f"file://{report[0]}")
    page.wait_for_selector(".chart svg")
    page.wait_for_selector(".card")
    if folder := os.environ.get("JACKALOPE_PICTURES"):
        page.screenshot(path=Path(folder) / f"page-{width}-{scheme}.png")
    page.evaluate(
        "document.querySelectorAll('main > details').forEach(each => { each.open = true })"
    )
    page.wait_for_function(
        "[...document.querySelectorAll('.chart')].every(each => each.querySelector('svg'))"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert barriers(page) == []
    page.locator(".card").first.click()
    page.wait_for_selector("dialog[open]")
    assert barriers(page) == []
    context.close()


def test_the_page_asks_the_network_for_nothing(browser: Any, report: tuple[Path, Any]) -> None:
    context = browser.new_context()
    page, requests = context.new_page(), []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"file://{report[0]}")
    page.wait_for_selector(".chart svg")
    context.close()
    assert [url for url in requests if not re.match("data:|blob:|file:.*report.html", url)] == []


@pytest.mark.full
def test_a_site_leads_to_each_model_and_back(browser: Any, tmp_path: Path) -> None:
    models = [f"model{number:02d}" for number in range(12)]
    runs = [write_run(tmp_path / model, model, seed) for seed, model in enumerate(models)]
    write_site([str(run) for run in runs], tmp_path / "site")
    context = browser.new_context()
    page, errors = context.new_page(), []
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else None
    )
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"file://{tmp_path / 'site' / 'index.html'}")
    page.wait_for_selector(".chart svg")
    assert barriers(page) == []
    page.locator("#board a", has_text="model03").first.click()
    page.wait_for_selector(".chart svg")
    assert {*page.locator("#board th[scope=row]").all_inner_texts()} == {"model03"}
    page.locator("nav a", has_text="All models").click()
    page.wait_for_selector("#board tbody tr:nth-child(12)")
    context.close()
    assert errors == []
