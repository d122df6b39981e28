"""The error for mistakes that the user can fix, and parts of its message."""

import re
from difflib import get_close_matches


class UserError(Exception):
    """A mistake that the user can fix.

    The command lines print it without a traceback and exit with code 2.
    """

    def __init__(self, message: str):
        """Make the error.

        Args:
            message: One sentence: what was expected, what came, how to fix it.
        """
        super().__init__(message)
        self.message = message


def did_you_mean(name: str, known: list[str]) -> str:
    """Compose the end of an error message about an unknown name.

    Args:
        name: The name.
        known: The known names.

    Returns:
        A clause with the nearest known name, or with all of them.

    Example:
        >>> did_you_mean("cleevr", ["clevr", "pug"])
        "did you mean 'clevr'?"
    """
    nearest = get_close_matches(name, known, n=1)
    if nearest:
        return f"did you mean '{nearest[0]}'?"
    return f"expected one of: {', '.join(known)}."


def reason_of(error: OSError) -> str:
    """Say why a file cannot be used.

    Args:
        error: The error of the operating system.

    Returns:
        A clause, without the file.

    Example:
        >>> reason_of(PermissionError(13, "Permission denied", "runs"))
        'permission denied'
    """
    return str(error.strerror or error).lower()


# C0 without tab and newline, DEL and C1, which steer a terminal; bidirectional marks, embeddings,
# overrides and isolates, which show text in another order; line and paragraph separators; lone
# surrogates, which no stream can encode.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Escape control characters, so that a text of others cannot act in a terminal.

    Args:
        text: The text.

    Returns:
        The text with each control character as the escape that Python writes for it. Tabs and line
        breaks stay.

    Example:
        >>> visible("\x1b[2Jclean\u202e"), visible("two\nlines")
        ('\\x1b[2Jclean\\u202e', 'two\nlines')
    """
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    r"""Escape control characters, line breaks and tabs: a name of others must not look like a line
    of ours.

    Args:
        text: The text.

    Returns:
        The text on one line.

    Example:
        >>> one_line("small\n  certificate: clean")
        'small\\n  certificate: clean'
    """
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


_MARKUP = re.compile(r"[\\`<>|]|\](?=[(\[:])")


def one_line_of_markdown(text: str) -> str:
    r"""Escape the characters that could begin a link, an image, HTML, code or a cell of a table.

    Args:
        text: The text.

    Returns:
        Markdown on one line, with line breaks and tabs as spaces.

    Example:
        >>> one_line_of_markdown("![x](http://a) | <b>")
        '![x\\](http://a) \\| \\<b\\>'
    """
    return _MARKUP.sub(r"\\\g<0>", visible(text)).replace("\n", " ").replace("\t", " ")
