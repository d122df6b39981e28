"""Write the site of a board: index.html with a table for each form, a page for each world with all
models, and a page for each model."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluator.provenance.contamination import marked
from evaluator.report.figures import figures
from evaluator.report.page import render
from evaluator.report.table import number
from evaluator.runs.folder import folder_name
from evaluator.submissions.assemble import Board
from evaluator.submissions.marks import Mark
from evaluator.submissions.ranking import (
    BoardRow,
    Entrant,
    FormTable,
    PooledForms,
    pool_forms,
    rank_form,
)
from generator.base.errors import visible
from generator.base.files import write_json, write_text
from generator.base.pages import page_environment

HOME = "index.html"
_DATA = "leaderboard.json"
"""The tables as data, beside the home page."""
_MEANINGS = {
    Mark.SELF_REPORTED: "computed again from the scores, which the sender made",
    Mark.RE_RUN: "the organiser asked the model random items again, with equal results",
    Mark.CHALLENGED: "re-run, on a form that was drawn after the model was committed",
}
"""What each mark means."""


def write_board(board: Board, out: Path, *, title: str, pools_forms: bool = False) -> list[Path]:
    """Write the site of a board.

    Args:
        board: The board.
        out: The folder to write.
        title: The title of the site.
        pools_forms: Whether to compare models over forms too.

    Returns:
        The pages, the home page first.

    Raises:
        UserError: Runs of one model and world differ in more than their turn.
    """
    tables = [rank_form(form, board.entrants) for form in board.forms]
    pooled = pool_forms(tables) if pools_forms else []
    out.mkdir(parents=True, exist_ok=True)
    model_pages = _number_pages([entrant.name for entrant in board.entrants], "model")
    world_pages = _write_worlds(board, tables, out)
    environment = page_environment("evaluator", "submissions/assets")
    environment.filters |= {"percent": _percent, "interval": _interval, "in_points": _in_points}
    shared = {
        "title": title,
        "meanings": _MEANINGS,
        "model_pages": model_pages,
        "world_pages": world_pages,
    }
    home = environment.get_template("board.html.jinja").render(
        **shared,
        tables=tables,
        pooled=pooled,
        refused={Path(folder).name: reason for folder, reason in board.refused.items()},
        unanswered=board.unanswered,
        intervals_of=_mean_intervals(pooled),
    )
    write_text(out / HOME, home)
    write_json(out / _DATA, _data_of(board, tables, pooled))
    pages = [out / HOME]
    for entrant in board.entrants:
        page = environment.get_template("model.html.jinja").render(
            **shared, entrant=entrant, rows=_rows_of(entrant, tables)
        )
        pages.append(out / model_pages[entrant.name])
        write_text(pages[-1], page)
    return [*pages, *(out / file for file in world_pages.values())]


def _write_worlds(
    board: Board, tables: Sequence[FormTable], out: Path
) -> dict[tuple[str, str], str]:
    """Write a page for each world of each form, with all rows and figures of all models.

    Returns: By form and column, the file.
    """
    keys = []
    entries_of: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for table in tables:
        pooled_of = {entrant.name: entrant.pooled(table.form) for entrant in board.entrants}
        for column in table.columns:
            key = (table.form.title, column.name)
            keys.append(key)
            of_world = []
            for pooled in pooled_of.values():
                if column.name in pooled:
                    of_world.append(pooled[column.name])
            entries_of[key] = []
            for entry in of_world:
                entries_of[key].append({**entry, "model": visible(entry["model"])})
    files = _number_pages([" ".join(key) for key in keys], "world")
    pages = {}
    for key in keys:
        entries = entries_of[key]
        named = [{**entry, "model": marked(entry["model"], entry)} for entry in entries]
        pages[key] = files[" ".join(key)]
        write_text(out / pages[key], render(named, figures(entries), home=HOME))
    return pages


def _number_pages(names: Sequence[str], kind: str) -> dict[str, str]:
    """A file for each name. Numbers keep names apart that make the same file name."""
    pages = {}
    for place, name in enumerate(names, 1):
        pages[name] = f"{kind}-{place}-{folder_name(name)}.html"
    return pages


def _rows_of(entrant: Entrant, tables: Sequence[FormTable]) -> list[tuple[FormTable, BoardRow]]:
    """The rows of a model, each with the table that it is in."""
    rows = []
    for table in tables:
        for row in table.rows:
            if row.entrant.name == entrant.name:
                rows.append((table, row))
    return rows


def _mean_intervals(pooled: Sequence[PooledForms]) -> dict[str, dict[str, dict[str, Any]]]:
    """By suite and model, the mean over forms as a row with an interval."""
    intervals: dict[str, dict[str, dict[str, Any]]] = {}
    for of_suite in pooled:
        means = of_suite.spread.means
        intervals[of_suite.title] = {
            model: {**asdict(mean), "unit": "share"} for model, mean in means.items()
        }
    return intervals


def _data_of(
    board: Board, tables: Sequence[FormTable], pooled: Sequence[PooledForms]
) -> dict[str, Any]:
    """The tables as JSON data."""
    forms = []
    for table in tables:
        rows = []
        for row in table.rows:
            submission = row.entrant.submission
            rows.append(
                {
                    "model": row.entrant.name,
                    "submission": None if submission is None else submission.digest,
                    "mark": str(row.mark.mark),
                    "why": row.mark.why,
                    "rank": row.rank,
                    "why_unranked": row.why_unranked,
                    "mean": row.mean,
                    "low": row.low,
                    "high": row.high,
                    "training": row.training,
                    "worlds": [_cell_data(cell) for cell in row.cells],
                }
            )
        forms.append(
            {
                **table.form.record(),
                "columns": [asdict(column) for column in table.columns],
                "rows": rows,
            }
        )
    return {
        "forms": forms,
        "over_forms": [
            {
                "suite": of_suite.title,
                "forms": [form.name for form in of_suite.forms],
                "sd": of_suite.spread.sd,
                "freedom": of_suite.spread.freedom,
                "models": {model: asdict(mean) for model, mean in of_suite.spread.means.items()},
            }
            for of_suite in pooled
        ],
        "refused": {Path(folder).name: reason for folder, reason in board.refused.items()},
        "unanswered": board.unanswered,
    }


def _cell_data(cell: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The numbers of a cell."""
    if cell is None:
        return None
    return {name: cell[name] for name in ("value", "low", "high", "items", "chance")}


