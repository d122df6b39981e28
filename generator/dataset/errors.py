"""The error for mistakes that the user can mend, and the hint that closes its message."""

from difflib import get_close_matches

import click


class UserError(click.ClickException):
    """One sentence that names the mistake, the value and the remedy. It ends a command with exit code 2, without traceback."""

    exit_code = 2


def did_you_mean(name: str, known: list[str]) -> str:
    """The close of an error message: the nearest known name, or else all of them.

    >>> did_you_mean("cleevr", ["clevr", "pug"])
    "did you mean 'clevr'?"
    """
    near = get_close_matches(name, known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"expected one of: {', '.join(known)}."
