"""The error for mistakes of the user, and the hint that closes its message (exit codes: test_commands.py)."""

import pickle

from generator.base.errors import UserError, did_you_mean


def test_an_error_is_its_message_also_from_another_process() -> None:
    error = pickle.loads(pickle.dumps(UserError("Expected 3x3, got 3by3.")))
    assert isinstance(error, UserError)
    assert error.message == str(error) == "Expected 3x3, got 3by3."


def test_the_nearest_name_is_suggested_or_all_are_listed() -> None:
    assert did_you_mean("cleevr", ["clevr", "pug"]) == "did you mean 'clevr'?"
    assert did_you_mean("xyz", ["clevr", "pug"]) == "expected one of: clevr, pug."
