"""The commands `score generate` and `score embeddings`: what models draw, and where they place captions and images."""

from pathlib import Path
from typing import Any

import click

from evaluator.cli.options import BENCHMARK, DEVICE, JSON, NEW_FOLDER, SEED
from generator.base.commands import Bar, Command, DatasetFolder, result, say

_DATASET = click.argument("dataset", type=DatasetFolder())
_MODELS = click.option(
    "--model",
    "models",
    required=True,
    multiple=True,
    metavar="[NAME=]MODEL",
    help="Model, as for `score run`, and what it is called in the picture. Repeat for several.",
)
_SPLITS = click.option(
    "--split",
    "splits",
    multiple=True,
    metavar="NAME",
    help="Split whose captions are shown. Repeat for several.  [default: train, and all but those of validation]",
)
_SEED = click.option("--seed", type=SEED, default=0, help="Seed of what is chosen and drawn at random.")


@click.command(cls=Command, examples=["generate small --model diffusion:FOLDER --out drawn"])
@_DATASET
@_MODELS
@click.option("--out", type=NEW_FOLDER, required=True, help="Folder to write: sheet.png, drawings.json and the images.")
@BENCHMARK
@_SPLITS
@click.option("--captions", type=click.IntRange(min=1), default=2, help="Captions of each split, drawn by seed.")
@_SEED
@click.option("--guidance", type=click.FloatRange(min=0), default=7.0, help="Scale of classifier-free guidance.")
@click.option("--steps", type=click.IntRange(min=1), default=50, help="Steps of the model's sampler.")
@DEVICE
@JSON
def generate(dataset: Path, out: Path, benchmark: str | None, device: str | None, as_json: bool, **asked: Any) -> None:
    """Draw captions of DATASET with diffusion models, beside the true images: one sheet, seen and unseen splits below
    one another.

    MODEL is one of diffusion:, or a jackalope: one of that kind. All models start from the same noise. The sheet also
    has what each model sees of the true image as a classifier. Images that are there are not drawn again.
    """
    from evaluator.audits.generation import Drawing, draw_captions
    from generator.dataset.reader import Dataset

    opened = Dataset.open(dataset)
    sheet = draw_captions(Drawing(**asked), opened.world, opened.benchmark(benchmark), out, device, Bar())
    say(f"Captions, seeds and models are in {out / 'drawings.json'}.")
    result({"sheet": str(sheet), "out": str(out)}, as_json, str(sheet))


@click.command(cls=Command, examples=["embeddings small --model open_clip:ViT-B-32@openai --out map"])
@_DATASET
@_MODELS
@click.option("--out", type=NEW_FOLDER, required=True, help="Folder to write: texts.svg, images.svg, embeddings.json.")
@BENCHMARK
@_SPLITS
@click.option("--captions", type=click.IntRange(min=4), default=24, help="Most captions, drawn by seed.")
@click.option("--images", type=click.IntRange(min=1), default=5, help="Most images of each caption, drawn by seed.")
@_SEED
@DEVICE
@JSON
def embeddings(
    dataset: Path, out: Path, benchmark: str | None, device: str | None, as_json: bool, **asked: Any
) -> None:
    """Draw captions and images of DATASET where dual encoders place them: t-SNE of their embeddings.

    Each model has a panel. A caption whose images are all those of another one, as of the converse of a relation, has
    no images of its own.
    """
    from evaluator.audits.embeddings import RECORD, Asked, draw_maps
    from generator.base.files import read_json
    from generator.dataset.reader import Dataset

    opened = Dataset.open(dataset)
    maps = draw_maps(Asked(**asked), opened.world, opened.benchmark(benchmark), out, device, Bar())
    figures, cosines = [str(path) for path in maps], read_json(out / RECORD)["cosines"]
    told = [
        f"Mean cosine of {what}, {model}: {', '.join(f'{how} {value:.3f}' for how, value in found.items())}."
        for what, of in cosines.items()
        for model, found in of.items()
        if found
    ]
    result({"figures": figures, "cosines": cosines, "out": str(out)}, as_json, "\n".join([*figures, *told]))
