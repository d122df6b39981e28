"""Runs the benchmarks, each in a process of its own, and prints one table."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bench.figures import Figure, measure
from bench.machine import machine

T = TypeVar("T")
WIDTH = 116
BENCHMARKS = (
    "startup",
    "vocab",
    "planning",
    "rendering",
    "describing",
    "scoring",
    "generating",
    "scale",
    "pairs",
    "familiarity",
    "reporting",
    "reading",
    "descriptions",
)
# hours; half an hour; an installed asset set; minutes; minutes; seconds; half a minute; seconds;
# ten minutes
ON_REQUEST = (
    "quality",
    "proof",
    "animals",
    "designs",
    "comparing",
    "size",
    "backgrounds",
    "twins",
    "forms",
)


@click.command()
@click.option(
    "--only",
    type=click.Choice([*BENCHMARKS, *ON_REQUEST]),
    multiple=True,
    help="Only this; may be given again.  [default: all but quality, proof, animals, designs, "
    "comparing, size, backgrounds, twins and forms]",
)
def main(only: tuple[str, ...]) -> None:
    """Measure how fast Jackalope is on this machine; some ten minutes and more."""
    console = Console(width=max(WIDTH, Console().width))
    console.print(alone(machine), highlight=False, soft_wrap=True)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for column in ("benchmark", "figure"):
        table.add_column(column, no_wrap=True)
    for column in ("median", "range", "runs"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for name in only or BENCHMARKS:
        click.echo(f"{name} …", err=True)
        # One after the other, so that benchmarks do not slow one another down.
        figures = alone(measure, name)
        for i, figure in enumerate(figures):
            table.add_row(name if i == 0 else "", *row(figure), end_section=i + 1 == len(figures))
    console.print(table)


def alone(function: Callable[..., T], *arguments: object) -> T:
    """Call a function in a new process, so that nothing is loaded yet and the memory measured is
    its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(function, *arguments).result()


def row(figure: Figure) -> tuple[str, str, str, str, str]:
    """The cells of a figure: name, median, range, number of runs, unit."""
    spread = (
        f"{short(min(figure.values))} – {short(max(figure.values))}"
        if len(figure.values) > 1
        else ""
    )
    return figure.name, short(figure.median), spread, str(len(figure.values)), figure.unit


def short(value: float) -> str:
    """Three digits that matter.

    >>> short(0.04567), short(12.345), short(123456.0)
    ('0.0457', '12.3', '123,456')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
