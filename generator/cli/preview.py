"""The command `gen preview`."""

from pathlib import Path

import click

from generator.base.commands import Command, result
from generator.base.errors import UserError
from generator.cli.options import BENCHMARK, DATASET, JSON, NEW_PNG, SEED, given


@click.command(
    cls=Command,
    examples=["preview small", "preview zoo --grid", "preview small --split unseen --n 12 --out unseen.png"],
)
@DATASET
@BENCHMARK
@click.option("--split", "splits", multiple=True, help="Split to show. Repeat for several.  [default: all]")
@click.option(
    "--n",
    "number",
    type=click.IntRange(min=1),
    default=6,
    help="Images of each split; the page has all where --n is not given.",
)
@click.option("--seed", type=SEED, default=0, help="Seed that chooses the images.")
@click.option(
    "--grid",
    is_flag=True,
    help="Instead, show one image for each value of the tested kind on each object; held-out combinations are framed.",
)
@click.option(
    "--out", type=NEW_PNG, help="PNG to write, beside the page.  [default: preview.png or grid.png in DATASET]"
)
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
    """Show DATASET: a sheet with images of every split, and a page with all images and all of their texts."""
    from generator.inspection.sheets import draw_grid, draw_preview
    from generator.inspection.world_page import write_world_page

    if grid and {"splits", "number", "seed"} & set(given(context)):
        raise UserError("--grid chooses its images from all splits; leave --split, --n and --seed out.")
    if grid:
        made = {"preview": draw_grid(dataset, benchmark, out or dataset / "grid.png")}
    else:
        sheet = out or dataset / "preview.png"
        every = number if "number" in given(context) else None
        made = {
            "preview": draw_preview(dataset, benchmark, splits, number, seed, sheet),
            "page": write_world_page(dataset, benchmark, splits, every, seed, sheet.with_suffix(".html")),
        }
    result({name: str(path) for name, path in made.items()}, as_json, "\n".join(map(str, made.values())))
