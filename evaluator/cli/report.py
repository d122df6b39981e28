"""The command `score report`."""

from pathlib import Path

import click

from evaluator.cli.options import FULL, JSON, NEW_FILE
from generator.base.commands import result


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN...")
@click.option("--out", type=NEW_FILE, help="HTML file to write.  [default: report.html in the first run]")
@FULL
@JSON
def report(runs: tuple[str, ...], out: Path | None, full: bool, as_json: bool) -> None:
    """Print the results of [NAME=]RUN... and write them to one HTML page with figures and examples, a CSV and a LaTeX
    file beside it.

    Runs of one model are pooled over block seeds and training seeds; NAME=RUN names the model of a run, so that runs of
    one name are pooled. docs/statistics.md says how.
    """
    from evaluator.analysis.pooling import pool_runs
    from evaluator.cli.results_table import print_results
    from evaluator.report.page import write_page
    from evaluator.runs.folder import read_named

    named = [read_named(source) for source in runs]
    path = out or named[0].run.folder / "report.html"
    results = write_page(named, path)
    if not as_json:
        print_results(results, full, as_json)
    result({"report": str(path), "results": results, "pooled": pool_runs(results)}, as_json, str(path))
