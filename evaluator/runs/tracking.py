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
    """Log every value of a run's results to trackers, as one step of `log_steps`.

    Args:
        results: The results. Shares and differences are logged as fractions, not percent.
        run: The folder of the run.
        trackers: Where to log; may be empty.
    """
    names = ("model", "benchmark", "channel", "certificate", "training")
    about = {name: results[name] for name in names}
    with log_steps(trackers, run, about, 0) as log:
        log(1, dict(_values(results)))


@contextmanager
def log_steps(
    trackers: Sequence[Tracker], out: Path, about: Mapping[str, Any], done: int
) -> Iterator[LogStep]:
    """Context in which the steps of a run or training are logged to trackers.

    TensorBoard: event files in OUT.tensorboard, beside OUT. wandb: a run of the project
    `jackalope`, with the settings that wandb reads from the environment (WANDB_MODE=offline writes
    only beside OUT); its id is stored beside OUT until the context ends well, so that a training
    that was stopped continues the same run.

    Args:
        trackers: Where to log; may be empty.
        out: The folder that the run or training writes.
        about: What is trained or scored; wandb's `config`.
        done: Steps that were logged earlier. Later ones of a stopped training are replaced.

    Yields:
        A function that logs a step.
    """
    with ExitStack() as stack:
        logs: list[LogStep] = []
        if "tensorboard" in trackers:
            from torch.utils.tensorboard import SummaryWriter

            board = stack.enter_context(SummaryWriter(f"{out}.tensorboard", purge_step=done + 1))

            def log_to_board(step: int, values: Mapping[str, float]) -> None:
                for name, value in values.items():
                    board.add_scalar(name, value, step)

            logs.append(log_to_board)
        if "wandb" in trackers:
            import wandb

            id_file = out.with_name(f".{out.name}.wandb")
            continues = done > 0 and id_file.exists()
            # wandb continues a run only by its id.
            if not continues:
                id_file.write_text(uuid.uuid4().hex[:16])
            wandb_run = wandb.init(
                project="jackalope",
                dir=out.parent,
                name=out.name,
                config=dict(about),
                id=id_file.read_text(),
                resume="allow",
            )
            tracked = stack.enter_context(wandb_run)
            logs.append(lambda step, values: tracked.log(dict(values), step=step))

        def log_everywhere(step: int, values: Mapping[str, float]) -> None:
            for log in logs:
                log(step, values)

        yield log_everywhere
        if "wandb" in trackers:
            id_file.unlink()


def _values(results: Results) -> Iterator[tuple[str, float]]:
    """Yield the name and value of each row with a value: `binary/accuracy/seen`, by number of atoms
    `…/n=3`."""
    for row in results["rows"]:
        if row["value"] is None:
            continue
        parts: list[Any] = [row[name] for name in LABELS if row[name] is not None]
        parts.append(split_of(row))
        if row["n"] is not None:
            parts.append(f"n={row['n']}")
        average = row.get("average", "")
        if average and not average.startswith("micro"):  # means over items need no name
            parts.append(average)
        yield "/".join(str(part) for part in parts), float(row["value"])
