"""Group the labels of a clause, and judge how explicitly the clause states each group."""

from collections.abc import Sequence
from typing import NamedTuple

from .sentences import Clause
from .standing import AFFIRMED, ANSWERED, FINAL, HEDGED, SEVERAL
from .tokens import LABEL, Token
from .turns import HYPOTHETICAL, OUTDATED
from .vocabulary import (
    ACCEPTING,
    ANSWER_NOUNS,
    BELIEVING,
    CHOOSING,
    CONCLUDING,
    COPULAS,
    EXCLUDING,
    FILLERS,
    HEDGING,
    LABEL_NOUNS,
    NEGATORS,
    PICTURE_NOUNS,
    PREPOSITIONS,
    REJECTING,
    words,
)

_COLON_MARKS = (":", "=")
_QUOTING_MARKS = frozenset('"()[]{}')
_JOINING = words("and or & / + nor , both")
_AROUND_OBJECT = words(
    "la le el the a an clearly definitely certainly probably most likely indeed just only "
    "therefore thus then very single both either rather namely"
)
"""Words between a verb and the label that is its object."""
_QUOTES_OPTION = words(
    "says states state stating claims claim claiming mentions reads asks saying according"
)
_SAYING_VERBS = words("puts says states describes has claims reads")
UNPLAIN = (
    NEGATORS
    | REJECTING
    | EXCLUDING
    | HEDGING
    | HYPOTHETICAL
    | OUTDATED
    | _QUOTES_OPTION
    | words("between from back look looking consider considering compare compared check see like")
)
"""Words that keep a label at the end of a clause from being the answer."""
_SHOWS = (["shows"], ["depicts"], ["has"], ["contains"])
_TEXT_NOUNS = words("image images picture pictures photo figure text")
"""Nouns of LABEL_NOUNS that name the question's image or text rather than its answer."""
AFTERTHOUGHT = words("of the two three four them these to me here then now")
"""Words after a label that say nothing of it: "it looks like B to me", "the first of the two"."""
_OTHER_PEOPLE = words("some many people others one someone anyone you")


class LabelGroup(NamedTuple):
    """Labels that a clause names together, such as "A and B"."""

    labels: list[int]
    """At least one index, in order."""
    before: list[str]
    """The words and colons since the previous group."""
    after: list[str]
    """The words up to the next group."""
    in_words: bool
    """Whether all are the words of options."""
    joined: bool
    """Whether "and", "or" or a slash joins them."""

    @property
    def label(self) -> int:
        """What the group states.

        Returns:
            Its label, or SEVERAL if its labels differ.
        """
        return only_label(self.labels)


def label_groups(tokens: Sequence[Token]) -> list[LabelGroup]:
    """Return the labels of a clause in groups of those that belong together.

    Args:
        tokens: The tokens of the clause.

    Returns:
        The groups in order; none for a clause without labels.
    """
    groups: list[LabelGroup] = []
    between: list[str] = []
    for token in tokens:
        if token.kind != LABEL:
            # Quotes and brackets around a label change nothing: 'option "B"' is "option B".
            if token.text not in _QUOTING_MARKS:
                between.append(token.text)
            continue
        only_joins = all(word in _JOINING or word in LABEL_NOUNS or word == ":" for word in between)
        if groups and only_joins:
            last = groups[-1]
            last.labels.append(token.label)
            in_words = last.in_words and token.in_words
            joined = last.joined or bool(_JOINING.intersection(between))
            groups[-1] = last._replace(in_words=in_words, joined=joined)
        else:
            if groups:
                groups[-1].after.extend(between)
            groups.append(LabelGroup([token.label], between, [], token.in_words, joined=False))
        between = []
    # What says nothing of the label must not keep it from ending the clause.
    if groups and not AFTERTHOUGHT.issuperset(between):
        groups[-1].after.extend(between)
    return groups


