"""The commands `score report` and `score leaderboard`: a page of some runs, and a site of many models."""

from pathlib import Path

import click

from evaluator.cli.options import FOLDER, FULL, JSON, NEW_FOLDER
from generator.base.commands import Command, OutFile, result, say
from generator.base.errors import UserError


@click.command(
    cls=Command, examples=["report run", "report CLIP=run-a SigLIP=run-b --out report.html --figures figures"]
)
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]RUN...")
@click.option("--out", type=OutFile(".html"), help="HTML file to write.  [default: report.html beside the first run]")
@click.option("--figures", "drawn", type=NEW_FOLDER, help="Folder to write each figure to, as SVG, PDF and PNG.")
@click.option("--dataset", "moved", type=FOLDER, multiple=True, help="Where a dataset lies now. Can be repeated.")
@click.option("--inline", is_flag=True, help="Embed images of up to 512 pixels in place of thumbnails, for few items.")
@click.option(
    "--hub",
    type=NEW_FOLDER,
    help="Folder of a model's repository on the Hugging Face Hub: write the main results into the metadata "
    "(model-index) of its README.md, whose text is kept.",
)
@click.option(
    "--hub-dataset",
    metavar="OWNER/NAME",
    help="With --hub, also write .eval_results/NAME.yaml for the benchmark in this dataset of the Hub.",
)
@FULL
@JSON
def report(
    runs: tuple[str, ...],
    out: Path | None,
    drawn: Path | None,
    moved: tuple[Path, ...],
    inline: bool,
    hub: Path | None,
    hub_dataset: str | None,
    full: bool,
    as_json: bool,
) -> None:
    """Print the results of [NAME=]RUN... and write them to one HTML page with figures and all items, and as CSV,
    Markdown and LaTeX beside it.

    Runs of one model are pooled over block seeds and training seeds; NAME=RUN names the model of a run, so that runs of
    one name are pooled. docs/statistics.md says how. Folders of `score familiarity`, `score probe` and
    `score embeddings` and the JSON of `score compare` can stand among the runs: the page has their figures.
    """
    from evaluator.analysis.pooling import pool_runs
    from evaluator.cli.results_table import print_results
    from evaluator.report.figures import write_figures
    from evaluator.report.page import DRAWN, figures_of_audits, write_page
    from evaluator.report.papers.given import read_audit
    from evaluator.runs.folder import is_unfinished, read_named

    if hub_dataset and not hub:
        raise UserError("--hub-dataset belongs to --hub; give the folder of the model's repository with --hub.")
    audits = {run: audit for run in runs if (audit := read_audit(run)) is not None}
    for audit in audits.values():
        if audit.command not in DRAWN:
            raise UserError(f"The page shows nothing of `{audit.command}`; leave {audit.path} out.")
    unfinished = [run for run in runs if is_unfinished(run)]
    named = [read_named(run, moved) for run in runs if run not in audits and run not in unfinished]
    if not named:
        raise UserError("Expected one finished RUN or more; run the same `score run` again to finish one.")
    path = out or named[0].run.folder.resolve().parent / "report.html"
    results, made = write_page(named, path, figures_of_audits(list(audits.values())), unfinished, inline)
    for run in unfinished:
        say(f"{run} is unfinished; the page says so and has no results of it.")
    if drawn:
        say(f"{len(write_figures(made, drawn))} files of figures are in {drawn}.")
    if hub:
        from evaluator.report.files import write_hub

        say(f"Results for the Hub are in {', '.join(map(str, write_hub(pool_runs(results), hub, hub_dataset)))}.")
    if not as_json:
        print_results(results, full, as_json)
    result({"report": str(path), "results": results, "pooled": pool_runs(results)}, as_json, str(path))


@click.command(cls=Command, examples=["leaderboard run-a run-b --out site"])
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
