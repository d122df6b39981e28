"""The error for mistakes that the user can mend, and the hint that closes its message."""

from difflib import get_close_matches


class UserError(Exception):
    """A mistake that the user can mend. `message` is one sentence: what was expected, what came, how to mend it.

    The command lines print it without a traceback and exit with code 2.
    """

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message


def did_you_mean(name: str, known: list[str]) -> str:
    """The end of an error message: the nearest known name, or all of them.

    >>> did_you_mean("cleevr", ["clevr", "pug"])
    "did you mean 'clevr'?"
    """
    near = get_close_matches(name, known, n=1)
    return f"did you mean '{near[0]}'?" if near else f"expected one of: {', '.join(known)}."
