"""The two readers: of an answer that chooses an option, and of an answer of yes or no."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .choice import ChoiceReader
from .labels import mark_captions, mark_letters, mark_ordinals
from .reasoning import final_part
from .refusals import refuses
from .sentences import split_sentences
from .statements import StatementReader
from .tokens import LABEL, WORD, Token, split_tokens
from .yes_no import YesNoReader

CUT_OFF = "an answer was cut off by the limit of tokens"
REFUSED = "the model refused to answer"
UNREAD = "an answer says nothing that can be read as one choice"

LONGEST = 20_000
"""Longest answer that is read whole, in characters without reasoning.

Of a longer answer, the first and the last half of this are read: answers begin or end with their
choice."""

_FINISHED_BY_REFUSAL = ("content_filter", "refusal")
"""Values of `finish_reason` that endpoints return in place of an answer."""

_REPEATED_QUESTION = ("q:", "question:")
"""How an answer begins that repeats the question before it answers."""


class Reading(NamedTuple):
    """What an answer says."""

    label: int | None
    """Index of the label, from 0; None if there is none."""
    why: str = ""
    """Why there is no label: CUT_OFF, REFUSED or UNREAD; "" for a label."""


def read_choice(answer: str, finish: str, letters: str, captions: Sequence[str] = ()) -> Reading:
    """Return which option an answer chooses.

    An answer may give the words of an option instead of its letter. It is unread if its letter and
    its words are of different options.

    Args:
        answer: The whole answer, with its reasoning.
        finish: Why the answer ended, as `finish_reason` of chat completions.
        letters: One letter for each option.
        captions: The words of each option; empty if they must not count.

    Returns:
        The index of the option, or why there is none.

    Example:
        >>> read_choice("<think>A? No.</think> The answer is **B**.", "stop", "AB")
        Reading(label=1, why='')
    """
    early_reading = _reading_by_finish(finish)
    if early_reading is not None:
        return early_reading
    tokens = split_tokens(_readable_text(answer))
    tokens = mark_captions(tokens, captions)
    tokens = mark_letters(tokens, letters)
    names_option = any(token.kind == LABEL for token in tokens)
    if not names_option:
        tokens = mark_ordinals(tokens, len(letters))
    return _decide(ChoiceReader(), tokens)


def read_yes_no(
    answer: str, finish: str, yes: Sequence[str] = ("yes",), no: Sequence[str] = ("no",)
) -> Reading:
    """Return whether an answer says yes (0) or no (1).

    Args:
        answer: The whole answer, with its reasoning.
        finish: Why the answer ended, as `finish_reason` of chat completions.
        yes: The words for yes that the question asks for. Common words of many languages are read
            as well.
        no: The words for no, likewise.

    Returns:
        0, 1, or why there is neither.

    Example:
        >>> read_yes_no("Yes. Wait, actually no.", "stop").label
        1
    """
    early_reading = _reading_by_finish(finish)
    if early_reading is not None:
        return early_reading
    meanings = dict.fromkeys(map(str.casefold, yes), "yes")
    meanings |= dict.fromkeys(map(str.casefold, no), "no")
    tokens = [_translate(token, meanings) for token in split_tokens(_readable_text(answer))]
    return _decide(YesNoReader(), tokens)


def _translate(token: Token, meanings: Mapping[str, str]) -> Token:
    """Give a word the meaning that the question's own words for yes and no have."""
    if token.kind != WORD:
        return token
    return token._replace(text=meanings.get(token.raw.casefold(), token.text))


def _reading_by_finish(finish: str) -> Reading | None:
    """The reading of an answer whose end alone decides it, else None."""
    if finish == "length":
        return Reading(None, CUT_OFF)
    if finish in _FINISHED_BY_REFUSAL:
        return Reading(None, REFUSED)
    return None


def _readable_text(answer: str) -> str:
    """The part of an answer to read, without reasoning, in a normal form of Unicode."""
    text = _shorten(final_part(answer))
    if text.lower().startswith(_REPEATED_QUESTION):
        # A model that repeats the question as "Q:" answers it as "A:", which is not option A.
        text = text.replace("\nA:", "\nAnswer:")
    text = _keep_checked_entries(_without_struck_out(text))
    # NFKC makes "Ｂ" a "B". It can make a text 18 times longer, so the length is bounded again.
    return _shorten(unicodedata.normalize("NFKC", text))


def _without_struck_out(text: str) -> str:
    """Remove what Markdown strikes out.

    Example:
        >>> _without_struck_out("~~A~~ B")
        ' B'
    """
    parts = text.split("~~")
    is_closed = len(parts) % 2 == 1
    return "".join(parts[::2]) if is_closed else text


def _keep_checked_entries(text: str) -> str:
    """Remove the boxes of a list of check boxes, and the entries that are not checked.

    Texts without a checked box stay as they are.

    Example:
        >>> _keep_checked_entries("- [ ] A\\n- [x] B")
        'B'
    """
    lines = text.split("\n")
    entries = [line.lstrip(" -*+") for line in lines]
    has_checked_box = any(entry.lower().startswith("[x] ") for entry in entries)
    if not has_checked_box:
        return text
    remaining = []
    for line, entry in zip(lines, entries, strict=True):
        if entry.lower().startswith("[x] "):
            remaining.append(entry[4:])
        elif not entry.startswith("[ ] "):
            remaining.append(line)
    return "\n".join(remaining)


def _shorten(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}\n{text[-half:]}"


def _decide(statements: StatementReader, tokens: list[Token]) -> Reading:
    """The reading of an answer: its label, or why it has none."""
    for sentence in split_sentences(tokens):
        begins_next_question = statements.take(sentence)
        if begins_next_question:
            break
    label = statements.answer()
    if label is not None:
        return Reading(label)
    return Reading(None, REFUSED if refuses(tokens) else UNREAD)
