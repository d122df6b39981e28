"""Judge by the words beside a label whether they accept or reject it."""

from collections.abc import Sequence

from .vocabulary import (
    ACCEPTING,
    ANSWER_NOUNS,
    COPULAS,
    DEPICTING,
    EXCLUDING,
    LABEL_NOUNS,
    NEGATORS,
    PICTURE_NOUNS,
    PRONOUNS,
    REJECTING,
    phrases,
    words,
)

_AUXILIARIES = words("is are was does did do has have it this that can be")
_LESSENING = words("almost partially partly nearly half less")
"""Words that turn "right" into "not right"."""
_UNLIKELY = words("impossible unlikely implausible improbable")
_DEPICTS = words("shows depicts represents portrays illustrates conveys summarizes")
_BEFORE_TOPIC = words(
    "so and but therefore thus hence clearly really also then because since which indeed still"
)
_TOTALITIES = words("all everything every none nothing")
_EMPHASIZING = words("certainly indeed clearly definitely really surely absolutely simply actually")
_SHOWING = words(
    "shows show says states has mentions describes depicts contains displays expresses gets"
)
_DEPICTED = phrases(
    "this / that / it / so / both / exactly / exactly this / exactly that / just this / "
    "just that / all of that / all of this / all of it / all this / all that"
)
"""What stands for the content of the question: "A says exactly this"."""
_LONGEST_DEPICTED = 3
"""Most words of a phrase of _DEPICTED."""
_BAD = NEGATORS | REJECTING
_LONGEST_RELATIVE_CLAUSE = 12
"""How many words after "the only one" are searched, so that time stays linear."""
_AFTER_IDIOMATIC_NOT = words("doubt only just question sure")
"""After these, "not" denies nothing: "not only", "no doubt"."""


def sign_of(predicate: Sequence[str], *, of_option: bool = True) -> int:
    """Return whether the words after a subject accept it (1), reject it (-1), or neither (0).

    A negator turns the first accepting or rejecting word after it round; two negators cancel.

    Args:
        predicate: The words after the subject, in English.
        of_option: Whether the subject surely is an option. Then "does not show" rejects it; of
            "it", which may be the image, these words say nothing.

    Returns:
        1, -1 or 0.

    Example:
        >>> sign_of("is not quite correct".split()), sign_of(["does"]), sign_of(["shows", "two"])
        (-1, 1, 0)
    """
    negated = False
    for place, word in enumerate(predicate):
        is_last = place + 1 == len(predicate)
        following = "" if is_last else predicate[place + 1]
        # "Not only correct" and "no doubt" deny nothing.
        if word == "not" and following in ("only", "just"):
            continue
        if word in ("no", "without") and following in ("doubt", "question"):
            continue
        if word == "no" and is_last and not negated:
            return -1
        if word in NEGATORS or word in _LESSENING:
            negated = not negated
        elif word in _UNLIKELY and negated:
            return 0  # "B is not impossible" accepts nothing
        # The first word that judges decides; what follows it explains.
        elif word in REJECTING or _turns_round(predicate, place):
            return 1 if negated else -1
        elif following == "not" and (word in ACCEPTING or word in DEPICTING):
            return -1  # "stimmt nicht"
        elif _accepts(predicate, place):
            return -1 if negated else 1
        elif word in DEPICTING and negated and of_option:
            return -1
    # "A is wrong, B is not": the auxiliaries themselves carry the judgement.
    if is_elliptic(predicate):
        return -1 if negated else 1
    return 0


def _accepts(predicate: Sequence[str], place: int) -> bool:
    """Whether a word of a predicate accepts its subject, if nothing negates it."""
    word = predicate[place]
    before = predicate[place - 1]
    following = predicate[place + 1] if place + 1 < len(predicate) else ""
    if word == "holds" and following in ("a", "an", "the"):
        return False  # "it holds a fan"
    if word in ACCEPTING or (word, following) == ("checks", "out"):
        return True
    if not following and word == "in" and before in COPULAS:
        return True  # "A is in, B is out"
    if word == "what" and before in _SHOWING:
        return True
    if not following and (word == "remains" or (word == "left" and before in COPULAS)):
        return True
    object_length = len(predicate) - place - 1
    if word in _SHOWING and object_length <= _LONGEST_DEPICTED:
        return " ".join(predicate[place + 1 :]) in _DEPICTED
    if word == "plausible" and before in ("most", "more"):
        return True
    # "Is the answer", "must be the answer".
    has_copula = bool(COPULAS.intersection(predicate[:3]))
    if has_copula and (word in ANSWER_NOUNS or _names_the_one(predicate, place)):
        return True
    # "Shows what", "shows the image": the option depicts the picture.
    object_noun = predicate[place + 2] if place + 2 < len(predicate) else ""
    return word in _DEPICTS and object_noun in PICTURE_NOUNS


def _turns_round(predicate: Sequence[str], place: int) -> bool:
    """Whether a word rejects its subject together with its neighbours: "is out", "shows the
    opposite", "has it the other way around"."""
    word = predicate[place]
    before = predicate[place - 1] if place else ""
    is_last = place + 1 == len(predicate)
    following = "" if is_last else predicate[place + 1]
    if word == "out":
        return before in COPULAS and following != "of"
    if word == "other":
        return following == "way"
    if word in ("else", "different"):
        return before == "something"
    return word in ("opposite", "reverse") and before == "the" and is_last


