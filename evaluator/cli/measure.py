"""The command `score measure`."""

from pathlib import Path

import click

from evaluator.cli.options import CHANNEL, FILE, FOLDER, FULL, JSON, LEVEL, NEW_FOLDER
from generator.dataset.commands import DatasetFolder, Number, result, say
from generator.dataset.errors import UserError


@click.command()
@click.argument("run", type=FOLDER, required=False)
@click.option(
    "--items",
    type=FILE,
    help="Table of scores from elsewhere (.csv, .tsv, .jsonl or .parquet), instead of RUN. docs/models.md lists its columns.",
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
@LEVEL
@CHANNEL
@FULL
@JSON
def measure(
    run: Path | None, items: Path | None, dataset: Path | None, benchmark: str | None, model: str | None, out: Path | None,
    probabilities: bool, tolerance: float | None, level: float | None, channel: str | None, full: bool, as_json: bool,
) -> None:  # fmt: skip
    """Compute the results of RUN again from its scores, without the model; or those of scores from elsewhere (--items)."""
    from evaluator.cli.results_table import print_table
    from evaluator.measure import measure as compute
    from evaluator.report.latex import write_latex

    if (run is None) == (items is None):
        raise UserError("Expected a RUN or --items, one of them; `score measure --help` says what each is.")
    if items is not None and channel is not None:
        raise UserError("--channel belongs to a RUN; a table of --items has one score, leave --channel out.")
    if items is not None:
        from evaluator.elsewhere.run import Source, measure_items

        source = Source(items, dataset, benchmark, model, out, probabilities, tolerance, level)
        run, results = measure_items(source)
        say(f"Scores and results are in {run}. Next: score report {run}")
    else:
        given = {
            "--dataset": dataset,
            "--benchmark": benchmark,
            "--model": model,
            "--out": out,
            "--probabilities": probabilities,
        }
        if alone := [name for name, value in given.items() if value]:
            raise UserError(f"{alone[0]} belongs to --items; leave it out to measure {run} again.")
        results = compute(Path(str(run)), channel, tolerance, level)
    write_latex(results, Path(str(run)))
    if as_json:
        result(results, True, "")
    else:
        print_table([results], full)
