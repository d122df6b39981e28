"""Results of a run, and the steps of a training, in the trackers of experiments: TensorBoard and Weights & Biases."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

from evaluator.protocols.records import LABELS, Results, split_of
from generator.base.extras import check_installed

Tracker = Literal["tensorboard", "wandb"]
TRACKERS: tuple[Tracker, ...] = ("tensorboard", "wandb")
_FOLDER = "tensorboard"


def check_tracker(tracker: Tracker) -> None:
    """Raise UserError where the tracker's package is not installed."""
    check_installed(tracker)


def log_results(results: Results, run: Path, tracker: Tracker) -> None:
    """Write every value of the results (shares and differences in 0..1) to a tracker.

    TensorBoard: event files in RUN/tensorboard. wandb: a run of the project `jackalope`, by the settings that wandb
    reads from the environment (WANDB_MODE=offline writes to RUN/wandb alone).
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


LogStep = Callable[[int, Mapping[str, float]], None]
"""Called with the number of a step, from 1, and its values by name."""


@contextmanager
def log_steps(trackers: Sequence[Tracker], out: Path, about: Mapping[str, Any], done: int) -> Iterator[LogStep]:
    """Write steps of the training into the folder `out` to some trackers; the `done` steps before are there already.

    TensorBoard: event files in OUT.tensorboard, beside OUT. Steps after `done` of a training that was stopped are
    replaced. wandb: a run of the project `jackalope`, as in `log_results`; its id is kept beside OUT until the
    training ends. about: what is trained, for wandb.
    """
    with ExitStack() as stack:
        logs = [stack.enter_context(_STEPS[tracker](out, about, done)) for tracker in dict.fromkeys(trackers)]

        def log(step: int, values: Mapping[str, float]) -> None:
            for each in logs:
                each(step, values)

        yield log


@contextmanager
def _steps_in_tensorboard(out: Path, about: Mapping[str, Any], done: int) -> Iterator[LogStep]:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(out.with_name(f"{out.name}.{_FOLDER}")), purge_step=done + 1) as writer:

        def log(step: int, values: Mapping[str, float]) -> None:
            for name, value in values.items():
                writer.add_scalar(name, value, step)

        yield log


@contextmanager
def _steps_in_wandb(out: Path, about: Mapping[str, Any], done: int) -> Iterator[LogStep]:
    import wandb

    kept = out.with_name(f".{out.name}.wandb")
    if not (done and kept.exists()):
        kept.write_text(uuid.uuid4().hex[:16])
    with wandb.init(
        project="jackalope", dir=out.parent, name=out.name, id=kept.read_text(), resume="allow", config=dict(about)
    ) as tracked:
        yield lambda step, values: tracked.log(dict(values), step=step)
    kept.unlink()


_STEPS = {"tensorboard": _steps_in_tensorboard, "wandb": _steps_in_wandb}


def _values(results: Results) -> Iterator[tuple[str, float]]:
    """The name and the number of each row that has one: `binary/accuracy/seen`, by number of atoms `…/n=3`."""
    for row in results["rows"]:
        if row["value"] is not None:
            labels: Sequence[Any] = [row[name] for name in LABELS if row[name] is not None]
            n = [] if row["n"] is None else [f"n={row['n']}"]
            average = [] if row.get("average", "").startswith("micro") else [row.get("average")]
            yield (
                "/".join(str(each) for each in (*labels, split_of(row), *n, *filter(None, average))),
                float(row["value"]),
            )
