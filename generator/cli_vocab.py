"""The commands `gen vocab`."""

from dataclasses import asdict

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
    from generator.checking.check import check_family

    found = check_family(family)
    for each in found:
        say(f"{each.level}: {each.message}")
    errors = sum(each.level == "error" for each in found)
    data = {"family": family, "errors": errors, "warnings": len(found) - errors, "findings": [asdict(each) for each in found]}  # fmt: skip
    result(data, as_json, f"{family}: {errors} errors, {len(found) - errors} warnings")
    raise SystemExit(2 if errors else 1 if found else 0)