def _percent(value: float | None) -> str:
    """A share in percent, or a dash."""
    return number(value, "share")


def _in_points(value: float | None) -> str:
    """A difference of shares in points, without a sign; a dash for none."""
    return number(None if value is None else abs(value), "share")


def _interval(row: Mapping[str, Any] | BoardRow) -> str:
    """The interval of a row, or "" without one."""
    ends = row if isinstance(row, Mapping) else {"low": row.low, "high": row.high}
    if ends["low"] is None or ends["high"] is None:
        return ""
    return f"[{_percent(max(0.0, ends['low']))}, {_percent(min(1.0, ends['high']))}]"


def describe_refusals(refused: Mapping[str, str]) -> list[str]:
    """Write a line for each refused submission.

    Args:
        refused: By folder, the sentence why it is refused.

    Returns:
        The lines.
    """
    return [f"Refused: {folder}: {reason}" for folder, reason in refused.items()]


def board_as_text(out: Path) -> str:
    """Read the tables of a written board.

    Args:
        out: The folder of the site.

    Returns:
        A line for each model of each form.
    """
    data = json.loads((out / _DATA).read_text(encoding="utf-8"))
    lines = []
    for form in data["forms"]:
        for row in form["rows"]:
            place = "–" if row["rank"] is None else str(row["rank"])
            lines.append(f"{place:>3} {_percent(row['mean']):>5}  {row['mark']:13} {row['model']}")
    return "\n".join(lines)
