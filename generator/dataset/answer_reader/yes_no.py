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
    CHOOSING,
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
    "well so therefore thus hence overall the a it is answer would be i and or but final in "
    "conclusion clearly then we can say that based sorry probably likely my short simply summary "
    "finally definitely ah oh ok okay right unfortunately sadly indeed exactly absolutely totally "
    "apparently obviously surely certainly fully perfectly entirely completely"
)
_SUBJECTS = ("it", "the", "that", "is")
"""Words of _BEFORE_YES with which a claim about the image begins."""
_AFTER_YES = words(
    "it the this that there i because since as we these they indeed is in he she figure image "
    "picture caption not a an you sir absolutely for according both all based exactly sure its "
    "from please"
)
_BELIEF_VERBS = words("believe think guess find consider deem judge")
_DISBELIEFS = (["do", "not", "believe"], ["do", "not", "think"])
_TOTALS = (["all"], ["everything"], ["every"])
_LESSENING_REPLY = ("partially", "partly", "almost")
_AFTER_CLAIM = words("here then sir though to me")
_DENIALS = phrases(
    "absolutely not / definitely not / certainly not / no way / hell no / yes not / not quite / "
    "not really / not exactly / not entirely / not at all / i doubt it / i doubt that / it does "
    "not look that way / does not look like it / it does not look like it / does not seem so / i "
    "do not think so / i do not believe so / i think not / of course not / almost / partly / "
    "partially / only partly / only partially / by no means / think not / i am afraid not / "
    "afraid not / i fear not / not / the opposite / the other way around / not so / it appears "
    "not / appears not / it seems not / seems not / apparently not / en absoluto / you are wrong "
    "/ i disagree / not the case / no such thing is shown / no match / that is not so / it is not "
    "so / auf keinen case / not du tout / tout not / absolument not / para nada / claro that no / "
    "not tout à fait / no del todo"
)
_AGREEMENTS = phrases(
    "absolutely / definitely / certainly / indeed / affirmative / of course / sure / i think so / "
    "looks like it / it looks like it / i believe so / it seems so / sure is / exactly / i would "
    "say so / very much so / totally / completely / is así / you are right / you are correct / "
    "agreed / i agree / confirmed / i can confirm this / i can confirm it / apparently so / seems "
    "so / obviously / clearly / surely / it looks that way / it does look like it / good match / "
    "positive / that is so / it is so / tout à fait / bien sûr / en effet / por supuesto / it "
    "appears so / appears so / so it seems / it would seem so / así is / asi is"
)
_CAPTION_NOUNS = words(
    "statement caption description claim figure image picture photo sentence scene answer text "
    "depiction"
)
"""What a claim about the caption or the image begins with."""
_ASSURANCES = words("clearly obviously surely certainly definitely absolutely indeed sure course")
_SHORT_REPLIES = {"y": YES, "t": YES, "if": YES, "有": YES, "n": NO, "f": NO, "not": NO}
"""Words that say yes or no only when they are alone. "Si" is "if" in French, "yes" in Spanish."""
_MOST_BELIEFS = 4
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
        # In the order of how surely a clause answers: "the answer is", its own words, a value after
        # ":".
        explicit, end = introduction_of(tokens)
        if explicit:
            is_last_clause = number + 1 == len(sentence.clauses)
            self._take_introduction(texts, explicit, end, is_last_clause=is_last_clause)
            return

        spoken = [text for text in texts if text not in _COLON_MARKS]
        # Answers in JSON or YAML give a value to a name.
        value = texts[-1] if texts[-2:-1] == [":"] else ""
        # In "matches: false" the value decides, not the name before it.
        name_accepts = bool(ACCEPTING.intersection(spoken[:-1]))
        value_decides = value in _VALUES and len(spoken) < 4 and name_accepts
        label = yes_or_no([value] if value_decides else spoken)
        if label is None and ":" in texts[:4]:
            # "Not correct: the cube is blue."
            claim = texts[: texts.index(":")]
            explanation = texts[len(claim) + 1 :]
            if len(explanation) > 2 or claim in (["yes"], ["no"]):
                label = yes_or_no(claim)
        if label == YES and spoken[-1] in _ASSURANCES and self._denies_after(sentence, number):
            return  # "clearly, no"
        if label is not None:
            self._take_label(label, texts, clause=clause, sentence=sentence, number=number)
        elif value:
            label = yes_or_no([value])
            if label is not None:
                # "The cube is red: yes" may be about a part of the question.
                self.state(label, AFFIRMED)

    def _denies_after(self, sentence: Sentence, number: int) -> bool:
        """Whether the next clause of a sentence says no."""
        following = sentence.clauses[number + 1 : number + 2]
        return any(yes_or_no(clause.words) == NO for clause in following)

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
        self, label: int, texts: list[str], *, clause: Clause, sentence: Sentence, number: int
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
        first, last = spoken[0], spoken[-1]
        adds = len(spoken) == 2 and first in ("and", "or") and last in ("yes", "no")
        if adds and (number > 0 or first == "or"):
            self.standing.state(SEVERAL, LED)  # "yes and no"
        elif HEDGING.intersection(spoken):
            self.state(label, HEDGED)
        elif concludes:
            self.state(label, ANSWERED)
        # The first word of an answer leads: what follows explains it, or, after "hmm", replaces it.
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
    if len(spoken) == 1 and spoken[0] in _SHORT_REPLIES:
        return _SHORT_REPLIES[spoken[0]]

    claim, is_denied = _without_beliefs(spoken)
    if claim and len(claim) < len(spoken):
        belief = _yes_or_no_of_claim(claim)
        if belief is not None:
            return NO if (belief == YES) == is_denied else YES
    return _yes_or_no_of_claim(spoken)


