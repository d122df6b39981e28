"""Read clauses that say yes (0) or no (1)."""

from collections.abc import Sequence

from .choice import introduction_of
from .predicates import sign_of
from .sentences import Clause, Sentence
from .standing import AFFIRMED, ANSWERED, HEDGED, LED, SEVERAL
from .statements import StatementReader
from .tokens import WORD
from .vocabulary import (
    ACCEPTING,
    BELIEVING,
    CONCLUDING,
    COPULAS,
    DEPICTING,
    HEDGING,
    NEGATORS,
    PRONOUNS,
    REJECTING,
    phrases,
    words,
)

YES = 0
NO = 1

_COLON_MARKS = (":", "=")
_BEFORE_YES = words(
    "well so therefore thus hence overall the a it is answer would be i and but final in "
    "conclusion clearly then we can say that based sorry probably likely my short simply "
    "summary finally definitely ah oh ok okay right"
)
_SUBJECTS = ("it", "the", "that", "is")
"""Words of _BEFORE_YES with which a claim about the image begins."""
_AFTER_YES = words(
    "it the this that there i because since as we these they indeed is in he she figure image "
    "picture caption not a an you sir absolutely for according both all based exactly sure"
)
_DENIALS = phrases(
    "absolutely not / definitely not / certainly not / no way / hell no / yes not / not quite / "
    "not really / not exactly / not entirely / not at all / i doubt it / i doubt that / "
    "does not look like it / it does not look like it / does not seem so / "
    "i do not think so / i do not believe so / i think not / of course not / almost / partly / "
    "partially / only partly / only partially / by no means / think not"
)
_AGREEMENTS = phrases(
    "absolutely / definitely / certainly / indeed / affirmative / of course / sure / i think so "
    "/ looks like it / it looks like it / i believe so / it seems so / sure is / exactly / "
    "i would say so"
)
_CAPTION_NOUNS = words(
    "statement caption description claim figure image picture photo sentence scene answer text "
    "depiction"
)
"""What a claim about the caption or the image begins with."""
_VALUES = ("yes", "no", "true", "false")
_SHORT_CLAIM = 5
"""Fewer words than this are a claim about the caption: "clearly not correct". Longer ones may be
about a part of the image."""


class YesNoReader(StatementReader):
    """Reads clauses that say yes (0) or no (1).

    Example:
        >>> from .sentences import split_sentences
        >>> from .tokens import split_tokens
        >>> reader = YesNoReader()
        >>> [reader.take(each) for each in split_sentences(split_tokens("No, it does not."))]
        [False]
        >>> reader.answer()
        1
    """

    def __init__(self) -> None:
        super().__init__()
        self._number_of_sentences = 0
        self._after_question = False
        """Whether the previous sentence asks, as in "Is the cube red? No."."""

    def take(self, sentence: Sentence) -> bool:
        ends = super().take(sentence)
        self._number_of_sentences += 1
        self._after_question = sentence.asks
        return ends

    def labels_in(self, clause: Clause) -> set[int]:
        label = yes_or_no(clause.words)
        return set() if label is None else {label}

    def stands_alone(self, clause: Clause) -> bool:
        return bool(self.labels_in(clause))

    def take_clause(self, clause: Clause, sentence: Sentence, number: int) -> None:
        tokens = [
            token for token in clause.tokens if token.kind == WORD or token.text in _COLON_MARKS
        ]
        if not tokens:
            return
        texts = [token.text for token in tokens]
        explicit, end = introduction_of(tokens)
        if explicit:
            is_last_clause = number + 1 == len(sentence.clauses)
            self._take_introduction(texts, explicit, end, is_last_clause=is_last_clause)
            return

        spoken = [text for text in texts if text not in _COLON_MARKS]
        value = texts[-1] if texts[-2:-1] == [":"] else ""
        # In "matches: false" the value decides, not the name before it.
        name_accepts = bool(ACCEPTING.intersection(spoken[:-1]))
        value_decides = value in _VALUES and len(spoken) < 4 and name_accepts
        label = yes_or_no([value] if value_decides else spoken)
        if label is not None:
            self._take_label(label, texts, clause, sentence, number)
        elif value:
            label = yes_or_no([value])
            if label is not None:
                # "The cube is red: yes" may be about a part of the question.
                self.state(label, AFFIRMED)

    def _take_introduction(
        self, texts: list[str], explicit: int, end: int, *, is_last_clause: bool
    ) -> None:
        """Take a clause that begins "the answer is", up to a place."""
        rest = [text for text in texts[end:] if text not in _COLON_MARKS]
        label = yes_or_no(rest)
        if label is not None:
            self.state(label, explicit)
        elif not rest:
            self.begin(explicit, waits=is_last_clause, needs_label=texts[end - 1] == ":")

    def _take_label(
        self, label: int, texts: list[str], clause: Clause, sentence: Sentence, number: int
    ) -> None:
        """Take a clause that says yes or no, as explicitly as its place makes it."""
        spoken = [text for text in texts if text not in _COLON_MARKS]
        concludes = (
            clause.opening in CONCLUDING
            or texts[0] in CONCLUDING
            or texts[:2] == ["in", "conclusion"]
            or "whole" in texts  # "the statement as a whole is false"
        )
        begins_answer = self._number_of_sentences == 0 and number == 0
        is_whole_line = sentence.begins_line and sentence.ends_line and len(sentence.clauses) == 1
        if len(spoken) == 2 and spoken[0] in ("and", "or") and spoken[1] in ("yes", "no"):
            self.standing.state(SEVERAL, LED)  # "yes and no"
        elif HEDGING.intersection(spoken):
            self.state(label, HEDGED)
        elif concludes:
            self.state(label, ANSWERED)
        elif begins_answer and not self._after_question:
            self.state(label, LED)
        elif is_whole_line and number == 0 and len(spoken) == 1:
            self.state(label, ANSWERED)
        else:
            self.state(label, AFFIRMED)


