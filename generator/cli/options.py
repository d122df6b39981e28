"""Options that several commands of `gen` share."""

import click

from generator.holdout.designs.registry import design_names

JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
SEED = click.IntRange(min=0)
HOLDOUT = click.option(
    "--holdout",
    "holdout",
    multiple=True,
    default=(),
    help="What is held out: values x objects such as 3x3 or color:shape=2x4, relations x pairs such as relation:pair=2x3 (both "
    "may be given), k1..7 (coverage), atoms=1x2 (systematicity), or a holdout.json.  [default: 3x3, or the design's own]",
)
DESIGN = click.option(
    "--design",
    default="bindsplit",
    help=f"How combinations are held out: {', '.join(design_names())} (docs/splits.md).",
)
BLOCK_SEED = click.option(
    "--block-seed", "block_seed", default="0", help="Seed of the block and of the splits, or several such as 0..2."
)
OPPOSITES = click.option(
    "--opposites/--no-opposites",
    default=True,
    help="Hold out the opposites of held-out relations too, so that a flipped foil is as unfamiliar as its caption.",
)
EXPOSED = click.option(
    "--exposed-negatives",
    is_flag=True,
    help="Let training negatives show held-out bindings (the dataset then says so).",
)
