"""The commands `gen vocab`."""

from dataclasses import asdict
from pathlib import Path

import click

from generator.base.commands import Commands, result, say
from generator.cli.options import JSON, NEW_FILE, NEW_PNG


@click.group(cls=Commands)
def vocab() -> None:
    """Inspect world families and check your own."""


@vocab.command(examples=["vocab check zoo.toml"])
@click.argument("family")
@JSON
def check(family: str, as_json: bool) -> None:
    """Check FAMILY, a name or the path of a TOML file, and list all its mistakes at once.

    Also warns of wrong English plurals and articles, of colours closer than a CIEDE2000 of 10, of objects whose masks
    overlap by more than 95%, and of textures that can hardly be seen on an object, which it renders. Notes say which
    values and objects of a shipped family need larger images (docs/vocabularies.md).

    The exit code is 2 if the family cannot be used, 1 if there are only warnings.
    """
    from generator.inspection.family_check import check_family

    found = check_family(family)
    for each in found:
        say(f"{each.level}: {each.message}")
    errors = sum(each.level == "error" for each in found)
    warnings = sum(each.level == "warning" for each in found)
    data = {"family": family, "errors": errors, "warnings": warnings, "findings": [asdict(each) for each in found]}
    result(data, as_json, f"{family}: {errors} errors, {warnings} warnings")
    raise SystemExit(2 if errors else 1 if warnings else 0)


@vocab.command(examples=["vocab show zoo.toml"])
@click.argument("family")
@click.option("--out", type=NEW_PNG, help="PNG to write.  [default: NAME-swatches.png]")
@click.option("--workers", type=click.IntRange(min=1), help="Number of render processes.  [default: one per core]")
@JSON
def show(family: str, out: Path | None, workers: int | None, as_json: bool) -> None:
    """Render a labelled sheet of FAMILY: every attribute value on one object, every object, every texture on each."""
    from generator.inspection.swatches import draw_swatches
    from generator.render.farm import default_workers

    path = draw_swatches(family, out or Path(f"{Path(family).stem}-swatches.png"), workers or default_workers())
    result({"swatches": str(path)}, as_json, str(path))


@vocab.command(examples=["vocab new mine.toml --extends pug"])
@click.argument("out", type=NEW_FILE)
@click.option("--extends", default="clevr", help="Family to extend: a name, or the path of your own TOML file.")
@JSON
def new(out: Path, extends: str, as_json: bool) -> None:
    """Write a starter family to OUT, a .toml file. It adds a colour to another family; its comments show what else to
    add."""
    from generator.vocabulary.starter import write_starter

    path = write_starter(out, extends)
    say(f"Next: gen vocab check {path}, gen vocab show {path}, gen render --family {path} --holdout 3x3")
    result({"family": str(path)}, as_json, str(path))
