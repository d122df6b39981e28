"""The command `gen preview`."""

from pathlib import Path

import click

from generator.base.commands import result
from generator.base.errors import UserError
from generator.cli.options import BENCHMARK, DATASET, JSON, NEW_PNG, SEED, given


@click.command()
@DATASET
@BENCHMARK
@click.option("--split", "splits", multiple=True, help="Split to show. Repeat for several.  [default: all]")
@click.option("--n", "number", type=click.IntRange(min=1), default=6, help="Images of each split.")
@click.option("--seed", type=SEED, default=0, help="Seed that chooses the images.")
@click.option(
    "--grid",
    is_flag=True,
    help="Instead, show one image for each value of the tested kind on each object; held-out combinations are framed.",
)
@click.option("--out", type=NEW_PNG, help="PNG to write.  [default: preview.png or grid.png in DATASET]")
@JSON
@click.pass_context
def preview(
    context: click.Context,
    dataset: Path,
    benchmark: str | None,
    splits: tuple[str, ...],
    number: int,
    seed: int,
    grid: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """Draw a contact sheet of DATASET: images of every split with their captions."""
    from generator.inspection.sheets import draw_grid, draw_preview

    if grid and {"splits", "number", "seed"} & set(given(context)):
        raise UserError("--grid chooses its images from all splits; leave --split, --n and --seed out.")
    if grid:
        path = draw_grid(dataset, benchmark, out or dataset / "grid.png")
    else:
        path = draw_preview(dataset, benchmark, splits, number, seed, out or dataset / "preview.png")
    result({"preview": str(path)}, as_json, str(path))
