"""Errors that the user can mend: exit code 2, one sentence, and a hint."""

import click
from click.testing import CliRunner

from generator.dataset.errors import UserError, did_you_mean


def test_a_user_error_ends_a_command_with_its_sentence_and_code_2() -> None:
    @click.command()
    def fails() -> None:
        raise UserError("Expected 3x3, got 3by3.")

    done = CliRunner().invoke(fails)
    assert (done.exit_code, done.stderr) == (2, "Error: Expected 3x3, got 3by3.\n")


def test_the_nearest_name_is_suggested_or_all_are_listed() -> None:
    assert did_you_mean("cleevr", ["clevr", "pug"]) == "did you mean 'clevr'?"
    assert did_you_mean("xyz", ["clevr", "pug"]) == "expected one of: clevr, pug."
