"""The command `gen plan`, the options that it shares with `gen render`, and the output of `--power`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.base.commands import Command, result, say
from generator.base.errors import UserError
from generator.cli.options import (
    BLOCK_SEED,
    DESIGN,
    HOLDOUT,
    JSON,
    NEW_FOLDER,
    OPPOSITES,
    SEED,
    given,
    given_values,
    table,
)

if TYPE_CHECKING:
    from generator.holdout.holdout import Holdout
    from generator.plan.power import SplitSize

_CONTENT_OPTIONS = (
    click.option("--preset", help="A published benchmark: bindsplit2026, pearson2025, pearson2025-clean or spare."),
    DESIGN,
    HOLDOUT,
    click.option("--family", default="clevr", help="World family: a name, or the path of your own TOML file."),
    click.option(
        "--assets",
        help="Set of meshes: builtin, 0ad or one of your own (docs/assets.md).  [default: the family's own, else "
        "builtin]",
    ),
    click.option(
        "--environment",
        "environments",
        multiple=True,
        help="The only environment of the scenes, such as desert in family pug. Repeat for several.  [default: all of "
        "the family]",
    ),
    click.option("--objects", default="2", help="Objects per scene: a number, or a range such as 3..10."),
    click.option(
        "--scenes",
        help="Number of scenes: in all, by split as train=2000,seen=300,... (fewer of these means fewer of the "
        "others too), or grid for every arrangement of two objects once.  "
        "[default: train=2000, val=100, seen, partial, unseen=300; 1000 if nothing is held out]",
    ),
    click.option(
        "--resolution", default="320x240", help="Width x height in pixels. Objects are placed to fit into this image."
    ),
    click.option(
        "--pairs/--no-pairs",
        default=None,
        help="Whether half of the scenes of val, seen, partial and unseen are twins of the other half, in which two "
        "objects have exchanged values. --scenes counts twins too.  [default: --pairs, but for --scenes grid and the "
        "design gzsl]",
    ),
    click.option(
        "--exchange",
        help="What twins exchange: values, places, or both, each in half of the pairs.  [default: values; both if "
        "relations are held out]",
    ),
    click.option("--seed", type=SEED, default=0, help="Seed of the scenes."),
    BLOCK_SEED,
    OPPOSITES,
)


POWER = click.option(
    "--power",
    is_flag=True,
    help="Write nothing. Print the expected width of intervals and the smallest detectable difference between two "
    "models, by "
    "accuracy and number of block seeds (docs/splits.md).",
)


COMMON = ("preset", "holdout", "family", "objects", "scenes", "resolution", "block_seed", "out")
"""Parameters that the help lists as common options."""


def content_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that decide what a world holds."""
    for option in reversed(_CONTENT_OPTIONS):
        command = option(command)
    return command


@click.command(
    cls=Command,
    common=COMMON,
    examples=["plan --holdout 3x3 --out world", "plan --holdout 4x6 --block-seed 0..4 --power"],
)
@content_options
@click.option("--out", type=NEW_FOLDER, help="Folder to write.  [default: a folder named after the options]")
@POWER
@JSON
@click.pass_context
def plan(context: click.Context, out: Path | None, power: bool, as_json: bool, **content: Any) -> None:
    """Plan a world: what each scene holds, and what training never shows. Takes seconds and needs no Blender.

    `gen render DIR` renders the planned folder, on this machine or on another.
    """
    from generator.plan.job import plan_world, prepare_world

    if power:
        check_power(context, "out")
    prepared, name = prepare_world(**given_values(context, content))
    # Only now, since these load SciPy and more, and wrong options are refused without them.
    from generator.api import log_held_out, turn_counts
    from generator.plan.power import sizes_to_plan

    if power:
        told = of_first_seed(prepared.holdouts)
        job = prepared.job
        sizes = sizes_to_plan(told, prepared.parts, prepared.vocabulary, job.seed, job.objects, job.exchange)
        print_power(told, sizes, as_json)
        return
    planned = plan_world(prepared, out or Path(name))
    log_held_out(planned)
    data: dict[str, Any] = {"dataset": str(planned.root)}
    if turns := turn_counts(prepared.holdouts, prepared.vocabulary, planned):
        data["benchmarks"] = turns
        for name, counts in turns.items():
            say(f"{name}: {', '.join(f'{split} {n:,}' for split, n in counts.items())}.")
        say(f"{len(planned):,} scenes, which all turns share. Next: gen render {planned.root}")
    else:
        data["scenes"] = planned.counts() or {"grid": len(planned)}
        say(
            f"Scenes: {', '.join(f'{split} {n:,}' for split, n in data['scenes'].items())}. "
            f"Next: gen render {planned.root}"
        )
    result(data, as_json, str(planned.root))


