"""The command `score report`."""

from pathlib import Path

import click

from evaluator.cli.options import FOLDER, FULL, JSON, NEW_FILE
from generator.dataset.commands import result


@click.command()
@click.argument("runs", type=FOLDER, nargs=-1, required=True)
@click.option("--out", type=NEW_FILE, help="HTML file to write.  [default: report.html in the first run]")
@FULL
@JSON
def report(runs: tuple[Path, ...], out: Path | None, full: bool, as_json: bool) -> None:
    """Print the results of RUNS and write them to one HTML page with figures and examples."""
    from evaluator.cli.results_table import print_table
    from evaluator.report.page import write_page

    path = out or runs[0] / "report.html"
    results = write_page(runs, path)
    if not as_json:
        print_table(results, full)
    result({"report": str(path), "results": results}, as_json, str(path))
