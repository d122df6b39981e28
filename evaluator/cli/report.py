"""The commands that show runs: `score report`, `score tables`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evaluator.cli.options import FOLDER, FULL, JSON, NEW_FOLDER
from generator.base.commands import Command, OutFile, result, say
from generator.base.errors import UserError

if TYPE_CHECKING:
    from evaluator.report.audit_results import Audit


@click.command(
    cls=Command,
    examples=["report run", "report CLIP=run-a SigLIP=run-b --out report.html --figures figures"],
)
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN...")
@click.option(
    "--out",
    type=OutFile(".html"),
    help="HTML file to write.  [default: report.html beside the first run]",
)
@click.option(
    "--figures",
    "figures_folder",
    type=NEW_FOLDER,
    help="Folder to write each figure to, as SVG, PDF and PNG.",
)
@click.option(
    "--dataset",
    "moved",
    type=FOLDER,
    multiple=True,
    help="Folder of a moved dataset. Can be repeated.",
)
@click.option(
    "--inline",
    is_flag=True,
    help="Embed images of up to 512 pixels in place of thumbnails, for few items.",
)
@click.option(
    "--hub",
    type=NEW_FOLDER,
    help="Folder of a model's repository on the Hugging Face Hub: write the main results into the "
    "metadata (model-index) of its README.md, whose text is kept.",
)
@click.option(
    "--hub-dataset",
    metavar="OWNER/NAME",
    help=(
        "With --hub, also write .eval_results/NAME.yaml for the benchmark in this dataset of the "
        "Hub."
    ),
)
@FULL
@JSON
def report(
    runs: tuple[str, ...],
    out: Path | None,
    figures_folder: Path | None,
    moved: tuple[Path, ...],
    inline: bool,
    hub: Path | None,
    hub_dataset: str | None,
    full: bool,
    as_json: bool,
) -> None:
    """Print the results of [NAME=]RUN... and write them to one HTML page with figures and all
    items, and as CSV, Markdown and LaTeX beside it.

    Runs of one model are pooled over block seeds and training seeds (docs/statistics.md). NAME=RUN
    names the model of a
    run; runs with the same name are pooled. RUN can also be a folder of `score familiarity`, `score
    probe` or
    `score embeddings` or the JSON of `score compare`: the page shows its figures. Runs of
    `score ask --form describe` and `--form attributes` have a page of their own
    (docs/descriptions.md).
    """
    from evaluator.runs.answered_attributes import is_attributes
    from evaluator.runs.described import is_described

    # Imported only for such runs: each page brings libraries of its own.
    if any(map(is_described, runs)):
        if hub or hub_dataset:
            raise UserError("--hub is not for runs of descriptions; leave it out.")
        from evaluator.cli.describe import report_descriptions

        report_descriptions(
            runs, out, drawn=figures_folder, moved=moved, inline=inline, full=full, as_json=as_json
        )
        return
    if any(map(is_attributes, runs)):
        if hub or hub_dataset:
            raise UserError("--hub is not for runs of attributes; leave it out.")
        from evaluator.cli.attributes import report_attributes

        report_attributes(runs, out, full=full, as_json=as_json)
        return
    _report_runs(
        runs,
        out,
        figures_folder=figures_folder,
        moved=moved,
        inline=inline,
        hub=hub,
        hub_dataset=hub_dataset,
        full=full,
        as_json=as_json,
    )


def _report_runs(
    runs: Sequence[str],
    out: Path | None,
    *,
    figures_folder: Path | None,
    moved: Sequence[Path],
    inline: bool,
    hub: Path | None,
    hub_dataset: str | None,
    full: bool,
    as_json: bool,
) -> None:
    """Write the page of runs of questions, and print their results. The parameters are those of
    `report`."""
    from evaluator.analysis.pooling import pool_runs
    from evaluator.cli.results_table import print_results
    from evaluator.report.figure import write_figures
    from evaluator.report.page import figures_of_audits, write_page
    from evaluator.runs.folder import as_written, is_unfinished, read_named

    _check_hub(hub, hub_dataset)
    audits = _read_audits(runs)
    # A report of a long series is wanted before its last run ends.
    unfinished = [run for run in runs if is_unfinished(run)]
    named = [read_named(run, moved) for run in runs if run not in audits and run not in unfinished]
    if not named:
        raise UserError(
            "Expected one finished RUN or more; run the same `score run` again to finish one."
        )
    path = out or named[0].run.folder.resolve().parent / "report.html"
    results, drawings = write_page(
        named,
        path,
        more=figures_of_audits(list(audits.values())),
        unfinished=unfinished,
        inline=inline,
    )
    for run in unfinished:
        say(f"{run} is unfinished; the page says so and leaves its results out.")
    if figures_folder:
        figure_files = write_figures(drawings, figures_folder)
        say(f"{len(figure_files)} files of figures are in {figures_folder}.")
    if hub:
        from evaluator.report.files import write_hub

        hub_files = write_hub(pool_runs(results), hub, hub_dataset)
        say(f"Results for the Hub are in {', '.join(map(str, hub_files))}.")
    if not as_json:
        print_results(results, full, as_json)
    data = {
        "report": str(path),
        "results": [as_written(entry) for entry in results],
        "pooled": pool_runs(results),
    }
    result(data, as_json, str(path))


def _check_hub(hub: Path | None, hub_dataset: str | None) -> None:
    """Raise UserError for wrong options of the Hub, before the page is written."""
    from evaluator.report.files import check_hub_dataset

    if hub_dataset and not hub:
        raise UserError(
            "--hub-dataset belongs to --hub; give the folder of the model's repository with --hub."
        )
    if hub_dataset:
        check_hub_dataset(hub_dataset)


def _read_audits(runs: Sequence[str]) -> "dict[str, Audit]":
    """{argument: its audit} for the arguments that are not runs. Raises UserError for an audit that
    the page does not show."""
    from evaluator.report.audit_results import read_audit
    from evaluator.report.page import DRAWING_OF_COMMAND

    audits = {}
    for run in runs:
        audit = read_audit(run)
        if audit is None:
            continue
        # A result that is left out silently would be missed only by who knows that it should be
        # there.
        if audit.command not in DRAWING_OF_COMMAND:
            raise UserError(f"The page shows nothing of `{audit.command}`; leave {audit.path} out.")
        audits[run] = audit
    return audits


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
    help=(
        "Run of the model before its training, on a benchmark that it was not trained for. Can be "
        "repeated."
    ),
)
@click.option(
    "--after",
    multiple=True,
    metavar="LABEL=RUN",
    help=(
        "Run of the trained model on the same benchmark, to show what training changed elsewhere. "
        "Can be repeated."
    ),
)
@click.option(
    "--out", type=NEW_FOLDER, help="Folder to write tableN.csv, .md and .tex to, and figureN.svg."
)
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
    """Make the tables of PAPER from [LABEL=]RUN...: bindsplit2026, hard-positives2024, crepe2023,
    compass2026 or pearson2025.

    Runs of one label are pooled over block seeds and training seeds. A label can have parts, as in
    "dual / labclip=RUN". RUN can also be a folder of `score familiarity` or a file of `score
    audit`. docs/tables.md says what each table shows.
    """
    from evaluator.cli.results_table import print_paper_table
    from evaluator.papers.inputs import read_inputs
    from evaluator.papers.paper import find_paper, make_paper, write_paper
    from evaluator.report.writers import csv_rows

    # With reasons alone the tables show which rows are planned.
    if not (runs or missing or after):
        raise UserError("Expected one RUN or more, such as CLIP=RUN.")
    outputs = make_paper(find_paper(paper), read_inputs(runs, missing, before=before, after=after))
    files = write_paper(outputs, out) if out else []
    if not as_json:
        for table in outputs.tables.values():
            print_paper_table(table)
    for line in outputs.not_made:
        say(line)
    if out:
        say(f"{len(files)} files are in {out}.")
    if not as_json:
        return
    table_data = {}
    for name, table in outputs.tables.items():
        table_data[name] = {
            "title": table.title,
            "cells": csv_rows(table),
            "notes": table.all_notes(),
            "mark": table.mark,
        }
    data = {
        "paper": paper,
        "tables": table_data,
        "not_made": list(outputs.not_made),
        "files": [str(file) for file in files],
    }
    result(data, True, "")
