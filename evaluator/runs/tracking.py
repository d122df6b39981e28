"""Log the results of a run, and the steps of a training, to experiment trackers: TensorBoard and
Weights & Biases."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

from evaluator.protocols.records import LABELS, Results, split_of

Tracker = Literal["tensorboard", "wandb"]
LogStep = Callable[[int, Mapping[str, float]], None]
"""Called with the number of a step, from 1, and its values by name."""


def log_results(results: Results, run: Path, trackers: Sequence[Tracker]) -> None:
    """Log every value of a run's results (shares and differences as fractions, not percent) to
    trackers, as one step of `log_steps`. run: the folder of the run."""
    about = {
        name: results[name] for name in ("model", "benchmark", "channel", "certificate", "training")
    }
    with log_steps(trackers, run, about, 0) as log:
        log(1, dict(_values(results)))


@contextmanager
def log_steps(
    trackers: Sequence[Tracker], out: Path, about: Mapping[str, Any], done: int
) -> Iterator[LogStep]:
    """Log steps of the run or training that writes the folder `out` to trackers, after `done` steps
    logged earlier.

    TensorBoard: event files in OUT.tensorboard, beside OUT. Replaces steps after `done` of a
        training that was stopped.
    wandb: a run of the project `jackalope`, with the settings that wandb reads from the environment
        (WANDB_MODE=offline
    writes only beside OUT); its id is stored beside OUT until the training ends. about: wandb's
    `config`,
    which describes what is trained or scored.
    """
    with ExitStack() as stack:
        logs: list[LogStep] = []
        if "tensorboard" in trackers:
            from torch.utils.tensorboard import SummaryWriter

            board = stack.enter_context(SummaryWriter(f"{out}.tensorboard", purge_step=done + 1))

            def draw(step: int, values: Mapping[str, float]) -> None:
                for name, value in values.items():
                    board.add_scalar(name, value, step)

            logs.append(draw)
        if "wandb" in trackers:
            import wandb

            kept = out.with_name(f".{out.name}.wandb")
            if not (done and kept.exists()):
                kept.write_text(uuid.uuid4().hex[:16])
            run = {
                "project": "jackalope",
                "dir": out.parent,
                "name": out.name,
                "config": dict(about),
            }
            tracked = stack.enter_context(wandb.init(**run, id=kept.read_text(), resume="allow"))
            logs.append(lambda step, values: tracked.log(dict(values), step=step))

        def log(step: int, values: Mapping[str, float]) -> None:
            for each in logs:
                each(step, values)

        yield log
        if "wandb" in trackers:
            kept.unlink()


def _values(results: Results) -> Iterator[tuple[str, float]]:
    """Yield the name and value of each row with a value: `binary/accuracy/seen`, by number of atoms
    `…/n=3`."""
    for row in results["rows"]:
        if row["value"] is not None:
            labels: Sequence[Any] = [row[name] for name in LABELS if row[name] is not None]
            n = [] if row["n"] is None else [f"n={row['n']}"]
            average = [] if row.get("average", "").startswith("micro") else [row.get("average")]
            yield (
                "/".join(
                    str(each) for each in (*labels, split_of(row), *n, *filter(None, average))
                ),
                float(row["value"]),
            )
