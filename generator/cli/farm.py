"""Options that the commands that render share, and their checks: where workers run and how their
work is divided. `gen render`, `gen suite` and `gen ladder` add those that they have."""

from collections.abc import Mapping, Set
from typing import Any

import click

from generator.base.errors import UserError
from generator.cli.options import options_given

WORKERS = click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Number of render processes.  [default: one per GPU, or per core]",
)
ADDRESS = click.option(
    "--address",
    help="Address of the Ray cluster, such as 10.0.0.1:6379 or auto.  [default: start one here]",
)
WAIT = click.option(
    "--wait/--no-wait",
    default=True,
    help="Slurm: whether to wait for the jobs, or to end once they are submitted.",
)
SHARDS = click.option(
    "--shards",
    help="Pack the files of scenes into tars of at most this size, such as 256MB (WebDataset).",
)

SLURM_PARAMETERS = frozenset({"jobs", "partition", "account", "time", "memory", "wait"})
"""Parameters of jobs of Slurm."""


def check_slurm_options(
    context: click.Context, farm: str | None, parameters: Set[str] = SLURM_PARAMETERS
) -> None:
    """Check that no option about jobs of Slurm is without effect.

    Args:
        context: The context of the command.
        farm: Where its workers run.
        parameters: The parameters of the command that are about jobs of Slurm.

    Raises:
        UserError: The workers run elsewhere, and the user gave such an option.
    """
    # What was typed, not what has a value: defaults are no mistake.
    names = parameters & options_given(context).keys()
    if farm != "slurm" and names:
        raise UserError(
            f"--{min(names).replace('_', '-')} is about jobs of Slurm; add --farm slurm, or leave "
            f"it out."
        )


def check_slurm_shards(values: Mapping[str, Any]) -> None:
    """Check the options of a command whose workers are jobs of Slurm.

    Args:
        values: The options that the user gave, by parameter.

    Raises:
        UserError: One of them divides the scenes, which each job does by its number, or is about
            Ray.
    """
    names = {"shard", "address"} & values.keys()
    if names:
        raise UserError(
            f"--farm slurm makes the shards itself, without --{min(names)}; leave it out."
        )
