"""The command `gen suite`."""

from pathlib import Path
from typing import Any

import click

from generator.base.commands import Bar, Command, result, say, slurm_options
from generator.cli.farm import (
    ADDRESS,
    SHARDS,
    SLURM_PARAMETERS,
    WAIT,
    WORKERS,
    check_slurm_options,
    check_slurm_shards,
)
from generator.cli.options import JSON, NEW_FOLDER, SEED, values_given
from generator.suite.parts import FULL, PARTS

_FARM_PARAMETERS = SLURM_PARAMETERS | {"device", "workers", "farm", "address", "shard", "shards"}
"""Parameters that `api.render` and `api.render_on_slurm` take as they are."""


@click.command(
    cls=Command,
    common=("part", "tracks", "fresh", "workers", "out"),
    examples=[
        "suite jackalope-1 --part tiny",
        "suite jackalope-1 --track bind --workers 16 --out bind",
        "suite jackalope-1 --part tiny --fresh 7",
    ],
)
@click.argument("suite")
@click.option(
    "--part",
    type=click.Choice(PARTS),
    default=FULL,
    help="Which part: full, or tiny for a first look in less than an hour.",
)
@click.option(
    "--track", "tracks", multiple=True, help="Track to make. Repeat for several.  [default: all]"
)
@click.option(
    "--fresh",
    type=SEED,
    help="Make a fresh form: other scenes, images and groups of held-out combinations, by the "
    "same design and as difficult (docs/suite.md).  [default: the standard form]",
)
@WORKERS
@click.option(
    "--device",
    default="auto",
    help="Device to render on, as for `gen render`. Digests of images are for cpu.",
)
@click.option(
    "--farm",
    type=click.Choice(["local", "ray", "slurm"]),
    default="local",
    help="Where workers run: on this machine, on a Ray cluster, or as jobs on a Slurm cluster.",
)
@ADDRESS
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Slurm: number of jobs of each world, each with --workers cores.  [default: 8 jobs of 8 "
    "cores]",
)
@slurm_options
@click.option(
    "--dry-run", is_flag=True, help="Print the cost, and the scripts of Slurm; write nothing."
)
@WAIT
@click.option(
    "--shard", help="Render only part i of n of each world, as i/n. `gen merge` merges the parts."
)
@SHARDS
@click.option(
    "--verify/--no-verify",
    default=True,
    help="Whether to judge each world when it is finished. `gen verify DIR` does so later.",
)
@click.option(
    "--out", type=NEW_FOLDER, help="Folder to write.  [default: a folder named after the options]"
)
@JSON
@click.pass_context
def suite(
    context: click.Context,
    suite: str,
    part: str,
    tracks: tuple[str, ...],
    fresh: int | None,
    dry_run: bool,
    verify: bool,
    out: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Make SUITE: standard worlds, each an ordinary dataset, with its texts.

    SUITE is a name that `gen list suites` lists, or a TOML file of your own (docs/suite.md). Says
    what rendering costs, then renders, describes and judges world by world, and compares
    their digests with the published ones. If the command is stopped, run it again to continue.
    `score suite` scores models on it.
    """
    from generator.api import check_address
    from generator.suite.forms import STANDARD, fresh_form
    from generator.suite.making import cost_lines, make_suite, read_making, slurm_scripts

    farm = {
        name: value
        for name, value in values_given(context, options).items()
        if name in _FARM_PARAMETERS
    }
    # Before worlds are planned, which takes minutes.
    check_address(farm.get("farm", "local"), farm.get("address"))
    check_slurm_options(context, farm.get("farm"))
    if farm.get("farm") == "slurm":
        check_slurm_shards(farm)
    form = STANDARD if fresh is None else fresh_form(fresh)
    making = read_making(suite, part=part, form=form, tracks=tracks)
    # Outside of `or`: a wrong shard is refused before anything is written, with --out too.
    suffix = _shard_suffix(farm)
    root = out or Path(f"{making.folder_name}{suffix}")
    jobs = making.jobs()
    for line in cost_lines(jobs, _core_count(farm)):
        say(line)
    data: dict[str, Any] = {
        "suite": str(root),
        "name": making.suite.full_name,
        "part": part,
        "form": form,
    }
    # After the cost, which is what a dry run is for.
    if dry_run:
        scripts = slurm_scripts(jobs, root, farm) if farm.get("farm") == "slurm" else []
        images = {job.key: job.image_count for job in jobs}
        data = {**data, "images": images, "scripts": scripts}
        result(data, as_json, "\n".join(scripts or [str(root)]))
        return
    faults = make_suite(making, root, farm=farm, verify=verify, progress=Bar())
    _print_suite(root, farm, faults, data, as_json)


def _core_count(farm: dict[str, Any]) -> int:
    """The number of cores that render."""
    from generator.render.farm import default_workers

    if farm.get("farm") == "slurm":
        # The defaults of `api.SlurmOptions`.
        return int(farm.get("jobs", 8)) * int(farm.get("workers", 8))
    return int(farm.get("workers") or default_workers())


def _shard_suffix(farm: dict[str, Any]) -> str:
    """The end of the default folder of a shard."""
    from generator.render.shards import parse_shard

    shard = parse_shard(farm.get("shard"))
    # Shards made in one place, as on a shared disk, must not write into each other.
    return "-shard-{}-of-{}".format(*shard) if shard else ""


def _print_suite(
    root: Path, farm: dict[str, Any], faults: list[str], data: dict[str, Any], as_json: bool
) -> None:
    """Print where a suite is, its digests and what to do next; exit with 1 after a fault."""
    from generator.suite.record import read_record

    for fault in faults:
        say(f"Not as published: {fault}.")
    if "shard" in farm:
        n_shards = str(farm["shard"]).partition("/")[2]
        say(f"Next, when all {n_shards} shards are there: gen merge SHARD... --out DIR")
    elif farm.get("wait") is False:
        say(
            "Run the same command again, with --wait, to follow the jobs and to merge their scenes."
        )
    else:
        say(f"Next: score suite {root} --model SPEC, or gen verify {root}")
    data = {**data, "worlds": read_record(root)["worlds"], "faults": faults}
    result(data, as_json, str(root))
    # The worlds are whole and usable, but not those that were published.
    raise SystemExit(1 if faults else 0)
