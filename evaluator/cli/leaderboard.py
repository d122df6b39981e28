"""The command `score leaderboard`."""

from pathlib import Path

import click

from evaluator.cli.options import JSON, NEW_FOLDER
from generator.base.commands import result


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="[NAME=]RUN|RESULTS.json...")
@click.option("--out", type=NEW_FOLDER, required=True, help="Folder to write the site to.")
@JSON
def leaderboard(results: tuple[str, ...], out: Path, as_json: bool) -> None:
    """Make a static site of many models over one benchmark, with a page for each model.

    Each of [NAME=]RUN|RESULTS.json... is the folder of a run, or the results.json that someone sent, which is checked.
    Runs of one model are pooled over block seeds and training seeds.
    """
    from evaluator.report.site import write_site

    pages = write_site(results, out)
    result({"pages": [str(page) for page in pages]}, as_json, str(pages[0]))
