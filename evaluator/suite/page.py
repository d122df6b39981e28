"""The pages of a suite's results: index.html with all models and tracks, and a page of each world
as `score report` writes it."""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from evaluator.report.descriptions.page import write_description_page
from evaluator.report.page import write_page
from evaluator.report.table import Column, Table
from evaluator.report.writers import markdown, write_csv_rows
from evaluator.suite.results import SuiteResult, WorldResult
from evaluator.suite.tables import overall_table, track_table
from generator.base.files import write_text
from generator.base.pages import page_environment

HOME = "index.html"
_PAGES = "pages"
"""Folder of the pages of worlds."""


def write_pages(result: SuiteResult, folder: Path, moved: tuple[Path, ...] = ()) -> Path:
    """Write index.html, beside it the main table as .csv and .md, and pages/TRACK-WORLD.html.

    Args:
        result: The results.
        folder: The folder to write.
        moved: Folders of datasets that were moved since.

    Returns:
        The path of index.html.

    Raises:
        UserError: A dataset is missing.
    """
    links = {}
    for track_name, track in result.suite.tracks.items():
        for world_name in track.worlds:
            results_of_world = []
            for world_result in result.worlds:
                if (world_result.track, world_result.world) == (track_name, world_name):
                    results_of_world.append(world_result)
            if results_of_world:
                page = folder / _PAGES / f"{track_name}-{world_name}.html"
                _write_world_page(results_of_world, page, moved)
                links[track_name, world_name] = f"{_PAGES}/{page.name}"

    overall = overall_table(result)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / HOME
    write_text(path, _render(result, links))
    write_text(path.with_suffix(".md"), markdown(overall))
    write_csv_rows(overall, path.with_suffix(".csv"))
    return path


def _write_world_page(results: list[WorldResult], page: Path, moved: tuple[Path, ...]) -> None:
    """Write the page of the results of models in one world."""
    described = [run for result in results for run in result.described]
    # A world is asked for scores or for descriptions, never for both, so its results have one page.
    if described:
        write_description_page(described, page, moved=moved)
        return
    write_page([run for result in results for run in result.runs], page)


def _render(result: SuiteResult, links: dict[tuple[str, str], str]) -> str:
    """Fill in the template of index.html. links: by track and world, the page of the world."""
    tracks: list[dict[str, Any]] = []
    for name, track in result.suite.tracks.items():
        results_of_track = [one for one in result.worlds if one.track == name]
        verdicts = []
        for one in results_of_track:
            verdicts += [(one.world, one.label, sentence) for sentence in one.verdicts]
        tracks.append(
            {
                "name": name,
                "about": track.about,
                "trained": track.trained,
                "table": track_table(result, name) if results_of_track else None,
                "verdicts": verdicts,
                "worlds": [
                    (world, world_of_track.about, links.get((name, world), ""))
                    for world, world_of_track in track.worlds.items()
                ],
            }
        )
    # Models without any result. Of the others the tables say why a track is missing.
    left_out = []
    for (model, track_name), reason in result.left_out.items():
        if model not in result.models:
            left_out.append((model, track_name, reason))
    environment = page_environment("evaluator", "suite")
    template = environment.get_template("page.html.jinja")
    table = overall_table(result)
    return template.render(
        suite=result.suite,
        table=table,
        groups=_groups(table),
        tracks=tracks,
        left_out=left_out,
    )


def table_html(table: Table) -> str:
    """Write a table of a suite for another page.

    Args:
        table: The table.

    Returns:
        The table with its notes as HTML. Templates do not escape it: Jinja has marked it as safe.
    """
    template = page_environment("evaluator", "suite").get_template("table.html.jinja")
    show: Callable[..., str] = vars(template.module)["show"]
    return show(table, _groups(table))


def _groups(table: Table) -> list[tuple[str, int]]:
    """The heads that span columns, and how many columns each spans. The columns of a head are
    neighbours."""
    return [(name, len(list(columns))) for name, columns in groupby(table.columns, _group_of)]


def _group_of(column: Column) -> str:
    return column.group
