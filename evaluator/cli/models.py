"""The command `score models`."""

import click

from evaluator.cli.options import JSON
from generator.base.commands import result


@click.command()
@JSON
def models(as_json: bool) -> None:
    """List the model families and how to name a model of each."""
    from evaluator.models.registry import families

    usages = {name: family.usage for name, family in families().items()}
    result({"families": usages}, as_json, "\n".join(f"{name:12} {usage}" for name, usage in usages.items()))
