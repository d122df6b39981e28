"""Writes the documentation as a site: `python docs/make_site.py [FOLDER]`, by default into site/.
Run by `make docs`.

The pages are README.md, docs/*.md and docs/tour.ipynb; the pages of commands and of Python are made
from the code. Zensical builds them: it continues MkDocs Material, which stopped in 2026, and reads
the same Markdown.
"""

import base64
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import tomli_w
from nbconvert import MarkdownExporter
from traitlets.config import Config

from evaluator.cli.main import main as score
from generator.cli.main import main as gen

DOCS = Path(__file__).parent
ROOT = DOCS.parent
NAVIGATION = tomllib.loads((DOCS / "site" / "navigation.toml").read_text(encoding="utf-8"))


def write_pages(folder: Path) -> None:
    """Every page of the site as Markdown, with links as they are there."""
    folder.mkdir(parents=True)
    for name in ("images", "texts", "examples"):
        shutil.copytree(DOCS / name, folder / name)
    for page in DOCS.glob("*.md"):
        _write(
            folder / page.name,
            page.read_text(encoding="utf-8").replace("](../README.md", "](index.md"),
        )
    for source, name in (
        ("README.md", "index.md"),
        ("CHANGELOG.md", "changes.md"),
        ("CONTRIBUTING.md", "contributing.md"),
    ):
        text = (
            (ROOT / source)
            .read_text(encoding="utf-8")
            .replace("](docs/", "](")
            .replace("](CHANGELOG.md", "](changes.md")
        )
        text = re.sub(
            r"^.*img\.shields\.io.*\n\n", "", text, flags=re.MULTILINE
        )  # the site asks no other host
        _write(folder / name, text.replace("](CONTRIBUTING.md", "](contributing.md"))
    shutil.copy(ROOT / "CITATION.cff", folder)
    _write(folder / "commands.md", _commands())
    _write(folder / "python.md", _python())
    _write_tour(folder)
    _write(folder / "llms.txt", _index_of_pages(folder))


def _write(path: Path, text: str) -> None:
    path.write_text(text.replace("](tour.ipynb", "](tour.md"), encoding="utf-8")


def _commands() -> str:
    """What every command prints with --help, a heading for each."""
    parts = ["# Commands\n"]
    for context in commands():
        depth = "#" * (1 + len(context.command_path.split()))
        parts.append(
            f"{depth} {context.command_path}\n\n```text\n{context.command.get_help(context)}\n```\n"
        )
    return "\n".join(parts)


def commands() -> list[click.Context]:
    """A context for `gen`, for `score` and for every command below them."""
    return [*_walk(gen, "gen"), *_walk(score, "score")]


def _walk(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[click.Context]:
    context = click.Context(
        command, info_name=name, parent=parent, max_content_width=90, **command.context_settings
    )
    yield context
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield from _walk(below, each, context)


def _python() -> str:
    """The reference of what a notebook imports."""
    names = [name for section in NAVIGATION["python"].values() for name in section]
    return "# Python reference\n" + "".join(f"\n::: {name}\n" for name in names)


def _write_tour(folder: Path) -> None:
    """The notebook as a page, with its pictures beside it."""
    config = Config({"ExtractOutputPreprocessor": {"enabled": True}})
    text, resources = MarkdownExporter(config=config).from_filename(
        str(DOCS / "tour.ipynb"), resources={"unique_key": "tour", "output_files_dir": "tour"}
    )
    (folder / "tour").mkdir()
    for name, data in resources["outputs"].items():
        (folder / name).write_bytes(data)
    text = re.sub(
        "<svg.*?</svg>", _picture, text, flags=re.DOTALL
    )  # which the site's own style would change
    _write(folder / "tour.md", re.sub("\x1b\\[[0-9;]*m", "", text))  # colours of a terminal


def _picture(svg: re.Match[str]) -> str:
    return (
        f'<img alt="accuracy by split" '
        f'src="data:image/svg+xml;base64,{base64.b64encode(svg[0].encode()).decode()}">'
    )


def _index_of_pages(folder: Path) -> str:
    """llms.txt: the pages of the site with a title each, as llmstxt.org has it."""
    about = re.search(
        r"^\*\*(.+?)\*\*", (folder / "index.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    lines = ["# Jackalope", "", f"> {about[1] if about else ''}"]
    for heading, pages in NAVIGATION["pages"].items():
        lines += ["", f"## {heading}", ""]
        lines += [f"- [{title}]({page.removesuffix('.md')}/)" for title, page in pages.items()]
    return "\n".join(lines) + "\n"


def build(out: Path) -> Path:
    """Builds the site in `out`/html; a warning ends it."""
    shutil.rmtree(out, ignore_errors=True)
    write_pages(out / "pages")
    config = tomllib.loads((DOCS / "site" / "zensical.toml").read_text(encoding="utf-8"))
    config["project"]["nav"] = [
        {heading: [{title: page} for title, page in pages.items()]}
        for heading, pages in NAVIGATION["pages"].items()
    ]
    _write(out / "zensical.toml", tomli_w.dumps(config))
    subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "-f", "zensical.toml"],
        cwd=out,
        check=True,
    )
    return out / "html"


if __name__ == "__main__":
    print(build(Path(sys.argv[1] if sys.argv[1:] else ROOT / "site")))
