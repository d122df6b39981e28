"""The documentation as a site: it builds without a warning, its links lead somewhere, and its tour
runs."""

import os
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from nbclient import NotebookClient

from tests.paths import CHECKOUT

DOCS = CHECKOUT / "docs"
NAVIGATION = tomllib.loads((DOCS / "site" / "navigation.toml").read_text(encoding="utf-8"))


class Links(HTMLParser):
    """What a page links to and loads, and the ids that it has."""

    def __init__(self, page: Path):
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids |= {value for name, value in attrs if name == "id" and value}
        self.links += [value for name, value in attrs if name in ("href", "src") and value]


def test_every_page_is_in_the_navigation() -> None:
    listed = {page for pages in NAVIGATION["pages"].values() for page in pages.values()}
    assert {page.name for page in DOCS.glob("*.md")} <= listed


@pytest.mark.full
def test_the_site_is_whole(tmp_path: Path) -> None:
    command = [sys.executable, str(DOCS / "make_site.py"), str(tmp_path / "site")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    root = tmp_path / "site" / "html"
    pages = {page: Links(page) for page in root.rglob("*.html") if page.name != "404.html"}
    assert len(pages) > 40
    for page, links in pages.items():
        for link in links.links:
            target = urlsplit(link)
            if target.scheme or target.netloc:
                continue
            place = (page.parent / unquote(target.path)).resolve() if target.path else page
            place = place / "index.html" if place.is_dir() else place
            assert place.exists(), f"{page.relative_to(root)}: {link}"
            if target.fragment and place in pages:
                assert unquote(target.fragment) in pages[place].ids, (
                    f"{page.relative_to(root)}: {link}"
                )
    loaded = re.findall(
        r'<(?:script|img)[^>]+src="(https?://[^"]+)',
        (root / "index.html").read_text(encoding="utf-8"),
    )
    assert not loaded
    assert "Does a vision-language model compose" in (root / "llms.txt").read_text(encoding="utf-8")
    commands = (root / "commands" / "index.html").read_text(encoding="utf-8")
    assert "gen render" in commands
    assert "--holdout" in commands


@pytest.mark.full
def test_the_tour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first cell to the last, with a training that is as short as can be."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(DOCS / "tour.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = re.sub(r"--epochs \d+", "--epochs 1", cell.source)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(
        output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])
    )
    assert "texts: 100%" in printed  # a notebook shows how far it is
    asked_why = notebook.cells[-2].outputs
    assert {"image/png"} <= {name for output in asked_why for name in output.get("data", {})}
    assert any("false" in output.get("text", "") for output in asked_why)
