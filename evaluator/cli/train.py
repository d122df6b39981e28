"""The commands `score train`."""

from pathlib import Path

import click

from evaluator.cli.options import BENCHMARK, DEVICE, JSON, NEW_FOLDER, SEED
from generator.dataset.commands import Bar, Commands, DatasetFolder, result, say


@click.group(cls=Commands)
def train() -> None:
    """Train models on the train split of a benchmark."""


@train.command()
@click.argument("dataset", type=DatasetFolder())
@click.option("--out", type=NEW_FOLDER, required=True, help="Folder to write. Score the model as jackalope:FOLDER.")
@BENCHMARK
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the train split.  [default: 25]")
@click.option("--seed", type=SEED, default=0, help="Seed of the initial weights and of the data order.")
@click.option(
    "--texts",
    help="Kinds of training captions to learn from, such as plain,relations,graded,synonyms.  [default: plain, and relations "
    "where they are held out]",
)
@click.option(
    "--negatives",
    help="Kinds of negatives, one of which is added for each caption to the texts of its batch (NegCLIP): swap, replace, flip, "
    "neg; or none.  [default: swap,flip]",
)
@click.option("--positives/--no-positives", default=False, help="Learn from positives as from captions.")
@DEVICE
@JSON
def scratch(
    dataset: Path, out: Path, benchmark: str | None, epochs: int | None, seed: int, texts: str | None, negatives: str | None, positives: bool, device: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Train a small dual encoder from scratch on the train split of DATASET.

    The model sees no other data, so held-out combinations are certainly unseen.
    """
    from evaluator.training.scratch import Recipe, train_scratch
    from generator.dataset.reader import Dataset

    opened = Dataset.open(dataset)
    recipe = Recipe(
        seed=seed,
        texts=texts,
        negatives=Recipe.negatives if negatives is None else "" if negatives == "none" else negatives,
        positives=positives,
        epochs=epochs or Recipe.epochs,
    )
    record = train_scratch(opened.world, opened.benchmark(benchmark), recipe, out, device, Bar())
    first, last = record["losses"][0], record["losses"][-1]
    say(f"Loss {first:.2f} → {last:.2f}. Next: score run {dataset} --model jackalope:{out}")
    result({"model": str(out), "losses": record["losses"]}, as_json, str(out))