def check_power(context: click.Context, *parameters: str) -> None:
    """Raise UserError if one of these parameters is given: they have no effect, because --power writes nothing."""
    for name, option in given(context).items():
        if name in parameters:
            raise UserError(f"--power writes nothing, so {option} has no effect; leave it out.")


def of_first_seed(holdouts: "Sequence[Holdout]") -> "list[Holdout]":
    """The holdouts of the first block seed; other seeds draw holdouts of the same size."""
    return [holdout for holdout in holdouts if holdout.block_seed == holdouts[0].block_seed]


def print_power(holdouts: "Sequence[Holdout]", sizes: "Sequence[SplitSize]", as_json: bool) -> None:
    """Print the precision to expect of each holdout for the size of its split. Raises UserError if one has no scene."""
    from generator.holdout.request import design_of
    from generator.plan.power import BINDING_EFFECT, CLUSTER_EFFECT, LEVEL, MAIN_EFFECT, POWER, expected

    designs = []
    for holdout, size in zip(holdouts, sizes, strict=True):
        name = design_of(holdout).benchmark_name(holdout)
        if not size.scenes:
            raise UserError(f"{name} has no scene of the split {size.split}, so it measures nothing; hold out more.")
        rows = expected(size, [1]) if holdout.is_empty else expected(size)
        designs.append({"benchmark": name, **asdict(size), "rows": [asdict(row) for row in rows]})
    assumed = {
        "main_effect": MAIN_EFFECT,
        "binding_effect": BINDING_EFFECT,
        "cluster_effect": CLUSTER_EFFECT,
        "level": LEVEL,
        "power": POWER,
    }
    lines = [
        *(line for design in designs for line in _table(design)),
        f"±: half the expected {LEVEL:.0%} interval of an accuracy, in points. Δ: the smallest difference between two "
        f"models of that accuracy that is detected in {POWER:.0%} of cases.",
        "± is a formula's estimate; simulated runs have intervals up to a third wider or narrower.",
        f"Assumed: effects of values and of objects of {MAIN_EFFECT:g} logits, of bindings of {BINDING_EFFECT:g} and "
        f"of groups of {CLUSTER_EFFECT:g}; models whose errors are independent (docs/splits.md).",
    ]
    result({"designs": designs, "assumed": assumed}, as_json, "\n".join(lines))


def _table(design: Mapping[str, Any]) -> list[str]:
    """The lines of a design: a row for each accuracy, a column for each number of block seeds."""
    seeds = list(dict.fromkeys(row["block_seeds"] for row in design["rows"]))
    cells = [["accuracy", *(f"{n} seed{'s' * (n > 1)}" for n in seeds)]]
    for accuracy in dict.fromkeys(row["accuracy"] for row in design["rows"]):
        cells.append([f"{accuracy:.0%}", *(_cell(row) for row in design["rows"] if row["accuracy"] == accuracy)])
    head = (
        f"{design['benchmark']}, {design['split']}: {design['scenes']:,} scenes, {design['clusters']:,} groups, "
        f"{design['bindings']:,} bindings for each block seed"
    )
    return [head, *table(cells, 0), ""]


def _cell(row: Mapping[str, Any]) -> str:
    told = "–" if row["difference"] is None else f"{100 * row['difference']:.1f}"
    return f"±{100 * row['half_width']:.1f} Δ{told:>5}"
