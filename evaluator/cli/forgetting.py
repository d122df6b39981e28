"""The command `score train forgetting`, and the option `--forgetting` of trainings that start from a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluator.cli.options import BENCHMARK, DEVICE, FOLDER, JSON, Questions
from generator.base.commands import Bar, result, say
from generator.base.errors import UserError

if TYPE_CHECKING:
    from evaluator.provenance.records import MeasuredRecord
    from evaluator.runs.dataset import Dataset


def _opened(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> "list[Dataset]":
    """Every benchmark of some datasets, so that a mistake is found before the training."""
    if not given:
        return []
    from evaluator.scoring.distributed import Process

    if Process.from_environment().count > 1:
        raise UserError(
            "Several processes train, but one measures: leave --forgetting out, and call `score train forgetting` afterwards."
        )
    from evaluator.benchmarks.registry import external_source
    from evaluator.runs.dataset import Dataset
    from generator.dataset import reader

    found = []
    for each in given:
        names = [] if external_source(each, None) else reader.Dataset.open(each).benchmark_names()
        found += [Dataset.open(each, name) for name in names] or [Dataset.open(each)]
    return found


ELSEWHERE = click.option(
    "--forgetting", "elsewhere", type=Questions(), multiple=True, callback=_opened, metavar="DATASET",
    help="Score MODEL and the trained model on DATASET, which is not trained for: the folder of a dataset (all its benchmarks), or a "
    "benchmark of others as NAME:PATH. Repeat for several.",
)  # fmt: skip


@click.command()
@click.argument("model", type=FOLDER)
@click.argument("dataset", type=Questions())
@BENCHMARK
@click.option("--images", type=FOLDER, help="Folder of the images of a benchmark of others.")
@click.option("--protocol", "protocols", multiple=True, metavar="NAME", help="Protocol to score. Repeat for several.")
@click.option("--limit", type=click.IntRange(min=1), help="Score at most so many items of each protocol.")
@DEVICE
@JSON
def forgetting(
    model: Path, dataset: str, benchmark: str | None, images: Path | None, protocols: tuple[str, ...], limit: int | None,
    device: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Measure what training changed elsewhere: score MODEL, a folder of `score train labclip`, `finetune` or `dreambooth`, and the model
    that it started from on DATASET.

    DATASET is a dataset, or a benchmark of others as NAME:PATH (docs/external.md), that MODEL was not trained for. The results before and
    after are added to MODEL/forgetting.json.
    """
    from evaluator.provenance.forgetting import changes
    from evaluator.runs.dataset import Dataset
    from evaluator.training.forgetting import measure_forgetting

    opened = Dataset.open(dataset, benchmark, images=images)
    measured = [measure_forgetting(model, opened, protocols, limit, device, Bar())]
    result({"rows": changes(measured)}, as_json, "\n".join(_lines(measured)))


def measure_elsewhere(folder: Path, elsewhere: "Sequence[Dataset]", device: str | None) -> list[dict[str, Any]]:
    """Measure what the training into a folder changed elsewhere, say it, and return a row for each share (evaluator.provenance.forgetting)."""
    from evaluator.provenance.forgetting import changes
    from evaluator.training.forgetting import measure_forgetting

    measured = [measure_forgetting(folder, each, device=device, progress=Bar()) for each in elsewhere]
    lines = _lines(measured) or [
        f"What this training changed elsewhere is not measured yet: score train forgetting {folder} DATASET"
    ]
    for line in lines:
        say(line)
    return changes(measured)


def _lines(measured: "Sequence[MeasuredRecord]") -> list[str]:
    from evaluator.provenance.forgetting import changes

    several = len(measured) > 1
    return [
        " ".join(
            str(row[name])
            for name in (*(["benchmark"] if several else []), "protocol", "kind", "split", "metric")
            if row[name] is not None
        )
        + f": {_percent(row['before'])} → {_percent(row['after'])}"
        for row in changes(measured)
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%"
