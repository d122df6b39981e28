"""Write the site of a board: index.html with a table for each form, a page for each world with all
models, and a page for each model."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluator.metrics.formats import DASH, number
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import marked
from evaluator.report.figures import figures
from evaluator.report.page import render
from evaluator.runs.folder import folder_name
from evaluator.submissions.assemble import Board
from evaluator.submissions.form_spread import FormMean
from evaluator.submissions.marks import Mark
from evaluator.submissions.ranking import (
    BoardRow,
    Entrant,
    PooledForms,
    TrackTable,
    pool_forms,
    rank_tracks,
)
from evaluator.suite.page import table_html
from evaluator.suite.results import results_record
from evaluator.suite.scores import Score
from evaluator.suite.tables import overall_table
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
    tables = []
    for form in board.forms:
        tables += rank_tracks(form, board.entrants, board.declared)
    pooled = pool_forms(tables) if pools_forms else []
    out.mkdir(parents=True, exist_ok=True)
    model_pages = _number_pages([entrant.name for entrant in board.entrants], "model")
    world_pages = _write_worlds(tables, out)
    environment = page_environment("evaluator", "submissions/assets")
    environment.filters |= {"percent": _percent, "interval": _interval}
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
        published=[(result, table_html(overall_table(result))) for result in board.published],
    )
    write_text(out / HOME, home)
    write_json(out / _DATA, _data_of(board, tables, pooled))
    pages = [out / HOME]
    for entrant in board.entrants:
        page = environment.get_template("model.html.jinja").render(
            **shared,
            entrant=entrant,
            rows=_rows_of(entrant, tables),
            trainings=dict.fromkeys(run.training["sentence"] for run in entrant.runs),
        )
        pages.append(out / model_pages[entrant.name])
        write_text(pages[-1], page)
    return [*pages, *(out / file for file in world_pages.values())]


def _write_worlds(tables: Sequence[TrackTable], out: Path) -> dict[tuple[str, str], str]:
    """Write a page for each world of each table, with all rows and figures of all models.

    Returns: By title of the table and world, the file.
    """
    entries_of: dict[tuple[str, str], list[Results]] = {}
    for table in tables:
        for world in table.worlds:
            entries: list[Results] = []
            for row in table.rows:
                if world in row.worlds:
                    entries += row.worlds[world].entries
            if entries:
                entries_of[table.title, world] = entries
    files = _number_pages([" ".join(key) for key in entries_of], "world")
    pages = {}
    for key, entries in entries_of.items():
        # Names come from submissions, so control characters are escaped. Figures mark names
        # themselves.
        visible_entries = [{**entry, "model": visible(entry["model"])} for entry in entries]
        named = [{**entry, "model": marked(entry["model"], entry)} for entry in visible_entries]
        page = render(named, figures(visible_entries), home=HOME)
        pages[key] = files[" ".join(key)]
        write_text(out / pages[key], page)
    return pages


def _number_pages(names: Sequence[str], kind: str) -> dict[str, str]:
    """A file for each name. Numbers keep names apart that make the same file name."""
    pages = {}
    for place, name in enumerate(names, 1):
        pages[name] = f"{kind}-{place}-{folder_name(name)}.html"
    return pages


def _rows_of(entrant: Entrant, tables: Sequence[TrackTable]) -> list[tuple[TrackTable, BoardRow]]:
    """The rows of a model, each with the table that it is in."""
    rows = []
    for table in tables:
        for row in table.rows:
            if row.entrant.name == entrant.name:
                rows.append((table, row))
    return rows


def _data_of(
    board: Board, tables: Sequence[TrackTable], pooled: Sequence[PooledForms]
) -> dict[str, Any]:
    """The tables as JSON data."""
    forms = []
    for table in tables:
        forms.append(
            {
                **table.form.record(),
                "track": table.track,
                "split": "unseen" if table.is_unseen else "all",
                "rows": [_data_of_row(row) for row in table.rows],
            }
        )
    over_forms = []
    for of_suite in pooled:
        spread = of_suite.spread
        over_forms.append(
            {
                "suite": of_suite.title,
                "forms": [form.name for form in of_suite.forms],
                "sd": spread.sd,
                "freedom": spread.freedom,
                "models": {model: asdict(mean) for model, mean in spread.means.items()},
            }
        )
    return {
        "tables": forms,
        "over_forms": over_forms,
        "refused": {Path(folder).name: reason for folder, reason in board.refused.items()},
        "unanswered": board.unanswered,
        "published": [results_record(result) for result in board.published],
    }


def _data_of_row(row: BoardRow) -> dict[str, Any]:
    """A row of a table as JSON data."""
    submission = row.entrant.submission
    worlds = {}
    for world, of_world in row.worlds.items():
        worlds[world] = None if of_world.score is None else of_world.score.record()
    return {
        "model": row.entrant.name,
        "submission": None if submission is None else submission.digest,
        "mark": str(row.mark.mark),
        "why": row.mark.why,
        "rank": row.rank,
        "why_unranked": row.why_unranked,
        "mean": None if row.mean is None else row.mean.record(),
        "training": row.training,
        "text_only": row.entrant.is_text_only,
        "worlds": worlds,
    }


def _percent(value: float | None) -> str:
    """A skill in percent, or a dash."""
    return number(value, "skill")


def _interval(score: Score | FormMean) -> str:
    """The interval of a skill, or "" without one."""
    if score.low is None or score.high is None:
        return ""
    return f"[{_percent(score.low)}, {_percent(score.high)}]"


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
    for table in data["tables"]:
        suite = f"{table['suite']}-{table['version']} ({table['part']})" if table["suite"] else ""
        parts = (suite, table["form"], table["track"])
        title = " ".join(part for part in parts if part)
        lines.append(f"{title}, {table['split']}:")
        for row in table["rows"]:
            place = DASH if row["rank"] is None else str(row["rank"])
            value = None if row["mean"] is None else row["mean"]["value"]
            lines.append(f"{place:>3} {_percent(value):>6}  {row['mark']:13} {row['model']}")
    for record in data["published"]:
        title = f"{record['suite']} ({record['part']}) {record['form']}"
        lines.append(f"{title}, published without scores: {len(record['models'])} models")
    return "\n".join(lines)
