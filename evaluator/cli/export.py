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
    # RELATIONSHIPS of evaluator.exports.every_eval_ever, which is slow to import.
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

    # The format wants the time of retrieval, which only this command knows.
    submission = Submission(model_id, organization, relationship, int(time.time()), hub_dataset)
    record, samples = write_record(read_named(run, moved), submission, out)
    result({"record": str(record), "samples": str(samples)}, as_json, str(record))


@export.command(
    "mteb",
    cls=Command,
    examples=[
        "export mteb run --title small --model-id openai/clip-vit-base-patch32 --model-revision "
        "3d74acf --dataset-revision 0a1b2c3 --out mteb"
    ],
)
@_RUN
@click.option("--title", required=True, help="The --title of `gen export mteb`.")
@_MODEL_ID
@click.option("--model-revision", default="main", help="Commit of the model.")
@click.option("--dataset-revision", default="main", help="Commit of the dataset.")
@_MOVED
@_OUT
@JSON
def mteb(
    run: str,
    title: str,
    model_id: str,
    model_revision: str,
    dataset_revision: str,
    moved: tuple[Path, ...],
    out: Path,
    as_json: bool,
) -> None:
    """Write the results of [NAME=]RUN as mteb does: results/ORG__MODEL/REVISION/TASK.json."""
    from evaluator.exports.mteb_results import write_results
    from evaluator.runs.folder import read_named

    files = write_results(
        read_named(run, moved).results,
        out,
        title=title,
        model_id=model_id,
        model_revision=model_revision,
        dataset_revision=dataset_revision,
    )
    names = [str(file) for file in files]
    result({"files": names}, as_json, "\n".join(names))
