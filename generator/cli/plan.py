"""The command `gen plan`, and the options that it shares with `gen render`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from generator.base.commands import result, say
from generator.cli.options import BLOCK_SEED, DESIGN, HOLDOUT, JSON, NEW_FOLDER, OPPOSITES, SEED, given_values
from generator.cli.power import POWER, check_power, of_first_seed, print_power

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
        help="Number of scenes: in all, by split as train=2000,seen=300,..., or grid for every arrangement of two "
        "objects once.  "
        "[default: train=2000, val=100, seen, partial, unseen=300]",
    ),
    click.option(
        "--resolution", default="320x240", help="Width x height in pixels. Objects are placed to fit into this image."
    ),
    click.option(
        "--pairs",
        is_flag=True,
        help="Give scenes of val, seen, partial and unseen a twin in which two objects have exchanged values or "
        "positions. "
        "--scenes does not count twins.",
    ),
    click.option("--seed", type=SEED, default=0, help="Seed of the scenes."),
    BLOCK_SEED,
    OPPOSITES,
)


def content_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that decide what a world holds."""
    for option in reversed(_CONTENT_OPTIONS):
        command = option(command)
    return command


@click.command()
@content_options
@click.option("--out", type=NEW_FOLDER, help="Folder to write.  [default: a folder named after the options]")
@POWER
@JSON
@click.pass_context
def plan(context: click.Context, out: Path | None, power: bool, as_json: bool, **content: Any) -> None:
    """Plan a world: what each scene holds, and what training never shows. Takes seconds and needs no Blender.

    `gen render DIR` renders the planned folder, on this machine or on another.
    """
    from generator.api import log_held_out, prepare_world
    from generator.plan.job import plan_world
    from generator.plan.power import sizes_to_plan

    prepared, name = prepare_world(**given_values(context, content))
    if power:
        check_power(context, "out")
        told = of_first_seed(prepared.holdouts)
        job = prepared.job
        sizes = sizes_to_plan(told, prepared.parts, prepared.vocabulary, job.seed, job.objects)
        print_power(told, sizes, as_json)
        return
    planned = plan_world(prepared, out or Path(name))
    log_held_out(planned)
    counts = planned.counts() or {"grid": len(planned)}
    say(f"Scenes: {', '.join(f'{split} {n:,}' for split, n in counts.items())}. Next: gen render {planned.root}")
    result({"dataset": str(planned.root), "scenes": counts}, as_json, str(planned.root))
