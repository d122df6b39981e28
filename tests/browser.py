"""Pages in Debian's Chromium, which .ci/run installs."""

from collections.abc import Iterator
from contextlib import contextmanager

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, without a window."""
    with sync_playwright() as playwright:
        arguments = [
            "--no-sandbox",
            "--headless",
            "--disable-gpu",
            "--disable-background-networking",
        ]
        opened = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=arguments)
        yield opened
        opened.close()


def barriers(page: Page) -> list[str]:
    """What axe-core finds on a page, and where first."""
    return [
        f"{violation['id']}: {violation['nodes'][0]['html'][:200]} {violation['nodes'][0]['failureSummary']}"
        for violation in Axe().run(page).response["violations"]
    ]
