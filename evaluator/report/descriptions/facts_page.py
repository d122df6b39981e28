"""The page of runs of attributes alone: how facts were answered that were asked one by one, and
answers that are wrong."""

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.provenance.contamination import describe_training, mark_of
from evaluator.report.descriptions.measures import measures_table, title_of
from evaluator.report.writers import latex, markdown
from evaluator.runs.answered_attributes import AttributesRun
from generator.base.errors import UserError, visible
from generator.base.files import write_text
from generator.base.pages import page_environment
from generator.base.tables import write_csv

_MEANS_NOTE = (
    "Mean over images of the share of its questions, in percent; a difference is in points. "
    "Exchanged: another object of the image has the value. Invented: none has it."
)
"""What the numbers are."""
_WRONG_SHOWN = 60
"""Most wrong answers of a model that the page shows."""


def write_facts_page(runs: Sequence[AttributesRun], out: Path) -> None:
    """Write a page, and beside it the rows as .csv and the table as .md and .tex.

    Measures nothing, changes no run, and needs no dataset.

    Args:
        runs: Runs of attributes over the same world.
        out: The file of the page.

    Raises:
        UserError: The runs are of different worlds.
    """
    worlds = {(run.record["world"], run.record["benchmark"]) for run in runs}
    if len(worlds) > 1:
        raise UserError("The runs ask about different worlds; make a page for each.")
    table = measures_table(runs, "Facts one by one", _MEANS_NOTE)
    environment = page_environment("evaluator", "report/assets")
    page = environment.get_template("facts.html.jinja").render(
        table=table,
        runs=[_run_data(run) for run in runs],
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, page)
    rows = []
    for run in runs:
        for row in run.record["rows"]:
            rows.append({"model": visible(run.name), **row})
    write_csv(out.with_suffix(".csv"), pa.Table.from_pylist(rows))
    write_text(out.with_suffix(".md"), markdown(table))
    write_text(out.with_suffix(".tex"), latex(table))


def _run_data(run: AttributesRun) -> dict[str, Any]:
    """What the template shows of a run."""
    wrong = [line for line in run.lines if line["verdict"] not in (None, "right")]
    counts = run.record["answers"]
    return {
        "model": title_of(run),
        "mark": mark_of(run.record),
        "training": describe_training(dict(run.record)),
        "answered": counts["answered"],
        "questions": counts["questions"],
        "unread": counts["unread"],
        "n_wrong": len(wrong),
        "wrong": [_wrong_data(line) for line in _spread(wrong)],
    }


def _spread(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """At most _WRONG_SHOWN lines, evenly spaced, so that they are of all splits and kinds."""
    # Rounded up, or a few lines too many would be left.
    step = max(1, ceil(len(lines) / _WRONG_SHOWN))
    return list(lines[::step])


def _wrong_data(line: Mapping[str, Any]) -> dict[str, str]:
    """What the template shows of a wrong answer. Only the first line of the question is its own;
    the others are the same for all."""
    return {
        "scene": str(line["scene_id"]),
        "split": str(line["split"] or ""),
        "question": str(line.get("question", "")).partition("\n")[0],
        "answer": str(line.get("answer") or ""),
        "value": line["value"],
        "verdict": line["verdict"],
    }