def _yes_or_no_of_claim(spoken: Sequence[str]) -> int | None:
    """As yes_or_no, of a clause without "I believe"."""
    begins_claim = spoken[0] in ("there", "the", "it", "this", "a", "an")
    # "There is indeed a red cube" repeats the caption, "indeed" alone agrees.
    if begins_claim and "indeed" in spoken[1:]:
        return NO if NEGATORS.intersection(spoken) else YES
    start = 0
    while start + 1 < len(spoken) and _is_before_yes(spoken[start]):
        start += 1
    rest = list(spoken[start:])
    # "It is not, sir": such words hide the last word that counts.
    while len(rest) > 2 and rest[-1] in _AFTER_CLAIM:
        rest.pop()
    if " ".join(spoken) in _AGREEMENTS:
        return YES
    if " ".join(rest) in _DENIALS or " ".join(spoken) in _DENIALS:
        return NO

    if rest[0] in ("yes", "no") and _is_plain_reply(rest):
        contradicts_itself = rest[1:2] in (["yes"], ["no"]) and rest[0] != rest[1]
        if contradicts_itself:
            return None
        return YES if rest[0] == "yes" else NO

    before_last = rest[-2] if len(rest) > 1 else ""
    points = before_last in COPULAS or before_last in BELIEVING or before_last in _BEFORE_YES
    answers_with = before_last == "with" and bool((BELIEVING | CHOOSING).intersection(spoken))
    if rest[-1] in ("yes", "no"):
        if points or answers_with:
            return YES if rest[-1] == "yes" else NO
        # "Partially yes" is neither.
        if rest[0] in _LESSENING_REPLY:
            return None
    return {1: YES, -1: NO}.get(_sign_of_claim(rest))


def _without_beliefs(spoken: Sequence[str]) -> tuple[Sequence[str], bool]:
    """The claim after "I believe", "I do not think" or "I can confirm that", and whether these deny
    it."""
    denied = False
    # Nobody nests beliefs deeper; without a bound, "I think I think …" would take quadratic time.
    for _ in range(_MOST_BELIEFS):
        if len(spoken) < 3 or spoken[0] != "i":
            break
        if spoken[1] in _BELIEF_VERBS:
            spoken = spoken[2:]
        elif list(spoken[1:4]) in _DISBELIEFS:
            spoken = spoken[4:]
            denied = not denied
        elif "that" in spoken[2:6] and not NEGATORS.intersection(spoken[:6]):
            spoken = spoken[spoken.index("that") + 1 :]
        else:
            break
    return spoken, denied


def _is_plain_reply(spoken: Sequence[str]) -> bool:
    """Whether words that begin with yes or no reply to the question: "no doubt" does not."""
    if len(spoken) == 1:
        return True
    reply, following = spoken[0], spoken[1]
    agreeing = ACCEPTING if reply == "yes" else REJECTING
    if following.isdigit():
        return True  # "yes, 100%"
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
    if first == "not" and spoken[1:2] in _TOTALS:
        return sign_of(spoken)  # "not all of it is true"
    if first in ("nothing", "none"):
        return sign_of(["not", *spoken[1:]])
    if first in ("there", "they") and len(spoken) < 4:
        return sign_of(spoken[1:])

    # Without a subject only a short clause is about the whole caption.
    begins_claim = (
        first in ACCEPTING
        or first in REJECTING
        or first in ("does", "do", "not", "is", "almost", "partially", "looks", "seems", "sounds")
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
