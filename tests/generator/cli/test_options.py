"""Options that several commands share, which of them the user gave, and tables."""

import click
from click.testing import CliRunner

from generator.cli.options import BLOCK_SEED, HOLDOUT, SEED, options_given, table


@click.command()
@HOLDOUT
@BLOCK_SEED
@click.option("--seed", type=SEED, default=0)
@click.pass_context
def command(context: click.Context, **options: object) -> None:
    click.echo(sorted(options_given(context).items()))


def test_only_options_on_the_command_line_are_given() -> None:
    assert CliRunner().invoke(command, []).stdout == "[]\n"
    arguments = ["--seed", "0", "--holdout", "2x2", "--holdout", "relation:pair=2x3"]
    outcome = CliRunner().invoke(command, arguments)
    assert outcome.stdout == "[('holdout', '--holdout'), ('seed', '--seed')]\n"


def test_labels_stand_to_the_left_and_numbers_to_the_right() -> None:
    assert table([["split", "n"], ["a", "1,000"], ["bc", "–"]]) == [
        "split      n",
        "a      1,000",
        "bc         –",
    ]
