"""The command `gen` and its subcommands; each other file here has related subcommands."""

import click

from generator.base.commands import Commands, completion
from generator.cli.describe import describe, split
from generator.cli.export import export, publish
from generator.cli.forms import forms
from generator.cli.ladder import ladder
from generator.cli.look import count, info, listing, preview
from generator.cli.plan import plan
from generator.cli.render import merge, render
from generator.cli.suite import suite
from generator.cli.verify import verify
from generator.cli.vocab import assets, vocab


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(package_name="jackalope", prog_name="gen")
def main() -> None:
    """Render worlds with held-out combinations and write benchmarks over them."""


for command in (
    listing,
    plan,
    render,
    ladder,
    merge,
    suite,
    forms,
    info,
    preview,
    verify,
    split,
    describe,
    count,
    vocab,
    assets,
    export,
    publish,
    completion,
):
    main.add_command(command)
