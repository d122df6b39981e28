"""The command `score generate`."""

from pathlib import Path

import click

from evaluator.cli.options import BENCHMARK, DEVICE, JSON, NEW_FOLDER, SEED
from generator.base.commands import Bar, DatasetFolder, result, say


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="[NAME=]MODEL...")
@click.argument("dataset", type=DatasetFolder())
@click.option("--out", type=NEW_FOLDER, required=True, help="Folder to write: sheet.png, drawings.json and the images.")
@BENCHMARK
@click.option(
    "--split",
    "splits",
    multiple=True,
    metavar="NAME",
    help="Split whose captions are drawn. Repeat for several.  [default: train, and all but those of validation]",
)
@click.option("--captions", type=click.IntRange(min=1), default=2, help="Captions of each split, drawn by seed.")
@click.option("--seed", type=SEED, default=0, help="Seed of the choice of captions and of the noise.")
@click.option("--guidance", type=click.FloatRange(min=0), default=7.0, help="Scale of classifier-free guidance.")
@click.option("--steps", type=click.IntRange(min=1), default=50, help="Steps of the model's sampler.")
@DEVICE
@JSON
def generate(
    models: tuple[str, ...],
    dataset: Path,
    out: Path,
    benchmark: str | None,
    splits: tuple[str, ...],
    captions: int,
    seed: int,
    guidance: float,
    steps: int,
    device: str | None,
    as_json: bool,
) -> None:
    """Draw captions of DATASET with the diffusion models [NAME=]MODEL..., beside the true images: one sheet, seen and
    unseen splits below one another.

    MODEL is one of diffusion:, or a jackalope: one of that kind; NAME is what it is called on the sheet. All models
    start from the same noise. The sheet also has what each model sees of the true image as a classifier. Images that
    are there are not drawn again.
    """
    from evaluator.audits.generation import Drawing, draw_captions
    from generator.dataset.reader import Dataset

    opened = Dataset.open(dataset)
    asked = Drawing(models, splits, captions, seed, guidance, steps)
    sheet = draw_captions(asked, opened.world, opened.benchmark(benchmark), out, device, Bar())
    say(f"Captions, seeds and models are in {out / 'drawings.json'}.")
    result({"sheet": str(sheet), "out": str(out)}, as_json, str(sheet))
