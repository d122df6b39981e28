"""The command `score embeddings`."""

from pathlib import Path

import click

from evaluator.cli.options import BENCHMARK, DEVICE, JSON, NEW_FOLDER, SEED
from generator.base.commands import Bar, DatasetFolder, result


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="[NAME=]MODEL...")
@click.argument("dataset", type=DatasetFolder())
@click.option("--out", type=NEW_FOLDER, required=True, help="Folder to write: texts.svg, images.svg, embeddings.json.")
@BENCHMARK
@click.option(
    "--split",
    "splits",
    multiple=True,
    metavar="NAME",
    help="Split whose captions are shown. Repeat for several.  [default: train, and all but those of validation]",
)
@click.option("--captions", type=click.IntRange(min=4), default=24, help="Most captions, drawn by seed.")
@click.option("--images", type=click.IntRange(min=1), default=5, help="Most images of each caption, drawn by seed.")
@click.option("--seed", type=SEED, default=0, help="Seed of the choice of captions and images, and of t-SNE.")
@DEVICE
@JSON
def embeddings(
    models: tuple[str, ...],
    dataset: Path,
    out: Path,
    benchmark: str | None,
    splits: tuple[str, ...],
    captions: int,
    images: int,
    seed: int,
    device: str | None,
    as_json: bool,
) -> None:
    """Draw captions and images of DATASET where the dual encoders [NAME=]MODEL... place them: t-SNE of their
    embeddings.

    Each model has a panel; NAME is what it is called there. A caption whose images are all those of another one, as of
    the converse of a relation, has no images of its own.
    """
    from evaluator.audits.embeddings import Asked, draw_maps
    from generator.dataset.reader import Dataset

    opened = Dataset.open(dataset)
    asked = Asked(models, splits, captions, images, seed)
    figures = [str(path) for path in draw_maps(asked, opened.world, opened.benchmark(benchmark), out, device, Bar())]
    result({"figures": figures, "out": str(out)}, as_json, "\n".join(figures))
