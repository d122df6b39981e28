"""The command `gen plan`, the options that it shares with `gen render`, and the output of
`--power`."""

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
    from generator.plan.evaluated import EvaluatedScenes
    from generator.vocabulary.schema import Vocabulary

_CONTENT_OPTIONS = (
    click.option(
        "--preset",
        help="A published benchmark: bindsplit2026, pearson2025, pearson2025-clean or spare.",
    ),
    DESIGN,
    HOLDOUT,
    click.option(
        "--family", default="clevr", help="World family: a name, or the path of your own TOML file."
    ),
    click.option(
        "--assets",
        help="Set of meshes: builtin, 0ad or one of your own (docs/assets.md).  [default: the "
        "family's own, else builtin]",
    ),
    click.option(
        "--environment",
        "environments",
        multiple=True,
        help="The only environment of the scenes, such as desert in family pug. Repeat for "
        "several.  [default: all of the family]",
    ),
    click.option(
        "--objects",
        help="Objects per scene: a number, or a range such as 3..10.  [default: 2, or as the "
        "family says: 3..10 in clevr-many and clevr-original]",
    ),
    click.option(
        "--scenes",
        help="Number of scenes: in all, by split as train=2000,seen=300,... (fewer of these means "
        "fewer of the others too), or grid for every arrangement of two objects once.  [default: "
        "train=2000, val=100, seen, partial, unseen=300; 1000 if nothing is held out]",
    ),
    click.option(
        "--resolution",
        default="320x240",
        help="Width x height in pixels. Objects are placed to fit into this image.",
    ),
    click.option(
        "--pairs/--no-pairs",
        default=None,
        help="Whether half of the scenes of val, seen, partial and unseen are twins of the other "
        "half, in which two objects have exchanged values. --scenes counts twins too.  [default: "
        "--pairs, but for --scenes grid and the design gzsl]",
    ),
    click.option(
        "--exchange",
        help="What twins exchange: values, places, or both, each in half of the pairs.  [default: "
        "values; both if relations are held out]",
    ),
    click.option("--seed", type=SEED, default=0, help="Seed of the scenes."),
    BLOCK_SEED,
    OPPOSITES,
)


POWER = click.option(
    "--power",
    is_flag=True,
    help="Write nothing. Print the expected width of intervals and the smallest difference between "
    "two models that is "
    "shown, for this design and for others with the same number of images (docs/splits.md).",
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
    from generator.plan.job import plan_world, prepare_world

    if power:
        check_power(context, "out")
    prepared, name = prepare_world(**given_values(context, content))
    # Only now, since these load SciPy and more, and wrong options are refused without them.
    from generator.api import log_held_out, turn_counts
    from generator.plan.evaluated import scenes_to_plan

    if power:
        job, holdouts, vocabulary = prepared.job, prepared.holdouts, prepared.vocabulary
        designs = scenes_to_plan(
            holdouts, prepared.parts, vocabulary, job.seed, job.objects, job.exchange
        )
        print_power(designs, holdouts[0], vocabulary, as_json)
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
    """Raise UserError if one of these parameters is given: they have no effect, because --power
    writes nothing."""
    for name, option in given(context).items():
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
    told = [_told(design) for design in designs]
    others = (
        []
        if holdout.is_empty
        else [_told(each) for each in alternatives(holdout, vocabulary, len(designs[0]))]
    )
    lines = [line for design in told for line in _table(design)]
    if others:
        lines += ["Other designs with as many images:", ""]
        lines += [line for design in others for line in _table(design)]
    lines += [
        f"±: half the {LEVEL:.0%} interval of an accuracy about this vocabulary, in points. Δ: the "
        f"smallest difference "
        f"between two models that is shown in {POWER:.0%} of cases, with one training of each.",
        "Simulated with the estimator of `score`. Usual effects are those of binary questions, "
        "large effects those of R@1 (docs/splits.md).",
    ]
    assumed = {
        "effects": {name: asdict(effects) for name, effects in EFFECTS.items()},
        "level": LEVEL,
        "power": POWER,
    }
    result({"designs": told, "alternatives": others, "assumed": assumed}, as_json, "\n".join(lines))


def _told(design: "EvaluatedScenes") -> dict[str, Any]:
    """The size of a design, and a row for each size of effects, number of trainings and
    accuracy."""
    from generator.plan.power import ACCURACIES, EFFECTS, expected

    rows = [
        {"effects": name, **asdict(expected(design, accuracy, trainings, effects))}
        for name, effects in EFFECTS.items()
        for trainings in ((1, 2) if design.trained else (1,))
        for accuracy in ACCURACIES
    ]
    return {
        "design": design.name,
        "split": design.split,
        "scenes": len(design),
        "blocks": design.block_count,
        "clusters": design.cluster_count,
        "bindings": design.binding_count,
        "rows": rows,
    }


def _table(design: Mapping[str, Any]) -> list[str]:
    """The lines of a design: a row for each size of effects and number of trainings, a column for
    each accuracy."""
    by_line: dict[str, list[Mapping[str, Any]]] = {}
    for row in design["rows"]:
        trainings = "one training" if row["trainings"] == 1 else "two trainings"
        by_line.setdefault(f"{row['effects']} effects, {trainings}", []).append(row)
    accuracies = dict.fromkeys(row["accuracy"] for row in design["rows"])
    cells = [["", *(f"{accuracy:.0%}" for accuracy in accuracies)]]
    cells += [[name, *map(_cell, rows)] for name, rows in by_line.items()]
    head = (
        f"{design['design']}, {design['split']}: {design['scenes']:,} scenes, "
        f"{design['clusters']:,} groups, {design['bindings']:,} bindings"
    )
    return [head, *table(cells, 0), ""]


def _cell(row: Mapping[str, Any]) -> str:
    if row["trainings"] > 1:
        return f"±{100 * row['half_width']:.1f}       "
    difference = "–" if row["difference"] is None else f"{100 * row['difference']:.1f}"
    return f"±{100 * row['half_width']:.1f} Δ{difference:>5}"
