"""Shows the control characters of texts that come from files, so that none reaches a terminal, a log or a page."""

import re

# C0 but for tab and newline, DEL and C1; bidirectional marks, embeddings, overrides and isolates; line and paragraph
# separators; lone surrogates, which no stream can encode
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""A text with each control character as the escape that Python writes for it.

    >>> visible("\x1b[2Jclean\u202e"), visible("two\nlines")
    ('\\x1b[2Jclean\\u202e', 'two\nlines')
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