def explicit_after(group: LabelGroup) -> int:
    """Return how explicit a clause is that accepts its subject: "B is correct".

    Args:
        group: A group of labels of the clause.

    Returns:
        HEDGED, AFFIRMED or ANSWERED.
    """
    subject = [word for word in group.before if word not in LABEL_NOUNS and word != "the"]
    is_part = bool(subject) and subject[-1] in PREPOSITIONS
    if is_part and not ACCEPTING.intersection(subject):
        return HEDGED  # "the colour in A is right" accepts only the colour

    predicate = set(group.after)
    has_copula = bool(COPULAS.intersection(group.after[:3]))
    if has_copula and "what" in predicate and predicate & {"i", "we"}:
        return ANSWERED  # "B is what I would choose"
    answer_nouns = predicate & (ANSWER_NOUNS - {"picture", "image"})
    answer_nouns |= predicate & (LABEL_NOUNS - _TEXT_NOUNS)
    names_answer = has_copula and bool(answer_nouns)
    return ANSWERED if names_answer and not group.joined else AFFIRMED


def explicit_before(group: LabelGroup, clause: Clause) -> int:
    """Return how explicit a clause is whose object is a label: "the answer is B", "I choose B".

    Args:
        group: A group of labels of the clause.
        clause: The clause.

    Returns:
        HEDGED to FINAL, or 0 if the clause states nothing.
    """
    spoken = set(group.before)
    # What stands right before the label, apart from articles and adverbs, shows its role.
    significant = [
        word for word in group.before if word not in LABEL_NOUNS and word not in _AROUND_OBJECT
    ]
    last = significant[-1] if significant else ""
    if _only_reports(group, last):
        return 0

    # From the most explicit wording to the least: the first that fits counts.
    is_defined = last in COPULAS or last in _COLON_MARKS
    points = is_defined or last in ("with", "for", "to", "as")
    if points and ANSWER_NOUNS & spoken:
        return FINAL if "final" in spoken else ANSWERED
    names_option = bool((LABEL_NOUNS | {"one", "that"}) & spoken)
    if points and names_option and ACCEPTING & spoken:
        return ANSWERED if is_defined else AFFIRMED
    if {"want", "tempted", "inclined"} & spoken:
        return HEDGED  # "I want to say A"
    speaks = bool(spoken & {"i", "would"})
    if not group.before and group.after == ["choose"]:
        return ANSWERED  # Japanese puts the verb last: "Bを選びます"
    if CHOOSING & spoken or (speaks and CHOOSING.intersection(group.after)):
        return ANSWERED
    if speaks and BELIEVING.intersection(group.after):
        return AFFIRMED  # "ich würde A sagen"
    if last in ("makes", "making") and (ACCEPTING | ANSWER_NOUNS).intersection(group.after):
        return ANSWERED  # "that makes B the right one"
    if _points_weakly(group, significant):
        return AFFIRMED
    if ACCEPTING & spoken or last in COPULAS or BELIEVING & spoken:
        return AFFIRMED
    if _only_concludes(group, clause, significant) or group.in_words:
        return AFFIRMED
    return HEDGED if last == ":" and not group.after else 0


def _only_reports(group: LabelGroup, last: str) -> bool:
    """Whether a clause says something of labels without choosing one.

    `last` is the last significant word before them.
    """
    spoken = set(group.before)
    # "No" as an article or interjection rejects nothing by itself.
    if REJECTING.intersection(spoken) - {"no"}:
        return True  # "the one with the wrong colours is A"
    if group.joined and last in ("leaves", "leaving"):
        return True  # "that leaves A and C" only narrows the choice
    quotes = "say" in spoken and not spoken & {"i", "we", "would"}
    if quotes or _QUOTES_OPTION & spoken or "between" in group.before[-3:]:
        return True
    if "would" in spoken and "i" not in spoken and spoken & _OTHER_PEOPLE:
        return True  # "some would choose B"
    # German puts the verb behind its object, so the words after a label count as well.
    speaks = bool(spoken & {"i", "would"})
    return speaks and bool(NEGATORS.intersection(group.after))  # "ich würde B nicht wählen"


