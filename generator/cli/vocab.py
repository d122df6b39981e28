"""The commands `gen vocab`."""

from dataclasses import asdict
from pathlib import Path

import click

from generator.dataset.commands import Commands, result, say


@click.group(cls=Commands)
def vocab() -> None:
    """Look at world families and check those of your own."""


@vocab.command()
@click.argument("family")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(family: str, as_json: bool) -> None:
    """Check FAMILY, a name or the path of a TOML file: all mistakes at once, and what people could not tell apart.

    Exit code 2 when the family cannot be used, 1 when only warnings were found: words that English forms otherwise, colours
    closer than a CIEDE2000 of 10, objects whose masks have more than 95% in common (docs/vocabularies.md).
    """
    from generator.inspection.family.check import check_family

    found = check_family(family)
    for each in found:
        say(f"{each.level}: {each.message}")
    errors = sum(each.level == "error" for each in found)
    data = {"family": family, "errors": errors, "warnings": len(found) - errors, "findings": [asdict(each) for each in found]}  # fmt: skip
    result(data, as_json, f"{family}: {errors} errors, {len(found) - errors} warnings")
    raise SystemExit(2 if errors else 1 if found else 0)


@vocab.command()
@click.argument("family")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="PNG to write.  [default: NAME-swatches.png]"
)
@click.option("--workers", type=click.IntRange(min=1), help="Render processes.  [default: one a core]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def show(family: str, out: Path | None, workers: int | None, as_json: bool) -> None:
    """Render a sheet of FAMILY: every value of every attribute kind on one object, and every object, labelled."""
    from generator.inspection.sheets.swatches import draw_swatches
    from generator.render.farm.local import default_workers

    path = draw_swatches(family, out or Path(f"{Path(family).stem}-swatches.png"), workers or default_workers())
    result({"swatches": str(path)}, as_json, str(path))


@vocab.command()
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--extends", default="clevr", help="Family to extend: a name, or the path of a TOML file of your own.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def new(out: Path, extends: str, as_json: bool) -> None:
    """Write OUT.toml, a family that extends another by a colour, with comments on what else it can add."""
    from generator.vocabulary.starter import write_starter

    path = write_starter(out, extends)
    say(f"Next: gen vocab check {path}, gen vocab show {path}, gen render --family {path} --holdout 3x3")
    result({"family": str(path)}, as_json, str(path))
