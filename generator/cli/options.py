"""Options that several commands of `gen` share; which of them the user gave; tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from generator.base.commands import DatasetFolder, LocalFolder, OutFile
from generator.plan.options import WorldOptions

FOLDER, NEW_FOLDER = LocalFolder(), LocalFolder(written=True)
FILE = click.Path(path_type=Path, dir_okay=False)
NEW_FILE, NEW_PNG = OutFile(), OutFile(".png")
SEED = click.IntRange(min=0)

DATASET = click.argument("dataset", type=DatasetFolder())
BENCHMARK = click.option("--benchmark", help="Which benchmark of DATASET, if it has several.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
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


def option_of(field: Field[Any]) -> Callable[[Any], Any]:
    """Make the option of a command that a field declares.

    Args:
        field: A field made by `generator.plan.options.option`.

    Returns:
        A decorator that adds the option to a command.
    """
    metadata = dict(field.metadata)
    flag = metadata.pop("flag", f"--{field.name.replace('_', '-')}")
    # The help may say a default in words that the field computes later.
    default = metadata.pop("default_in_help", field.default)
    least = metadata.pop("least", None)
    if least is not None:
        metadata["type"] = click.IntRange(min=least)
    return click.option(flag, field.name, default=default, **metadata)


_WORLD_FIELDS = {field.name: field for field in fields(WorldOptions)}
HOLDOUT = option_of(_WORLD_FIELDS["holdout"])
DESIGN = option_of(_WORLD_FIELDS["design"])
BLOCK_SEED = option_of(_WORLD_FIELDS["block_seed"])
OPPOSITES = option_of(_WORLD_FIELDS["opposites"])


def options_given(context: click.Context) -> dict[str, str]:
    """Find the parameters that the user gave on the command line.

    Args:
        context: The context of the command.

    Returns:
        The option by parameter, such as {"block_seed": "--block-seed"}; of an argument its name in
        capitals.
    """
    options: dict[str, str] = {}
    for parameter in context.command.params:
        name = parameter.name
        # A value equal to the default, but typed, counts as given.
        if name and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            is_option = isinstance(parameter, click.Option)
            options[name] = parameter.opts[0] if is_option else name.upper()
    return options


def values_given(context: click.Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """Keep only the values of parameters that the user gave; the API has the defaults.

    Args:
        context: The context of the command.
        values: The values of parameters, by name.

    Returns:
        Keyword arguments for the API.
    """
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
    # The header counts too.
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            cells.append(cell.ljust(width) if column < labels else cell.rjust(width))
        lines.append("  ".join(cells).rstrip())
    return lines
