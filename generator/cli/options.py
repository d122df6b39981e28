"""Options that several commands of `gen` share; which of them the user gave; tables."""

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


def options_given(context: click.Context) -> dict[str, str]:
    """The parameters that the user gave on the command line.

    Returns:
        The option by parameter, such as {"block_seed": "--block-seed"}; of an argument its name in
        capitals.
    """
    options: dict[str, str] = {}
    for parameter in context.command.params:
        name = parameter.name
        if name and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            is_option = isinstance(parameter, click.Option)
            options[name] = parameter.opts[0] if is_option else name.upper()
    return options


def values_given(context: click.Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """Keep only the values of parameters that the user gave, as keyword arguments; the API has the
    defaults."""
    options = options_given(context)
    return {name: value for name, value in values.items() if name in options}


def table(rows: Sequence[Sequence[str]], labels: int = 1) -> list[str]:
    """Align the cells of a table.

    Args:
        rows: the cells; the first row is the header.
        labels: how many of the first columns are left-aligned; the others are right-aligned.

    Returns:
        Its lines.

    >>> table([["split", "scenes"], ["seen", "300"]])
    ['split  scenes', 'seen      300']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            cells.append(cell.ljust(width) if column < labels else cell.rjust(width))
        lines.append("  ".join(cells).rstrip())
    return lines
