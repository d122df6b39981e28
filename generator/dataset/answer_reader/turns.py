"""Judge by its words whether a clause takes back what was stated, or does not speak of what is."""

from collections.abc import Sequence
from itertools import pairwise

from .standing import CONTRAST, DOUBT, RETRACTION
from .vocabulary import phrases, words

DOUBTING = phrases(
    "or rather / or actually / on second thought / on second thoughts / sorry / actually / wait / "
    "hmm / hold on / on second / on a second / on closer / on a closer / upon closer / on further "
    "/ upon further / looking again / looking closer / looking more closely / let me check / let "
    "me double / let me re / let me reconsider / let me recheck / let me look / let me verify / "
    "after reconsidering / reconsidering / re examining / taking another / on reflection / "
    "tatsächlich / doch / 等等 / espera / attendez / moment"
)
"""Words that begin a clause which doubts what was stated before."""
RETRACTING = phrases(
    "wait no / no wait / scratch that / strike that / correction / i was wrong / i made a mistake "
    "/ i made an error / my mistake / my bad / i misread / i misspoke / i mixed / i meant / i "
    "mean / i take that back / i take it back / let me correct / i need to correct / i have to "
    "correct / i apologize / oops / i got that wrong / that is not right / that is wrong / that "
    "was wrong / that is a mistake / that was a mistake / i should correct / edit"
)
"""Words that begin a clause which takes back what was stated before."""
REASONS_OF_RETRACTION = phrases("i misread / i mixed / i made / my mistake / my bad / i was")
"""Beginnings of a retraction that, after a label, only give the reason for it."""
_INTERJECTIONS = words("oh ah hmm sorry well so and but no")
"""Words before these phrases."""
_HOLDING = phrases(
    "if i had to / if i have to / if i must / if forced / if i am forced / if we look / if you "
    "look / if i look / if asked / if pressed / if i were to / if one looks / if required / if "
    "anything / if i am not / if i am right / if i see / if i am reading / if i understand / "
    "unless i am"
)
"""Conditions that hold: "if I had to choose, I would say B"."""
HYPOTHETICAL = words("if unless suppose supposing assuming whether were provided hypothetically")
"""Words that begin a condition."""
OUTDATED = words(
    "initially thought seemed glance tempting tempted considered assumed originally appeared "
    "impression"
)
"""Words of a belief that the answer has left behind: "at first glance A seems right"."""
_WAS_INCLINED = phrases(
    "was leaning / was thinking / was inclined / was tempted / was going / about to / would have"
)
_EARLIER = words("first initial original previous earlier")
_BELIEFS = words(
    "thought guess answer choice instinct impression pick idea reaction intuition inclination"
)
_CONTRAST_OPENINGS = ("but", "however", "although", "though", "yet")
_LONGEST_TURN = 6
"""How many words of a clause are compared with the phrases."""


def turn_of(clause_words: Sequence[str], opening: str) -> tuple[int, int]:
    """Return how strongly a clause turns away from what was stated before it.

    Args:
        clause_words: The words of the clause, in English.
        opening: The conjunction that begins it, or "".

    Returns:
        CONTRAST, DOUBT or RETRACTION, or 0 if it does not turn away; and how many of its words only
        say so.

    Example:
        >>> turn_of("sorry i meant".split(), ","), turn_of(["but"], ""), turn_of(["it"], "but")
        ((3, 3), (0, 0), (1, 0))
    """
    start = 0
    while start < len(clause_words) and clause_words[start] in _INTERJECTIONS:
        start += 1
    for turning_phrases, strength in ((RETRACTING, RETRACTION), (DOUBTING, DOUBT)):
        for skipped in (0, start):
            beginning = clause_words[skipped : skipped + _LONGEST_TURN]
            phrase = _phrase_at_start(beginning, turning_phrases)
            if not phrase:
                continue
            # "That is wrong" also says something of an option, so its words are read again.
            length = 0 if phrase.startswith("that") else skipped + len(phrase.split())
            return strength, length
    return (CONTRAST if opening in _CONTRAST_OPENINGS else 0), 0


def _phrase_at_start(clause_words: Sequence[str], known_phrases: Sequence[str]) -> str:
    """The first known phrase with which the words begin; "" if there is none."""
    beginning = " ".join(clause_words) + " "
    for phrase in known_phrases:
        if beginning.startswith(f"{phrase} "):
            return phrase
    return ""


def is_outdated(clause_words: Sequence[str]) -> bool:
    """Return whether a clause tells what the answer believed before.

    Args:
        clause_words: The words of the clause, in English.

    Returns:
        True for an outdated belief.

    Example:
        >>> is_outdated("at first a seemed right".split()), is_outdated("a is right".split())
        (True, False)
    """
    beginning = " ".join(clause_words[:8])
    # "It cannot be considered accurate" is a judgement of now.
    has_outdated_word = bool(OUTDATED.intersection(clause_words))
    if has_outdated_word and "be considered" not in beginning:
        return True
    if _names_first_belief(clause_words):
        return True
    return beginning.startswith("at first") or any(phrase in beginning for phrase in _WAS_INCLINED)


def _names_first_belief(clause_words: Sequence[str]) -> bool:
    """Whether two words name a belief that came before: "my first guess", "my initial answer"."""
    for word, following in pairwise(clause_words):
        if word in _EARLIER and following in _BELIEFS:
            return True
    return False


def is_hypothetical(sentence_words: Sequence[str]) -> bool:
    """Return whether a sentence speaks of a case that it does not say to be so.

    Args:
        sentence_words: The words of the sentence, in English.

    Returns:
        True for a condition, unless it is one that holds.

    Example:
        >>> is_hypothetical("if the cube were red".split()), is_hypothetical("if i had to".split())
        (True, False)
    """
    for place, word in enumerate(sentence_words):
        if word == "provided" and sentence_words[place + 1 : place + 2] != ["that"]:
            continue  # "the captions provided"
        subject = sentence_words[place - 1] if place else ""
        believes = subject == "i" and word in ("suppose", "assume")  # "I suppose B"
        if word in HYPOTHETICAL and not believes:
            return not _phrase_at_start(sentence_words[place : place + 4], _HOLDING)
        if word == "had" and "been" in sentence_words[place + 1 : place + 4]:
            return True
    return False