def _points_weakly(group: LabelGroup, significant: Sequence[str]) -> bool:
    """Whether words before a label point to it, as "which leaves B" or "in agreement with B"."""
    last = significant[-1] if significant else ""
    # "That makes B the most likely" compares; "makes B …" alone may go on with anything.
    if last in ("makes", "making"):
        return "most" in group.after
    if last in ("leaves", "leaving"):
        return True
    if last == "with":
        agreement = {"agreement", "accordance", "line", "accord"}.intersection(group.before)
        return bool(agreement) or significant[-2:-1] == ["left"]  # "I am left with B"
    if last == "for":
        return "speaks" in group.before
    if last == "like":
        return bool({"looks", "seems", "sounds", "feels"}.intersection(group.before))
    if last in ("in", "by"):
        stated = {"stated", "described", "given", "claimed", "mentioned", "written"}
        return "as" in group.before and bool(stated.intersection(group.before))
    if last in ("gives", "yields", "means", "suggests", "indicates", "implies"):
        return not group.after  # "this gives A"
    if last == "to":
        return bool({"points", "point", "pointing", "leads", "lead"}.intersection(group.before))
    return last == "as" and bool(group.after) and group.after[0] in _SAYING_VERBS


def _only_concludes(group: LabelGroup, clause: Clause, significant: Sequence[str]) -> bool:
    """Whether the words before a label say nothing but that it follows: "so then B"."""
    # More words make the clause a remark about the option.
    if any(word not in FILLERS and word not in ANSWER_NOUNS for word in group.after):
        return False  # "so C would need a blue cube"
    return concludes(group, clause) and all(
        word in FILLERS or word in CONCLUDING or word == ":" for word in significant
    )


def concludes(group: LabelGroup, clause: Clause) -> bool:
    """Return whether a clause begins as a conclusion: "so", "therefore".

    Args:
        group: A group of labels of the clause.
        clause: The clause.

    Returns:
        True if one of its first words concludes.
    """
    return clause.opening in CONCLUDING or bool(CONCLUDING.intersection(group.before[:2]))


def ends_plain_clause(group: LabelGroup) -> bool:
    """Return whether a label ends a clause that neither denies, quotes, supposes nor compares it.

    Args:
        group: A group of labels of the clause.

    Returns:
        True for "I end up with B".
    """
    has_words = len(group.before) > 1 and not group.joined
    return has_words and not group.after and not UNPLAIN.intersection(group.before)


def only_label(labels: Sequence[int] | set[int]) -> int:
    """Return what labels state together.

    Args:
        labels: Indices of labels; at least one.

    Returns:
        The label if all are the same, else SEVERAL.

    Example:
        >>> only_label([1, 1]), only_label([0, 1])
        (1, -1)
    """
    different = set(labels)
    return different.pop() if len(different) == 1 else SEVERAL


def follows_premise(words_before: Sequence[str]) -> bool:
    """Return whether a label follows a sentence about the image and a colon.

    Args:
        words_before: The words and colons before the label.

    Returns:
        True for "no cup is cyan: B", whose negation is not of B.
    """
    # Shorter beginnings, as "it is not:", are about the option itself.
    if words_before[-1:] != [":"] or len(words_before) < 5:
        return False
    about_options = LABEL_NOUNS | ANSWER_NOUNS | CHOOSING | ACCEPTING | REJECTING - {"no"}
    return not about_options.intersection(words_before)


def describes_image(group: LabelGroup) -> bool:
    """Return whether a clause says what one image shows.

    Args:
        group: A group of labels of the clause.

    Returns:
        True for "image A shows a red cube".
    """
    is_image = bool(PICTURE_NOUNS.intersection(group.before))
    return is_image and not group.joined and group.after[:1] in _SHOWS


def replaces_label(groups: Sequence[LabelGroup]) -> bool:
    """Return whether a clause changes an answer.

    Args:
        groups: All groups of labels of the clause.

    Returns:
        True for "from A to B".
    """
    if len(groups) != 2:
        return False
    old, new = groups
    return old.before[-1:] == ["from"] and new.before == ["to"]
