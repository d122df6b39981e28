"""The page of results: how long it takes to write, its size, and how fast a browser shows and
filters it.

Three models, three seeds of each, four protocols, 10,000 items over 2,500 scenes.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench.figures import Figure, repeated, seconds
from evaluator.report.page import write_page
from evaluator.runs.folder import read_named
from tests.evaluator.report.many import write_many

_FILTER = """async () => {
  const start = performance.now(), count = document.getElementById("count").textContent;
  location.hash = "gallery?binding=red%3Acube&outcome=wrong&order=worst";
  while (document.getElementById("count").textContent === count) await new Promise(requestAnimationFrame);
  const milliseconds = performance.now() - start;
  location.hash = "gallery?";
  while (document.getElementById("count").textContent !== count) await new Promise(requestAnimationFrame);
  return milliseconds;
}"""


def figures() -> list[Figure]:
    """Seconds to write, megabytes, milliseconds to the first chart and to a filter."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        named = [read_named(source) for source in write_many(Path(folder), 10_000, 2_500)]
        path = Path(folder) / "report.html"
        writing = Figure("writing", "s", (seconds(lambda: write_page(named, path)),))
        arguments = [
            "--no-sandbox",
            "--headless",
            "--disable-gpu",
            "--disable-background-networking",
        ]
        # One browser for all measurements: its start is no part of the page.
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)

        def first_view() -> float:
            page = browser.new_page()
            taken = seconds(
                lambda: (page.goto(f"file://{path}"), page.wait_for_selector(".chart svg"))
            )
            page.close()
            return 1e3 * taken

        viewing = repeated("from opening to the first drawing", "ms", first_view)
        page = browser.new_page()
        page.goto(f"file://{path}")
        page.wait_for_selector(".card")
        page.wait_for_timeout(5_000)  # the charts of folded sections are drawn
        filtering = repeated("a filter of the gallery", "ms", lambda: float(page.evaluate(_FILTER)))
        browser.close()
        return [writing, Figure("size", "MB", (path.stat().st_size / 1e6,)), viewing, filtering]
