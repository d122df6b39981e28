"""The command `score familiarity`."""

import os
from pathlib import Path

import click

from evaluator.cli.options import JSON, NEW_FOLDER
from generator.dataset.commands import Bar, result, say
from generator.dataset.errors import UserError


@click.command()
@click.argument("benchmark", metavar="BENCHMARK")
@click.option(
    "--reference", type=click.Path(exists=True, path_type=Path), required=True, metavar="CORPUS",
    help="Captions to compare with: a file, or a folder of files, of COCO's JSON, JSON lines, Parquet, WebDataset (.tar) or one "
    "caption a line (.txt). `phrases` in place of `caption` are noun phrases made elsewhere.",
)  # fmt: skip
@click.option(
    "--captions", type=click.Choice(["strict", "free"]),
    help='How to read captions: strict, "the a1 o1 and the a2 o2" alone; free, any text by its noun phrases.  [default: strict '
    "for aro, else free]",
)  # fmt: skip
@click.option("--out", type=NEW_FOLDER, default="familiarity", show_default=True, help="Folder to write.")
@click.option(
    "--counts",
    type=NEW_FOLDER,
    help="Folder of the counts of corpora; a corpus is counted once.  [default: OUT/counts]",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes that count.  [default: one per core]")
@JSON
def familiarity(
    benchmark: str, reference: Path, captions: str | None, out: Path, counts: Path | None, workers: int | None, as_json: bool
) -> None:  # fmt: skip
    """Measure how much of BENCHMARK a corpus of captions has shown: which attributes of which objects (BindSplit).

    BENCHMARK is a benchmark of others as NAME:PATH, or a table of yours as table:FILE (docs/external.md). Its images are not read.
    """
    from evaluator.cli.familiarity_table import said
    from evaluator.external.registry import external_source
    from evaluator.familiarity.audit import audit
    from evaluator.familiarity.counting import count_corpus, read_counts
    from evaluator.familiarity.samples import read_samples

    source = external_source(benchmark, None)
    if source is None:
        raise UserError(
            f"Expected a benchmark of others as NAME:PATH, got '{benchmark}'; write for example sugarcrepe:{benchmark}."
        )
    samples, form = read_samples(source, captions)
    table, counted = count_corpus(reference, counts or out / "counts", workers or os.cpu_count() or 1, Bar())
    found = audit(samples, read_counts(table), counted)
    found.write(out)
    summary = {"benchmark": str(source), "reference": str(reference), "captions": form, **found.summary()}
    say(f"The partitions are in {out}.")
    result(summary, as_json, said(summary))
