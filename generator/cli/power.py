"""What `--power` prints: how much a design will be able to tell."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from generator.base.commands import result
from generator.base.errors import UserError
from generator.cli.options import given

if TYPE_CHECKING:
    from generator.holdout.holdout import Holdout
    from generator.plan.power import SplitSize

POWER = click.option(
    "--power",
    is_flag=True,
    help="Write nothing. Print how wide intervals will be, and the smallest difference between two models that will "
    "show, by "
    "accuracy and number of block seeds (docs/splits.md).",
)


def check_power(context: click.Context, *parameters: str) -> None:
    """Raise UserError where one of these parameters is given, which concern what is written."""
    for name, option in given(context).items():
        if name in parameters:
            raise UserError(f"--power writes nothing, so {option} has no effect; leave it out.")


def of_first_seed(holdouts: "Sequence[Holdout]") -> "list[Holdout]":
    """Those that the first block seed drew: other seeds draw others of the same size."""
    return [holdout for holdout in holdouts if holdout.block_seed == holdouts[0].block_seed]


def print_power(holdouts: "Sequence[Holdout]", sizes: "Sequence[SplitSize]", as_json: bool) -> None:
    """Print what holdouts tell by the sizes of their splits. Raises UserError where one has no scene."""
    from generator.holdout.request import design_of
    from generator.plan.power import BINDING_EFFECT, CLUSTER_EFFECT, LEVEL, MAIN_EFFECT, POWER, expected

    designs = []
    for holdout, size in zip(holdouts, sizes, strict=True):
        name = design_of(holdout).benchmark_name(holdout)
        if not size.scenes:
            raise UserError(f"{name} has no scene of the split {size.split}, so it tells nothing; hold out more.")
        designs.append({"benchmark": name, **asdict(size), "rows": [asdict(row) for row in expected(size)]})
    assumed = {
        "main_effect": MAIN_EFFECT,
        "binding_effect": BINDING_EFFECT,
        "cluster_effect": CLUSTER_EFFECT,
        "level": LEVEL,
        "power": POWER,
    }
    lines = [
        *map(_table, designs),
        f"±: half the expected {LEVEL:.0%} interval of an accuracy, in points. Δ: the smallest difference between two "
        f"models of that "
        f"accuracy that shows in {POWER:.0%} of cases.",
        "One seed speaks of its own values and objects where it has fewer than six of them, several of others too.",
        f"Assumed: effects of values and of objects of {MAIN_EFFECT:g} logits, of bindings of {BINDING_EFFECT:g} and "
        f"of groups of {CLUSTER_EFFECT:g}; models whose errors are independent (docs/splits.md).",
    ]
    result({"designs": designs, "assumed": assumed}, as_json, "\n".join(lines))


def _table(design: Mapping[str, Any]) -> str:
    """The lines of a design: an accuracy each, a column for each number of block seeds."""
    seeds = list(dict.fromkeys(row["block_seeds"] for row in design["rows"]))
    lines = [
        f"{design['benchmark']}, {design['split']}: {design['scenes']:,} scenes, {design['clusters']:,} groups, "
        f"{design['bindings']:,} bindings for each block seed",
        "accuracy" + "".join(f"{f'{n} seed' + 's' * (n > 1):>16}" for n in seeds),
    ]
    for accuracy in dict.fromkeys(row["accuracy"] for row in design["rows"]):
        cells = [_cell(row) for row in design["rows"] if row["accuracy"] == accuracy]
        lines.append(f"{accuracy:>8.0%}" + "".join(f"{cell:>16}" for cell in cells))
    return "\n".join([*lines, ""])


def _cell(row: Mapping[str, Any]) -> str:
    told = "–" if row["difference"] is None else f"{100 * row['difference']:.1f}"
    return f"±{100 * row['half_width']:.1f} Δ{told:>5}"
