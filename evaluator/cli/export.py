"""The commands of `score export`."""

import time
from pathlib import Path

import click

from evaluator.cli.options import FOLDER, JSON, NEW_FOLDER
from generator.base.commands import Command, Commands, result

_RUN = click.argument("run", metavar="[NAME=]RUN")
_OUT = click.option("--out", type=NEW_FOLDER, required=True, help="Folder to write into.")
_MODEL_ID = click.option(
    "--model-id", required=True, metavar="ORG/NAME", help="The model, as on the Hugging Face Hub."
)
_MOVED = click.option(
    "--dataset",
    "moved",
    type=FOLDER,
    multiple=True,
    help="Folder of a moved dataset. Can be repeated.",
)


@click.group(cls=Commands)
def export() -> None:
    """Convert the results of a run to the form of another tool or collection."""


@export.command(
    "every-eval-ever",
    cls=Command,
    examples=[
        'export every-eval-ever run --model-id openai/clip-vit-base-patch32 --organization "Ada" '
        "--out records"
    ],
)
@_RUN
@_MODEL_ID
@click.option("--organization", required=True, help="Who ran the evaluation.")
@click.option(
    "--relationship",
    type=click.Choice(["first_party", "third_party", "collaborative", "other"]),
    default="third_party",
    help="What the evaluator is to the model's developer.",
)
@click.option(
    "--hub-dataset",
    metavar="OWNER/NAME",
    help="The dataset on the Hugging Face Hub, if it is there.",
)
@_MOVED
@_OUT
@JSON
def every_eval_ever(
    run: str,
    model_id: str,
    organization: str,
    relationship: str,
    hub_dataset: str | None,
    moved: tuple[Path, ...],
    out: Path,
    as_json: bool,
) -> None:
    """Write the results of [NAME=]RUN for Every Eval Ever: a JSON file with every accuracy and its
    interval, and a JSON Lines file with every question (docs/publishing.md)."""
    from evaluator.exports.every_eval_ever import Submission, write_record
    from evaluator.runs.folder import read_named

    submission = Submission(model_id, organization, relationship, int(time.time()), hub_dataset)
    record, samples = write_record(read_named(run, moved), submission, out)
    result({"record": str(record), "samples": str(samples)}, as_json, str(record))