def yes_or_no(spoken: Sequence[str]) -> int | None:
    """Return what a clause says.

    Args:
        spoken: The words of the clause, in English.

    Returns:
        YES, NO, or None if it says neither.

    Example:
        >>> yes_or_no(["yes", "it", "does"]), yes_or_no(["it", "does", "not"])
        (0, 1)
        >>> yes_or_no(["no", "doubt"])
    """
    if not spoken:
        return None
    if len(spoken) == 1 and spoken[0] in ("y", "if", "n", "not"):
        # "Si" is "if" in French and "yes" in Spanish.
        return YES if spoken[0] in ("y", "if") else NO

    belief = _belief_in(spoken)
    if belief is not None:
        return belief
    start = 0
    while start + 1 < len(spoken) and _is_before_yes(spoken[start]):
        start += 1
    rest = list(spoken[start:])
    if " ".join(spoken) in _AGREEMENTS:
        return YES
    if " ".join(rest) in _DENIALS or " ".join(spoken) in _DENIALS:
        return NO

    if rest[0] in ("yes", "no") and _is_plain_reply(rest):
        contradicts_itself = rest[1:2] in (["yes"], ["no"]) and rest[0] != rest[1]
        if contradicts_itself:
            return None
        return YES if rest[0] == "yes" else NO

    before_last = spoken[-2] if len(spoken) > 1 else ""
    points = before_last in COPULAS or before_last in BELIEVING or before_last in _BEFORE_YES
    if points and spoken[-1] in ("yes", "no"):
        return YES if spoken[-1] == "yes" else NO
    return {1: YES, -1: NO}.get(_sign_of_claim(rest))


def _belief_in(spoken: Sequence[str]) -> int | None:
    """What a clause says that begins "I believe" or "I can confirm that", or that says "indeed"."""
    if spoken[0] == "i" and len(spoken) > 1 and spoken[1] in ("believe", "think", "guess"):
        belief = yes_or_no(spoken[2:])
        if belief is not None:
            return belief  # "I believe it does"
    begins_claim = spoken[0] in ("there", "the", "it", "this", "a", "an")
    if begins_claim and "indeed" in spoken[1:]:
        return NO if NEGATORS.intersection(spoken) else YES
    negated = bool(NEGATORS.intersection(spoken[:6]))
    if spoken[0] == "i" and "that" in spoken[2:6] and not negated:
        return yes_or_no(spoken[spoken.index("that") + 1 :])  # "I can confirm that it is true"
    return None


def _is_plain_reply(spoken: Sequence[str]) -> bool:
    """Whether words that begin with yes or no reply to the question: "no doubt" does not."""
    if len(spoken) == 1:
        return True
    reply, following = spoken[0], spoken[1]
    agreeing = ACCEPTING if reply == "yes" else REJECTING
    return following in _AFTER_YES or following in ("yes", "no") or following in agreeing


def _is_before_yes(word: str) -> bool:
    return word.isdigit() or (word in _BEFORE_YES and word not in _SUBJECTS)


def _sign_of_claim(spoken: list[str]) -> int:
    """Whether a clause accepts (1) or rejects (-1) what the question asks about; 0 if it does
    neither."""
    first = spoken[0]
    if first in ("yes", "no"):
        return 0
    subject_length = _length_of_subject(spoken)
    if subject_length:
        return _sign_or_emphasis(spoken[subject_length:])
    if first in ("everything", "all") and not HEDGING.intersection(spoken):
        return sign_of(spoken[1:])
    if first in ("there", "they") and len(spoken) < 4:
        return sign_of(spoken[1:])

    begins_claim = (
        first in ACCEPTING
        or first in REJECTING
        or first in ("does", "do", "not", "is", "almost", "partially")
    )
    is_short = len(spoken) < _SHORT_CLAIM or first in ("does", "matches")
    if begins_claim and is_short and spoken[:2] != ["not", "sure"]:
        return sign_of(spoken)
    return 0


def _length_of_subject(spoken: Sequence[str]) -> int:
    """How many words name the caption or the image at the start of a clause; 0 if none do."""
    second = spoken[1] if len(spoken) > 1 else ""
    if spoken[0] in PRONOUNS:
        return 2 if second in _CAPTION_NOUNS else 1
    if spoken[0] == "the" and len(spoken) > 2 and second in _CAPTION_NOUNS:
        return 2
    if spoken[0] in _CAPTION_NOUNS and len(spoken) > 1:
        return 1
    return 0


def _sign_or_emphasis(predicate: list[str]) -> int:
    """As sign_of; "does show" accepts."""
    second = predicate[1] if len(predicate) > 1 else ""
    if predicate[:1] == ["does"] and (second in DEPICTING or second in ("indeed", "in")):
        return 1
    return sign_of(predicate)
