"""The command `gen plan`, the options that it shares with `gen render`, and the output of
`--power`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.base.commands import Command, result, say
from generator.base.errors import UserError
from generator.cli.options import (
    JSON,
    NEW_FOLDER,
    option_of,
    options_given,
    table,
    values_given,
)
from generator.plan.options import WorldOptions

if TYPE_CHECKING:
    from generator.holdout.holdout import Holdout
    from generator.plan.evaluated import EvaluatedScenes
    from generator.vocabulary.schema import Vocabulary

POWER = click.option(
    "--power",
    is_flag=True,
    help="Write nothing. Print the expected width of intervals and the smallest difference between "
    "two models that is shown, for this design and for others with the same number of images "
    "(docs/splits.md).",
)


COMMON = ("preset", "holdout", "family", "objects", "scenes", "resolution", "block_seed", "out")
"""Parameters that the help lists as common options."""


def content_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `WorldOptions`, which decide what a world holds.

    Args:
        command: The function of the command.

    Returns:
        The same with the options.
    """
    # click lists the option that is added last first.
    for field in reversed(fields(WorldOptions)):
        command = option_of(field)(command)
    return command


@click.command(
    cls=Command,
    common=COMMON,
    examples=["plan --holdout 3x3 --out world", "plan --holdout 4x6 --block-seed 0..4 --power"],
)
@content_options
@click.option(
    "--out", type=NEW_FOLDER, help="Folder to write.  [default: a folder named after the options]"
)
@POWER
@JSON
@click.pass_context
def plan(
    context: click.Context, out: Path | None, power: bool, as_json: bool, **content: Any
) -> None:
    """Plan a world: what each scene holds, and what training never shows. Takes seconds and needs
    no Blender.

    `gen render DIR` renders the planned folder, on this machine or on another.
    """
    from generator.plan.prepare import plan_world, prepare

    if power:
        check_power(context, "out")
    prepared = prepare(WorldOptions(**values_given(context, content)))
    # Only now, since these load SciPy and more, and wrong options are refused without them.
    from generator.api import log_held_out, turn_counts
    from generator.plan.evaluated import scenes_to_plan

    if power:
        designs = scenes_to_plan(
            prepared.holdouts,
            prepared.parts,
            vocabulary=prepared.vocabulary,
            seed=prepared.options.seed,
            objects=prepared.objects,
            exchange=prepared.exchange,
        )
        print_power(designs, prepared.holdout, prepared.vocabulary, as_json)
        return
    planned = plan_world(prepared, out or Path(prepared.folder_name))
    log_held_out(planned)
    data: dict[str, Any] = {"dataset": str(planned.root)}
    turns = turn_counts(prepared.holdouts, prepared.vocabulary, planned)
    if turns:
        data["benchmarks"] = turns
        for name, counts in turns.items():
            say(f"{name}: {_count_list(counts)}.")
        say(f"{len(planned):,} scenes, which all turns share. Next: gen render {planned.root}")
    else:
        data["scenes"] = planned.counts() or {"grid": len(planned)}
        say(f"Scenes: {_count_list(data['scenes'])}. Next: gen render {planned.root}")
    result(data, as_json, str(planned.root))


def _count_list(counts: Mapping[str, int]) -> str:
    """Numbers of scenes by split, in a line."""
    return ", ".join(f"{split} {n:,}" for split, n in counts.items())


def check_power(context: click.Context, *parameters: str) -> None:
    """Check that no option is typed that --power, which writes nothing, would ignore.

    Args:
        context: The context of the command.
        *parameters: The parameters without effect.

    Raises:
        UserError: One of them is on the command line.
    """
    for name, option in options_given(context).items():
        if name in parameters:
            raise UserError(f"--power writes nothing, so {option} has no effect; leave it out.")


