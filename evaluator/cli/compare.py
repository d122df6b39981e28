"""The command `score compare`."""

from pathlib import Path

import click

from evaluator.cli.options import JSON, NEW_FILE
from generator.base.commands import Bar, Number, result, say


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--detect",
    type=Number(min=0, max=100, min_open=True),
    metavar="POINTS",
    help="Also say how many block seeds or items a difference of POINTS percentage points needs.",
)
@click.option("--full", is_flag=True, help="Print every row, and the rankings of two models too.")
@click.option("--out", type=NEW_FILE, help="CSV file to write all rows to.")
@JSON
def compare(runs: tuple[str, ...], detect: float | None, full: bool, out: Path | None, as_json: bool) -> None:
    """Compare models on the same items and say which differences hold.

    Each of RUNS is a folder written by `score run`, or a .csv or .parquet with the columns item, correct and cluster,
    and split and model where there are several. NAME=RUN names the model; runs of the same name are training seeds of
    one model.
    """
    from evaluator.analysis.comparison import compare as compute
    from evaluator.analysis.comparison import write_rows
    from evaluator.cli.comparison_table import print_comparison

    comparison = compute(runs, None if detect is None else detect / 100, Bar())
    if out:
        write_rows(comparison, out)
        say(f"The rows are in {out}.")
    if as_json:
        result(comparison, True, "")
    else:
        print_comparison(comparison, full)
