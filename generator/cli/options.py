"""Options that several commands of `gen` share; functions for the options that the user gave, and
for tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from generator.base.commands import DatasetFolder, LocalFolder, OutFile
from generator.holdout.designs import design_names

FOLDER, NEW_FOLDER = LocalFolder(), LocalFolder(written=True)
FILE = click.Path(path_type=Path, dir_okay=False)
NEW_FILE, NEW_PNG = OutFile(), OutFile(".png")
SEED = click.IntRange(min=0)

DATASET = click.argument("dataset", type=DatasetFolder())
BENCHMARK = click.option("--benchmark", help="Which benchmark of DATASET, if it has several.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
HOLDOUT = click.option(
    "--holdout",
    "holdout",
    multiple=True,
    default=(),
    help="What to hold out. Drawn by seed: values x objects such as 3x3 or color:shape=2x4, "
    "relations x pairs such as "
    'relation:pair=2x3. By name: "color=gray,blue shape=cube,cylinder", gray:cube, "left: cube, '
    'sphere" '
    "(docs/choose.md). Also k1..7 (coverage), atoms=1x2 (systematicity), objects=3 (gzsl), "
    "asymmetric (beside bindings), a holdout.json, or none for one split without training. Repeat "
    "for several.  [default: 3x3, or the design's own]",
)
DESIGN = click.option(
    "--design",
    default="bindsplit",
    help=f"How combinations are held out: {', '.join(design_names())} (docs/splits.md).",
)
BLOCK_SEED = click.option(
    "--block-seed",
    "block_seed",
    default="0",
    help="Seed that draws the block, or several such as 0..2 or 1,5: one benchmark each.",
)
OPPOSITES = click.option(
    "--opposites/--no-opposites",
    default=True,
    help=(
        "Also hold out the opposites of held-out relations, so that a flipped foil is as "
        "unfamiliar as its caption."
    ),
)
EXPOSED = click.option(
    "--exposed-negatives",
    is_flag=True,
    help="Let training negatives name held-out bindings. The dataset's manifest records it.",
)

REPLACE = click.option(
    "--replace",
    is_flag=True,
    help="If DATASET has a benchmark of that name, replace it and remove its certificate.",
)


def given(context: click.Context) -> dict[str, str]:
    """Returns the parameters given on the command line: option by name, such as {"block_seed":
    "--block-seed"}."""
    return {
        each.name: each.opts[0] if isinstance(each, click.Option) else each.name.upper()
        for each in context.command.params
        if each.name and context.get_parameter_source(each.name) is ParameterSource.COMMANDLINE
    }


def given_values(context: click.Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """Keep only the values of parameters given on the command line, as keyword arguments; the API
    has the defaults."""
    options = given(context)
    return {name: value for name, value in values.items() if name in options}


def table(rows: Sequence[Sequence[str]], labels: int = 1) -> list[str]:
    """The lines of a table. The first row is the header; the first `labels` columns are
    left-aligned, others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = (
        [
            cell.ljust(n) if i < labels else cell.rjust(n)
            for i, (cell, n) in enumerate(zip(row, widths, strict=True))
        ]
        for row in rows
    )
    return ["  ".join(cells).rstrip() for cells in aligned]