def print_power(
    designs: "Sequence[EvaluatedScenes]",
    holdout: "Holdout",
    vocabulary: "Vocabulary",
    as_json: bool,
) -> None:
    """Print what each design will tell, and what others with as many images would tell.

    Args:
        designs: the designs of the user.
        holdout: a holdout of the first of them, which says what kind of values it tests.
        vocabulary: of the world.
        as_json: print JSON in place of tables.

    Raises:
        UserError: a design has no scene.
    """
    from generator.plan.power import EFFECTS, LEVEL, POWER, alternatives

    for design in designs:
        if not len(design):
            raise UserError(
                f"{design.name} has no scene of the split {design.split}, so it measures nothing; "
                f"hold out more."
            )
    own = [_power_of(design) for design in designs]
    others = []
    # A world without a holdout has no design to compare with.
    if not holdout.is_empty:
        with_as_many_images = alternatives(holdout, vocabulary, len(designs[0]))
        others = [_power_of(design) for design in with_as_many_images]
    lines: list[str] = []
    for power in own:
        lines += _power_table(power)
    if others:
        lines += ["Other designs with as many images:", ""]
    for power in others:
        lines += _power_table(power)
    lines += [
        f"±: half the {LEVEL:.0%} interval of an accuracy about this vocabulary, in points. Δ: the "
        f"smallest difference between two models that is shown in {POWER:.0%} of cases, with one "
        f"training of each.",
        "Simulated with the estimator of `score`. Usual effects are those of binary questions, "
        "large effects those of R@1 (docs/splits.md).",
    ]
    assumed = {
        "effects": {name: asdict(effects) for name, effects in EFFECTS.items()},
        "level": LEVEL,
        "power": POWER,
    }
    result({"designs": own, "alternatives": others, "assumed": assumed}, as_json, "\n".join(lines))


def _power_of(design: "EvaluatedScenes") -> dict[str, Any]:
    """The size of a design, and a row for each size of effects, number of trainings and
    accuracy."""
    from generator.plan.power import ACCURACIES, EFFECTS, expected

    # A second training averages over chance in training, which models that do not train lack.
    numbers_of_trainings = (1, 2) if design.trained else (1,)
    rows = []
    for name, effects in EFFECTS.items():
        for trainings in numbers_of_trainings:
            for accuracy in ACCURACIES:
                power = expected(design, accuracy, trainings, effects)
                rows.append({"effects": name, **asdict(power)})
    return {
        "design": design.name,
        "split": design.split,
        "scenes": len(design),
        "blocks": design.block_count,
        "clusters": design.cluster_count,
        "bindings": design.binding_count,
        "rows": rows,
    }


def _power_table(power: Mapping[str, Any]) -> list[str]:
    """The lines of a design: a row for each size of effects and number of trainings, a column for
    each accuracy."""
    rows_of_line: dict[str, list[Mapping[str, Any]]] = {}
    for row in power["rows"]:
        trainings = "one training" if row["trainings"] == 1 else "two trainings"
        rows_of_line.setdefault(f"{row['effects']} effects, {trainings}", []).append(row)
    accuracies = dict.fromkeys(row["accuracy"] for row in power["rows"])
    cells = [["", *(f"{accuracy:.0%}" for accuracy in accuracies)]]
    for line, rows in rows_of_line.items():
        cells.append([line, *(_cell(row) for row in rows)])
    head = (
        f"{power['design']}, {power['split']}: {power['scenes']:,} scenes, "
        f"{power['clusters']:,} groups, {power['bindings']:,} bindings"
    )
    return [head, *table(cells, 0), ""]


def _cell(row: Mapping[str, Any]) -> str:
    """Half the interval and the smallest difference, in points; spaces in place of the difference
    where there is none to print, so that columns align."""
    half_width = f"±{100 * row['half_width']:.1f}"
    if row["trainings"] > 1:
        return f"{half_width}       "
    difference = "–" if row["difference"] is None else f"{100 * row['difference']:.1f}"
    return f"{half_width} Δ{difference:>5}"
