"""Results of a run in the trackers of experiments: TensorBoard and Weights & Biases."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from evaluator.protocols.results import Results
from evaluator.report.overview import LABELS
from generator.dataset.extras import check_installed

Tracker = Literal["tensorboard", "wandb"]
TRACKERS: tuple[Tracker, ...] = ("tensorboard", "wandb")
_FOLDER = "tensorboard"


def check_tracker(tracker: Tracker) -> None:
    """Raise UserError where the tracker's package is not installed."""
    check_installed(tracker)


def log_results(results: Results, run: Path, tracker: Tracker) -> None:
    """Write every value of the results (shares and differences in 0..1) to a tracker.

    TensorBoard: event files in RUN/tensorboard. wandb: a run of the project `jackalope`, by the settings that wandb reads from the
    environment (WANDB_MODE=offline writes to RUN/wandb alone).
    """
    values = dict(_values(results))
    if tracker == "tensorboard":
        from torch.utils.tensorboard import SummaryWriter

        with SummaryWriter(str(run / _FOLDER)) as writer:
            for name, value in values.items():
                writer.add_scalar(name, value)
            writer.add_text("model", results["model"])
            writer.add_text("benchmark", results["benchmark"])
        return
    import wandb

    described = {name: results[name] for name in ("model", "benchmark", "channel", "certificate", "training")}
    with wandb.init(
        project="jackalope", dir=run, name=f"{results['model']} on {results['benchmark']}", config=described
    ) as tracked:
        tracked.summary.update(values)


def _values(results: Results) -> Iterator[tuple[str, float]]:
    """The name and the number of each row that has one: `binary/accuracy/seen`, by number of atoms `…/n=3`."""
    for row in results["rows"]:
        if row["value"] is not None:
            labels: Sequence[Any] = [row[name] for name in LABELS if row[name] is not None]
            n = [] if row["n"] is None else [f"n={row['n']}"]
            average = [] if row.get("average", "").startswith("micro") else [row.get("average")]
            yield (
                "/".join(str(each) for each in (*labels, row["split"], *n, *filter(None, average))),
                float(row["value"]),
            )
