"""The command `score measure`."""

from pathlib import Path
from typing import Any

import click

from evaluator.cli.options import FILE, FOLDER, FULL, JSON, JSONL, NEW_FOLDER, options_of
from evaluator.runs.request import Request
from generator.base.commands import Command, DatasetFolder, Number, say
from generator.base.errors import UserError


@click.command(
    cls=Command,
    examples=[
        "measure run",
        "measure --items scores.csv --out mine",
        "measure --items scores.jsonl --dataset small --out mine",
    ],
)
@click.argument("runs", type=FOLDER, nargs=-1)
@click.option(
    "--items",
    type=FILE,
    help="Table of scores from elsewhere (.csv, .tsv, .jsonl or .parquet), instead of RUNS, or a log of lmms-eval, "
    "Inspect or VLMEvalKit on questions of `gen export`. docs/models.md lists the columns.",
)
@click.option("--dataset", type=DatasetFolder(), help="Dataset whose scene_id and text_id the table has.")
@click.option(
    "--benchmark", help="Benchmark of --dataset, if it has several; without it, what to call that of the table."
)
@click.option("--model", help="What to call the model whose scores the table has.  [default: the table's name]")
@click.option("--out", type=NEW_FOLDER, help="Folder to write for --items.  [default: runs/BENCHMARK/MODEL]")
@click.option("--probabilities", is_flag=True, help="Read the table's scores as probabilities, by their log-odds.")
@click.option(
    "--tolerance",
    type=Number(min=0),
    help="Scores a and b tie where |a - b| <= TOLERANCE * max(1, |a|, |b|).  [default: that of the run, else 1e-5]",
)
@options_of(Request, "splits", "level", "channel")
@FULL
@JSONL
@JSON
def measure(
    runs: tuple[Path, ...],
    channel: str | None,
    full: bool,
    jsonl: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Compute the results of RUNS again from their scores, without the model; or those of scores from elsewhere
    (--items).

    Runs of one model are printed as one, pooled over block seeds and training seeds (docs/statistics.md).
    """
    from evaluator.cli.results_table import print_results
    from evaluator.report.files import write_latex
    from evaluator.runs.elsewhere import Source, measure_items
    from evaluator.runs.folder import split_run
    from evaluator.runs.measure import measure as compute
    from evaluator.runs.measure import write_items

    splits, tolerance, level = (given[name] for name in ("splits", "tolerance", "level"))
    if bool(runs) == (given["items"] is not None):
        raise UserError("Expected RUNS or --items, one of them; `score measure --help` says what each is.")
    if not runs:
        if channel is not None:
            raise UserError("--channel belongs to RUNS; a table of --items has one score, leave --channel out.")
        run, found = measure_items(Source(**given))
        say(f"Scores and results are in {run}. Next: score report {run}")
        runs, results = (run,), [found]
    else:
        of_items = ("dataset", "benchmark", "model", "out", "probabilities")
        if alone := [name for name in of_items if given[name]]:
            raise UserError(f"--{alone[0]} belongs to --items; leave it out to measure {runs[0]} again.")
        for run in runs if splits else ():
            split_run(run, splits)
        results = [compute(run, channel, tolerance, level) for run in runs]
    for run, found in zip(runs, results, strict=True):
        write_latex(found, run)
        if jsonl:
            write_items(run, channel, tolerance, level)
    print_results(results, full, as_json)
