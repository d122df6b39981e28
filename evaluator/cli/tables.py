"""The command `score tables`."""

from pathlib import Path

import click

from evaluator.cli.options import JSON, NEW_FOLDER
from generator.base.commands import Command, result, say
from generator.base.errors import UserError


@click.command(cls=Command, examples=["tables crepe2023 run-a run-b --out tables"])
@click.argument("paper", metavar="PAPER")
@click.argument("runs", nargs=-1, metavar="[LABEL=]RUN...")
@click.option(
    "--missing",
    multiple=True,
    metavar="LABEL=REASON",
    help="Why a label has no run, or not all runs. Can be repeated.",
)
@click.option(
    "--before",
    multiple=True,
    metavar="LABEL=RUN",
    help="Run of the model that a training started from, on a benchmark that was not trained for. Can be repeated.",
)
@click.option(
    "--after",
    multiple=True,
    metavar="LABEL=RUN",
    help="Run of the trained model on the same benchmark: what training changed elsewhere. Can be repeated.",
)
@click.option("--out", type=NEW_FOLDER, help="Folder to write tableN.csv, .md and .tex to, and figureN.svg.")
@JSON
def tables(
    paper: str,
    runs: tuple[str, ...],
    missing: tuple[str, ...],
    before: tuple[str, ...],
    after: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """Make the tables of PAPER from [LABEL=]RUN...: bindsplit2026, hard-positives2024, crepe2023, compass2026 or
    pearson2025.

    Runs of one label are pooled over block seeds and training seeds. A label can have parts, as in "dual /
    labclip=RUN". Folders of `score familiarity` and files of `score audit` can stand among the runs. docs/tables.md
    says what each table shows.
    """
    from evaluator.cli.results_table import print_paper_table
    from evaluator.report.papers.given import read_given
    from evaluator.report.papers.paper import find_paper, make_paper, write_paper
    from evaluator.report.writers import csv_rows

    if not (runs or missing or after):
        raise UserError("Expected one RUN or more, such as CLIP=RUN.")
    made = make_paper(find_paper(paper), read_given(runs, missing, before, after))
    files = write_paper(made, out) if out else []
    if not as_json:
        for table in made.tables.values():
            print_paper_table(table)
    for line in made.not_made:
        say(line)
    if out:
        say(f"{len(files)} files are in {out}.")
    if as_json:
        found = {
            name: {"title": table.title, "cells": csv_rows(table), "notes": table.said(), "mark": table.mark}
            for name, table in made.tables.items()
        }
        data = {
            "paper": paper,
            "tables": found,
            "not_made": list(made.not_made),
            "files": [str(file) for file in files],
        }
        result(data, True, "")
