"""Options that several commands of `gen` share; functions for the options that the user gave, and
for tables."""

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
    """The option of a command that a field made by `generator.plan.options.option` declares."""
    metadata = dict(field.metadata)
    flag = metadata.pop("flag", f"--{field.name.replace('_', '-')}")
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
