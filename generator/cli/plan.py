"""The command `gen plan`, and the options that it shares with `gen render`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generator.base.commands import result, say
from generator.base.errors import UserError
from generator.cli.options import BLOCK_SEED, DESIGN, HOLDOUT, JSON, NEW_FOLDER, OPPOSITES, SEED, given
from generator.cli.power import POWER, check_power, of_first_seed, print_power

if TYPE_CHECKING:
    from generator.plan.job import Prepared
    from generator.plan.store import StoredPlan

_OF_PRESET = ("design", "holdout", "block_seed", "objects", "opposites")
_CONTENT_OPTIONS = (
    click.option("--preset", help="A published benchmark: bindsplit2026, pearson2025, pearson2025-clean or spare."),
    DESIGN,
    HOLDOUT,
    click.option("--family", default="clevr", help="World family: a name, or the path of your own TOML file."),
    click.option(
        "--assets",
        help="Set of meshes: builtin, 0ad or one of your own (docs/assets.md).  [default: the family's own, else builtin]",
    ),
    click.option(
        "--environment",
        "environments",
        multiple=True,
        help="The only environment of the scenes, such as desert in family pug. Repeat for several.  [default: all of the family]",
    ),
    click.option("--objects", default="2", help="Objects per scene: a number, or a range such as 3..10."),
    click.option(
        "--scenes",
        help="Number of scenes: in all, by split as train=2000,seen=300,..., or grid for every arrangement of two objects once.  "
        "[default: train=2000, val=100, seen, partial, unseen=300]",
    ),
    click.option(
        "--resolution", default="320x240", help="Width x height in pixels. Objects are placed to fit into this image."
    ),
    click.option(
        "--pairs",
        is_flag=True,
        help="Give scenes of val, seen, partial and unseen a twin in which two objects have exchanged values or positions. "
        "--scenes does not count twins.",
    ),
    click.option("--seed", type=SEED, default=0, help="Seed of the scenes."),
    BLOCK_SEED,
    OPPOSITES,
)
CONTENT = frozenset(
    {
        "preset",
        "design",
        "holdout",
        "family",
        "assets",
        "environments",
        "objects",
        "scenes",
        "resolution",
        "pairs",
        "seed",
        "block_seed",
        "opposites",
    }
)
"""The parameters of these options."""


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
    from generator.plan.job import plan_world
    from generator.plan.power import sizes_to_plan

    prepared, name = prepare_content(context, **content)
    if power:
        check_power(context, "out")
        told = of_first_seed(prepared.holdouts)
        job = prepared.job
        sizes = sizes_to_plan(told, prepared.parts, prepared.vocabulary, job.seed, job.objects)
        print_power(told, sizes, as_json)
        return
    planned = plan_world(prepared, out or Path(name))
    say_held_out(planned)
    counts = planned.counts() or {"grid": len(planned)}
    say(f"Scenes: {', '.join(f'{split} {n:,}' for split, n in counts.items())}. Next: gen render {planned.root}")
    result({"dataset": str(planned.root), "scenes": counts}, as_json, str(planned.root))


def say_held_out(planned: "StoredPlan") -> None:
    """Print what each benchmark of a plan holds out, and how much each design of one block seed will be able to tell."""
    from generator.holdout.holdout import Holdout
    from generator.holdout.request import design_of
    from generator.plan.power import planned_sizes, sentence
    from generator.vocabulary.schema import parse_vocabulary

    holdouts = [Holdout.from_dict(saved) for saved in planned.request["holdouts"]]
    for holdout in holdouts:
        say(f"Held out: {design_of(holdout).summary(holdout)}.")
    sizes = planned_sizes(planned, holdouts, parse_vocabulary(planned.request["vocabulary"], "vocabulary.toml"))
    for line in dict.fromkeys(sentence(size) for size in sizes[: len(of_first_seed(holdouts))] if size.scenes):
        say(f"Expect: {line}")


def prepare_content(
    context: click.Context,
    preset: str | None,
    design: str,
    holdout: tuple[str, ...],
    family: str,
    assets: str | None,
    environments: tuple[str, ...],
    objects: str,
    scenes: str | None,
    resolution: str,
    pairs: bool,
    seed: int,
    block_seed: str,
    opposites: bool,
) -> tuple["Prepared", str]:
    """The world that the content options ask for, checked, and a name for its folder."""
    from generator.holdout.presets import read_preset
    from generator.holdout.request import parse_seeds
    from generator.plan.job import Job, folder_name, parse_objects, parse_resolution, prepare

    if preset is not None:
        stated = read_preset(preset)
        _check_preset(context, preset)
        design, holdout, block_seed = stated.design, stated.holdout, stated.block_seed
        family = family if "family" in given(context) else stated.family
        scenes = scenes or stated.scenes
        environments = environments or stated.environments
    job = Job(
        family,
        holdout,
        scenes,
        *parse_resolution(resolution),
        seed,
        parse_seeds(block_seed),
        parse_objects(objects),
        pairs,
        design,
        opposites,
        assets,
        environments,
    )
    prepared = prepare(job)
    return prepared, folder_name(prepared, preset)


def _check_preset(context: click.Context, preset: str) -> None:
    options = given(context)
    for name in _OF_PRESET:
        if name in options:
            raise UserError(
                f"--preset {preset} sets {options[name]} itself (scenes/presets/{preset}.toml); leave one of the two out."
            )
