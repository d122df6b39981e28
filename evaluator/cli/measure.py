"""The command `score measure`."""

from pathlib import Path

import click

from evaluator.cli.options import CHANNEL, FOLDER, JSON
from generator.dataset.commands import result


@click.command()
@click.argument("run", type=FOLDER)
@CHANNEL
@JSON
def measure(run: Path, channel: str | None, as_json: bool) -> None:
    """Compute the results of RUN again from its scores, without the model."""
    from evaluator.cli.results_table import print_table
    from evaluator.measure import measure as compute
    from evaluator.report.latex import write_latex

    results = compute(run, channel)
    write_latex(results, run)
    if as_json:
        result(results, True, "")
    else:
        print_table([results])
