"""The command `gen ladder`."""

from typing import Any

import click

from generator.base.commands import Bar, Command, DatasetFolder
from generator.cli.farm import WORKERS
from generator.cli.options import JSON, SEED, values_given
from generator.cli.render import print_dataset


@click.command(
    cls=Command,
    common=("factor", "steps", "family", "scenes", "out"),
    examples=[
        "ladder --factor distractors --out distractors",
        "ladder --factor contrast --steps 8 --family pug --scenes 200 --out contrast",
    ],
)
@click.option(
    "--factor",
    required=True,
    help="What is graded: distractors, interference, size, occlusion, contrast or caption-length "
    "(docs/ladders.md).",
)
@click.option("--steps", type=click.IntRange(2, 8), default=6, help="Number of steps.")
@click.option(
    "--family",
    help="World family: a name, or the path of your own TOML file.  [default: clevr, or clevr-many "
    "if scenes have distractors]",
)
@click.option(
    "--scenes",
    default="100",
    help="Number of scenes of each step, an even number. Half of them are the other half with the "
    "values of two objects exchanged.",
)
@click.option(
    "--environment",
    "environments",
    multiple=True,
    help="The only environment of the scenes. Repeat for several.  [default: all of the family]",
)
@click.option(
    "--resolution",
    default="320x240",
    help="Width x height in pixels. Objects are placed to fit into this image.",
)
@click.option("--seed", type=SEED, default=0, help="Seed of the scenes.")
@click.option("--quality", default="standard", help="draft, standard or reference.")
@click.option(
    "--device",
    default="auto",
    help="Device to render on: auto (a GPU if there is one), cpu, optix, cuda, hip, metal or "
    "oneapi.",
)
@WORKERS
@click.option(
    "--out",
    type=DatasetFolder(written=True),
    help="Folder or URL to write.  [default: a folder named after the options]",
)
@JSON
@click.pass_context
def ladder(context: click.Context, factor: str, as_json: bool, **options: Any) -> None:
    """Render the same scenes in several steps of one factor.

    The same question is asked at every step, so `score run` gives a model's accuracy by step, and
    the magnitude at which it falls to half between 100% and chance. If the command is stopped, run
    it again to continue.
    """
    from generator import api

    # Only what was typed: the defaults are those of the API.
    dataset = api.ladder(factor, progress=Bar(), **values_given(context, options))
    print_dataset(dataset, as_json)
