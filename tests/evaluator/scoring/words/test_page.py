"""The page of models that answer in words: whole answers in the gallery, and position bias."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser import barriers
from tests.conftest import succeed
from tests.evaluator.chat import serving
from tests.evaluator.scoring.words.rules import Rules, every_protocol


@pytest.mark.full
def test_the_gallery_has_whole_answers(browser: Any, tmp_path: Path) -> None:
    benchmark = every_protocol(tmp_path / "items")
    with serving(Rules) as server:
        for rule in ("errs", "first"):
            command = (
                "ask",
                f"table:{benchmark}",
                "--model",
                server.spec(rule),
                "--out",
                tmp_path / rule,
            )
            succeed("score", *command)
    runs = [f"{rule}={tmp_path / rule}" for rule in ("errs", "first")]
    succeed("score report", *runs, "--out", tmp_path / "report.html")
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"file://{tmp_path / 'report.html'}#gallery?item=binary-000000")
    page.wait_for_selector("#item[open]")
    details = page.locator("#item details")
    assert details.count() == 4  # two orders of two models
    assert "errs: says" in details.nth(0).locator("summary").inner_text()
    details.nth(0).locator("summary").click()
    assert details.nth(0).locator("pre").inner_text().startswith("<think>It shows it. Answer: ")
    page.goto(f"file://{tmp_path / 'report.html'}")
    page.locator("#answers > summary").click()
    words = page.locator("#answers").inner_text()
    assert "How often each label is chosen" in words
    assert "100.0" in words
    assert barriers(page) == []
    assert errors == []