def _names_the_one(predicate: Sequence[str], place: int) -> bool:
    """Whether a word ends "the one", "the case", "the caption that" or is "what"."""
    word = predicate[place]
    before = predicate[place - 1]
    following = predicate[place + 1] if place + 1 < len(predicate) else ""
    if word == "what":
        return True
    if before == "only" and predicate[place - 2] == "the":
        is_noun = word in LABEL_NOUNS or word == "one"
        return is_noun and not _turns_bad(predicate, place)
    if before != "the":
        return False
    if word == "way":
        return following == "to"  # "B is the way to go"
    if following in ("in", "where") and (word == "one" or word in LABEL_NOUNS):
        return not _turns_bad(predicate, place)
    if word in ("one", "case"):
        return following in ("", "that", "to", "which", "i", "we", "for")
    return word in LABEL_NOUNS and following in ("that", "we", "i", "you", "to")


def _turns_bad(predicate: Sequence[str], place: int) -> bool:
    """Whether the words after "the only one" deny or reject: "that is wrong"."""
    return not _BAD.isdisjoint(predicate[place : place + _LONGEST_RELATIVE_CLAUSE])


def is_elliptic(predicate: Sequence[str]) -> bool:
    """Return whether words only repeat the predicate of the sentence before: "does", "is not".

    Args:
        predicate: Words in English.

    Returns:
        True if there is nothing but auxiliaries and negators.

    Example:
        >>> is_elliptic(["does", "not"]), is_elliptic(["is", "red"]), is_elliptic([])
        (True, False, False)
    """
    if not predicate or predicate[-1] == "no":
        return False
    # "Clearly" alone may begin anything.
    if all(word in _EMPHASIZING for word in predicate):
        return False
    return all(
        word in _AUXILIARIES or word in NEGATORS or word in _EMPHASIZING for word in predicate
    )


def is_negated(words_before: Sequence[str]) -> bool:
    """Return whether the words before a label deny it.

    Args:
        words_before: The words of the clause before the label, in English.

    Returns:
        True for "it is not A", "we exclude A", "the wrong caption is A".

    Example:
        >>> is_negated("it is not".split()), is_negated("it is not only".split())
        (True, False)
    """
    negated = False
    for place, word in enumerate(words_before):
        following = words_before[place + 1] if place + 1 < len(words_before) else ""
        if word == "no" and following == ":":
            turns_round = False  # "no: A"
        elif word in NEGATORS:
            turns_round = following not in _AFTER_IDIOMATIC_NOT
        elif word in REJECTING:
            names_label = following in LABEL_NOUNS or following in COPULAS
            turns_round = names_label or following in ("one", ":")
        else:
            turns_round = False
        takes_back = word == "back" and words_before[place - 1] == "take"
        if turns_round or takes_back or word in EXCLUDING:
            negated = not negated
    return negated


def is_exception(words_before: Sequence[str]) -> bool:
    """Return whether the words before a label except it from the others.

    Args:
        words_before: The words of the clause before the label, in English.

    Returns:
        True for "all but A", "everything except A".

    Example:
        >>> is_exception(["all", "but"]), is_exception(["not"])
        (True, False)
    """
    excepting = {"but", "except", "besides"}.intersection(words_before)
    return bool(excepting) and not _TOTALITIES.isdisjoint(words_before)


def excludes(words_before: Sequence[str]) -> bool:
    """Return whether the words before a label compare it unfavourably.

    Args:
        words_before: The words of the clause before the label, in English.

    Returns:
        True for "rather than A", "over A".

    Example:
        >>> excludes(["instead", "of"]), excludes(["i", "choose"])
        (True, False)
    """
    # In a longer beginning the comparison is of something else: "rather than the cube, it shows A".
    if not words_before or len(words_before) > 4:
        return False
    if words_before[0] in ("not", "nor", "neither", "unlike", "over", "than"):
        return True
    return tuple(words_before[:2]) in (("rather", "than"), ("instead", "of"))


def _until_relative_clause(predicate: Sequence[str]) -> Sequence[str]:
    """The words up to "that", unless it follows "the one": "it is the bucket that reflects light"
    says nothing of an option."""
    for place, word in enumerate(predicate):
        if word == "that" and predicate[place - 1] not in LABEL_NOUNS | {"one"}:
            return predicate[:place]
    return predicate


def sign_of_topic(clause_words: Sequence[str]) -> int:
    """Return whether a clause without labels accepts or rejects the option that was named last.

    Args:
        clause_words: The words of the clause, in English.

    Returns:
        1, -1, or 0 if it does neither.

    Example:
        >>> sign_of_topic("this is wrong".split()), sign_of_topic("no red cube".split())
        (-1, 0)
    """
    # Conjunctions before "this" change nothing.
    start = 0
    while start < len(clause_words) and clause_words[start] in _BEFORE_TOPIC:
        start += 1
    spoken = clause_words[start:]
    if not spoken:
        return 0
    first = spoken[0]
    if first in PRONOUNS:
        has_noun = len(spoken) > 1 and spoken[1] in LABEL_NOUNS
        predicate = spoken[2:] if has_noun else _until_relative_clause(spoken[1:])
        return sign_of(predicate, of_option=has_noun)
    if first in ("the", "image", "picture") and len(spoken) > 2:
        subject_length = 2 if first == "the" else 1
        noun = spoken[subject_length - 1]
        if noun in LABEL_NOUNS or noun == "scene":
            return sign_of(spoken[subject_length:], of_option=noun not in PICTURE_NOUNS)
        return 0
    if first == "no" and len(spoken) > 1:
        return 0  # "No red cube" says nothing of the option
    if first in ACCEPTING or first in REJECTING or first in ("does", "do", "not", "is"):
        return sign_of(spoken)
    return 0
