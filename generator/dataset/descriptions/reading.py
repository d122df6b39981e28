"""Reads an answer: takes off its wrappings, and reads JSON or prose."""

import re

from .description import LONGEST, AnswerForm, Description, Span, UnreadPart
from .json_reader import WordsAllowed, read_json
from .lexicon import lexicon_of
from .prose_reader import read_prose
from .vocabulary import Vocabulary

_REASONING = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
)
_ANSWER = ("<answer>", "</answer>")
_FENCE = re.compile(r"```[ \t]*\w*[ \t]*\n?")


def read_description(
    answer: str,
    vocabulary: Vocabulary,
    *,
    form: AnswerForm | None = None,
    words: WordsAllowed = "closed",
) -> Description:
    """Read what an answer says of an image. Never raises: what cannot be read is returned as
    unread parts.

    Args:
        answer: the whole answer of a model, with its reasoning.
        vocabulary: the words of the image's world.
        form: how the answer was to be written; None to read JSON if the answer has a bracket, else
            prose.
        words: whether the question named the world's words (json_reader.WordsAllowed).

    Returns:
        The description. Places of its parts are those in `answer`.

    Example:
        >>> shapes = '[objects]\\ncube = {}\\n[attributes.color]\\nred = {}\\nblue = {}\\n'
        >>> vocabulary = Vocabulary.from_toml('category = "shape"\\n' + shapes)
        >>> read_description('Sure: [{"category": "cube", "color": "red"}]', vocabulary).objects
        (DescribedObject(category='cube', attributes={'color': 'red'}, spans={}),)
        >>> read_description("There may be a red cube.", vocabulary).unread
        (UnreadPart(start=0, end=24, reason="a hedge: 'may'"),)
    """
    start, end = final_part(answer)
    if answer.strip() and not answer[start:end].strip():
        reason = "no answer after the reasoning"
        return Description(unread=(UnreadPart(0, len(answer), reason),), form=form or "prose")
    unread: tuple[UnreadPart, ...] = ()
    if end - start > LONGEST:
        unread = (UnreadPart(start + LONGEST, end, "beyond the longest answer"),)
        end = start + LONGEST
    body = answer[start:end]
    if form is None:
        form = "json" if "[" in body or "{" in body else "prose"
    lexicon = lexicon_of(vocabulary)
    if form == "json" and unread:
        # A document that is cut cannot be read strictly.
        reason = "beyond the longest answer"
        return Description(unread=(UnreadPart(start, len(answer), reason),), form="json")
    if form == "json":
        return read_json(answer, _without_fence(answer, (start, end)), lexicon, words)
    description = read_prose(answer, (start, end), lexicon)
    return Description(
        description.objects, description.relations, (*description.unread, *unread), form="prose"
    )


def final_part(answer: str) -> Span:
    """Find the part of an answer after its reasoning.

    Args:
        answer: the whole answer.

    Returns:
        First character and the character after the last. Empty if reasoning never ends.

    Example:
        >>> text = "<think>Red?</think> A cube."
        >>> start, end = final_part(text)
        >>> text[start:end]
        ' A cube.'
    """
    lowered = answer.lower()
    if len(lowered) != len(answer):
        # Some letters have a longer small form, which would move every place after them.
        lowered = answer
    start, end = 0, len(answer)
    for opening, closing in _REASONING:
        closed = lowered.rfind(closing)
        if closed >= 0:
            start = max(start, closed + len(closing))
        opened = lowered.rfind(opening)
        # Reasoning that begins again and never ends has no answer after it.
        if opened >= start:
            return len(answer), len(answer)
    # The last one, since a model may correct itself.
    opened = lowered.rfind(_ANSWER[0], start)
    if opened >= 0:
        start = opened + len(_ANSWER[0])
        closed = lowered.find(_ANSWER[1], start)
        end = closed if closed >= 0 else end
    return start, end


def _without_fence(answer: str, span: Span) -> Span:
    """The contents of the only code fence in a part of an answer; the whole part if there is not
    exactly one."""
    # With more fences it is not clear which of the blocks is the answer.
    fences = list(_FENCE.finditer(answer, *span))
    if len(fences) != 2:
        return span
    return fences[0].end(), fences[1].start()
