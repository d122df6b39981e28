"""Read clauses about options. A label is the index of an option."""

from collections.abc import Sequence
from typing import NamedTuple

from .predicates import excludes, is_elliptic, is_exception, is_negated, sign_of, sign_of_topic
from .sentences import Clause, Sentence
from .standing import AFFIRMED, ANSWERED, FINAL, HEDGED, LED, SEVERAL
from .statements import StatementReader
from .tokens import LABEL, WORD, Token
from .turns import HYPOTHETICAL, OUTDATED
from .vocabulary import (
    ACCEPTING,
    ANSWER_NOUNS,
    BELIEVING,
    CHOOSING,
    CONCLUDING,
    CONTRASTING,
    COPULAS,
    EXCLUDING,
    FILLERS,
    HEDGING,
    LABEL_NOUNS,
    NEGATORS,
    NONE_OF_THEM,
    PICTURE_NOUNS,
    PREPOSITIONS,
    REJECTING,
    phrases,
    words,
)

_QUOTING_MARKS = frozenset('"()[]{}')
_JOINING = words("and or & / + nor , both")
_AROUND_LABEL = words(
    "namely rather la le el the so final correct my and or probably likely definitely clearly "
    "certainly most obviously surely maybe perhaps possibly one of print return only just simply "
    "first second third fourth fifth"
)
"""Words beside a label in a clause that is nothing but a label."""
_AROUND_OBJECT = words(
    "la le el the a an clearly definitely certainly probably most likely indeed just only "
    "therefore thus then very single both either rather namely"
)
"""Words between a verb and the label that is its object."""
_IN_HEADING = FILLERS | ANSWER_NOUNS | LABEL_NOUNS | words("correct right true best accurate")
_QUOTES_OPTION = words(
    "says states state stating claims claim claiming mentions reads asks saying according"
)
_SAYING_VERBS = words("puts says states describes has claims reads")
_UNPLAIN = (
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
_PLAIN_IF_SHORT = words("maybe perhaps says")
"""Words of _UNPLAIN that a short answer may have: "maybe A"."""
_SHOWS = (["shows"], ["depicts"], ["has"], ["contains"])
_EXCLUDING_OPENINGS = words("not nor neither unlike over rather instead than beats against")
_LIST_ENTRY_OPENINGS = words(": = as for with from that in given due based")
_REASON_OPENINGS = words("because since not rather over")
_COLON_MARKS = (":", "=")
_ALSO = words("also too equally")
_TEXT_NOUNS = words("image images picture pictures photo figure text")
"""Nouns of LABEL_NOUNS that name the question's image or text rather than its answer."""
_INSERTED = phrases(
    "on the other hand / in contrast / by contrast / meanwhile / however / conversely / instead / "
    "in turn / in comparison / though / of course / as well / too / for example / for instance"
)
_ACCEPTING_IDIOMS = (
    "it is",
    "all the way",
    "for sure",
    "sums it up",
    "tells the truth",
    "nails it",
)
"""What follows a label and accepts it: "B it is"."""
_AFTERTHOUGHT = words("of the two three four them these to me here then now")
"""Words after a label that say nothing of it: "it looks like B to me", "the first of the two"."""
_BESIDE_LABEL = _AROUND_LABEL | _AFTERTHOUGHT
_AMONG = (["of"], ["among"], ["between"], ["from"])
"""Words that begin a list of the options: "of A, B and C, B is true"."""
_POSSIBLE = words("possible plausible")
_SHORT_ANSWER = 3
"""Most words beside its only label with which an answer is nothing but this label: "ok A"."""
_OTHER_PEOPLE = words("some many people others one someone anyone you")
_LONGEST_INTRODUCTION = 8
"""How many words after "answer" its copula or colon is searched."""


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
        return _only_label(self.labels)


class ChoiceReader(StatementReader):
    """Reads clauses about options.

    Example:
        >>> from .labels import mark_letters
        >>> from .sentences import split_sentences
        >>> from .tokens import split_tokens
        >>> reader = ChoiceReader()
        >>> tokens = mark_letters(split_tokens("A does not match. B does."), "AB")
        >>> [reader.take(sentence) for sentence in split_sentences(tokens)]
        [False, False]
        >>> reader.answer()
        1
    """

    def __init__(self) -> None:
        super().__init__()
        self._topic: int | None = None
        """The option that "this" means; None if no clause has named just one."""
        self._predicate_sign = 1
        """Whether the last predicate accepts (1) or rejects (-1), without its negation."""
        self._mentioned: set[int] = set()
        """All options that the answer has named."""
        self._candidate: int | None = None
        """The option that a plain clause ended with, as in "I end up with B"."""
        self._number_of_words = 0
        """Words of the answer so far, without labels."""
        self._is_unplain = False
        """Whether the answer denies, quotes, supposes or compares."""
        self._described_image: int | None = None
        """The image of which the answer last said what it shows."""
        self._rejects_list = False
        """Whether labels that follow in a list are rejected as well: "false captions: A, C"."""
        self._led: int | None = None
        """The option whose letter ended the previous sentence of this line, as in "B. The cube"."""

    def answer(self) -> int | None:
        label = super().answer()
        if label is not None or self.standing.explicit or len(self._mentioned) != 1:
            return label
        # No clause states a label as the rules know it, but the answer names a single one.
        (only_label,) = self._mentioned
        is_short = self._number_of_words <= _SHORT_ANSWER and not self._is_unplain
        return only_label if is_short or self._candidate == only_label else None

    def take(self, sentence: Sentence) -> bool:
        self._number_of_words += len(sentence.words)
        unplain_words = _UNPLAIN.intersection(sentence.words) - _PLAIN_IF_SHORT
        if sentence.asks or unplain_words:
            self._is_unplain = True
        return super().take(sentence)

    def labels_in(self, clause: Clause) -> set[int]:
        return {token.label for token in clause.tokens if token.kind == LABEL}

    def mention(self, clause: Clause) -> None:
        # "This" in later clauses means the option that is mentioned here.
        labels = self.labels_in(clause)
        self._mentioned |= labels
        if labels:
            self._topic = labels.pop() if len(labels) == 1 else None

    def stands_alone(self, clause: Clause) -> bool:
        is_plain = all(word in LABEL_NOUNS or word in _BESIDE_LABEL for word in clause.words)
        return is_plain and bool(self.labels_in(clause))

    def take_clause(self, clause: Clause, sentence: Sentence, number: int) -> None:
        groups = _label_groups(clause.tokens)
        follows_letter = not sentence.begins_line and number == 0
        led = self._led if follows_letter else None
        self._led = None
        if not groups:
            self._take_words(clause, sentence, number)
            return

        labels = self.labels_in(clause)
        self._mentioned |= labels
        if clause.opening == "(":
            self._is_unplain = True
        self._topic = next(iter(labels)) if len(labels) == 1 else None
        last = clause.tokens[-1]
        if last.kind == LABEL and not last.in_words and not sentence.ends_line:
            self._led = last.label
        if led is not None and groups[0].in_words and not groups[0].before:
            # The words after "B." repeat option B; the words of another option contradict it.
            if labels != {led}:
                self.standing.state(SEVERAL, ANSWERED)
            return

        if clause.opening in _EXCLUDING_OPENINGS or excludes(groups[0].before):
            self._take_excluded(groups[0], clause, sentence, number)
            groups = groups[1:]
        elif self.stands_alone(clause):
            self._take_alone(clause, sentence, number)
            return
        self._rejects_list = False
        is_hedged = any(token.text in HEDGING for token in clause.tokens)
        following = sentence.clauses[number + 1 : number + 2]
        if "would" in clause.words and any(next_.opening in CONTRASTING for next_ in following):
            is_hedged = True  # "A would be a good guess, but …"
        if _replaces_label(groups):
            self.standing.deny(groups[0].label, strictly=True)
            self.state(groups[1].label, ANSWERED)
            return
        for place, group in enumerate(groups):
            leads = place == 0 and number == 0
            self._take_group(group, clause, leads=leads, is_hedged=is_hedged)

    def _take_excluded(
        self, group: LabelGroup, clause: Clause, sentence: Sentence, number: int
    ) -> None:
        """Take labels that a clause compares unfavourably."""
        previous = sentence.clauses[number - 1].tokens if number else []
        lessens = {"less", "worse"}.intersection(token.text for token in previous)
        if clause.opening == "than" and lessens:
            self.state(group.labels[0], AFFIRMED)  # "A is less accurate than B"
            return
        for label in group.labels:
            self.standing.deny(label, strictly=True)

    def _take_alone(self, clause: Clause, sentence: Sentence, number: int) -> None:
        """Take a clause that only names labels."""
        label = _only_label(self.labels_in(clause))
        spoken = {token.text for token in clause.tokens}
        if HEDGING & spoken:
            self.state(label, HEDGED)
        elif number == 0:
            self._take_first_alone(label, clause, sentence)
        elif clause.opening != "(":
            self._take_later_alone(label, clause, sentence.clauses[number - 1])

    def _take_first_alone(self, label: int, clause: Clause, sentence: Sentence) -> None:
        """Take a label alone at the start of a sentence."""
        spoken = {token.text for token in clause.tokens}
        has_name = ":" in spoken and bool(spoken & (LABEL_NOUNS | ANSWER_NOUNS))
        repeats_words = any(token.in_words for token in clause.tokens)
        is_whole_line = sentence.ends_line and len(sentence.clauses) == 1
        if has_name:
            self.state(label, FINAL if "final" in spoken else ANSWERED)
        elif clause.opening == "(" or (label == SEVERAL and clause.words[:1] in _AMONG):
            return
        elif label == SEVERAL and "or" in spoken:
            self.state(label, HEDGED)  # "A or B … I'd say A"
        elif _is_subject(sentence):
            self._topic = None if label == SEVERAL else label
        elif repeats_words or not (is_whole_line or _gives_reason(sentence)):
            self.state(label, LED)
        else:
            self.state(label, ANSWERED)

    def _take_later_alone(self, label: int, clause: Clause, previous: Clause) -> None:
        """Take a label alone in a later clause of a sentence."""
        last = previous.tokens[-1] if previous.tokens else None
        if self._rejects_list:
            self.standing.deny(label, strictly=True)
        elif clause.opening == "so" and self.stands_alone(previous):
            self.state(label, LED)  # "A → B" may mean that B replaces A, or that A implies it
        elif clause.opening in (",", "and", "or") and last is not None and last.kind == LABEL:
            # "A, B" names several options, unless it corrects or repeats the first.
            replaces = self.standing.is_denied(last.label) or label == last.label
            self.state(label if replaces else SEVERAL, ANSWERED)
        elif any(token.in_words for token in clause.tokens):
            self.state(label, LED)
        else:
            self.state(label, AFFIRMED)

    def _take_group(
        self, group: LabelGroup, clause: Clause, *, leads: bool, is_hedged: bool
    ) -> None:
        """Take what a clause says of a group of labels."""
        sign = self._sign_of_group(group)
        if is_exception(group.before):
            self._take_group_excepted(group, sign)
            return
        negated = is_negated(group.before) and not _follows_premise(group.before)
        if negated or sign < 0:
            strictly = sign < 0 or group.before[-1:] == ["not"]
            for label in group.labels:
                self.standing.deny(label, strictly=strictly)
            rejecting = REJECTING | EXCLUDING
            self._rejects_list = not group.after and bool(rejecting.intersection(group.before))
            described = self._described_image
            if described is not None and described not in group.labels:
                # "Image A shows a red cube, image B does not."
                self.state(described, AFFIRMED)
            return

        explicit = _explicit_after(group) if sign > 0 else _explicit_before(group, clause)
        if not explicit and self._pending and _is_filler(group.before):
            explicit = self._pending
        begins_entry = bool(group.after) and group.after[0] in _LIST_ENTRY_OPENINGS
        if not explicit and leads and not group.before and begins_entry:
            explicit = LED
        has_only_noun = all(word in LABEL_NOUNS for word in group.before)
        if not explicit and leads and has_only_noun and group.after[:1] == [":"]:
            explicit = HEDGED  # "Option A: a red cube"
        if not explicit and _describes_image(group):
            self._described_image = group.label
        if not explicit and _ends_plain_clause(group):
            # "So my choice falls on B", "I end up with B".
            if _concludes(group, clause):
                explicit = AFFIRMED
            else:
                self._candidate = group.label
        if explicit:
            label = self._label_of_group(group, clause, sign)
            self.state(label, HEDGED if is_hedged else explicit)

    def _take_group_excepted(self, group: LabelGroup, sign: int) -> None:
        """Take what "all but C are false", or "this excludes all but C", says of C."""
        if {"none", "nothing"}.intersection(group.before):
            sign = -sign  # "none but C is true"
        if sign > 0:
            self.standing.deny(group.labels[0], strictly=True)
        elif sign < 0 or (EXCLUDING | REJECTING).intersection(group.before):
            self.state(group.label, AFFIRMED)

    def _sign_of_group(self, group: LabelGroup) -> int:
        """Whether the words after labels accept (1) or reject (-1) them; 0 if they do neither."""
        predicate = [word for word in group.after if word != ":"]
        if " ".join(predicate) in _ACCEPTING_IDIOMS:
            return 1
        if predicate == ["is"]:
            return 1  # "B is", whatever was said of A
        sign_of_value = _sign_of_value(group.after[1:])
        if sign_of_value and group.after[0] == ":":
            return sign_of_value  # {"A": {"correct": false}}
        sign = sign_of(predicate)
        if group.before[:2] == ["only", "in"] and predicate[:1] in (["is"], ["does"], ["are"]):
            return 1  # "only in image B is the cube red"
        is_possible = not _POSSIBLE.isdisjoint(predicate)
        if not sign and is_possible and "only" in group.before:
            sign = 1  # "only B is possible"
        if is_elliptic(predicate):
            # "A contradicts it, B does not": the earlier predicate is repeated.
            return sign * self._predicate_sign
        sign_words = predicate if sign else group.before
        judgement = _first_judgement(sign_words)
        if sign or judgement:
            self._predicate_sign = -1 if judgement in REJECTING else 1
        return sign

    def _label_of_group(self, group: LabelGroup, clause: Clause, sign: int) -> int:
        """The label that a clause states of a group, or SEVERAL."""
        adds = sign > 0 and bool(_ALSO.intersection(group.after))
        if adds and self.standing.explicit:
            return SEVERAL  # "B is also right"
        begins_inverted = group.before[:1] in (["is"], ["does"], ["are"])
        has_others = bool(self._mentioned.difference(group.labels))
        follows_others = clause.opening == "so" and has_others
        if follows_others and begins_inverted and not group.after:
            return SEVERAL  # "A is possible, and so is B"
        return group.label

    def _take_words(self, clause: Clause, sentence: Sentence, number: int) -> None:
        """Take a clause without labels: the beginning of a statement, or what is said of the last
        option."""
        explicit, end = introduction_of(clause.tokens)
        if explicit:
            is_last_clause = number + 1 == len(sentence.clauses)
            self._take_introduction(clause, explicit, end, is_last_clause=is_last_clause)
            return

        spoken = [
            token for token in clause.tokens if token.kind == WORD or token.text in _COLON_MARKS
        ]
        if len(spoken) == 1 and number == 0 and _is_other_letter(clause.tokens[0].raw):
            self.standing.state(SEVERAL, ANSWERED)
            return

        if self._topic is None:
            return
        words_spoken = [token.text for token in spoken if token.text not in _COLON_MARKS]
        sign = _sign_of_value([token.text for token in spoken]) or sign_of_topic(words_spoken)
        if sign > 0:
            adds = self.standing.explicit and _ALSO.intersection(words_spoken)
            self.standing.state(SEVERAL if adds else self._topic, AFFIRMED)
        elif sign < 0:
            self.standing.deny(self._topic, strictly=True)

    def _take_introduction(
        self, clause: Clause, explicit: int, end: int, *, is_last_clause: bool
    ) -> None:
        """Take the beginning of a statement, such as "the answer is", which ends at a place."""
        rest = [token.text for token in clause.tokens[end:] if token.kind == WORD]
        has_colon = clause.tokens[end - 1].text == ":"
        if NONE_OF_THEM.intersection(rest[:2]):
            self.standing.state(SEVERAL, explicit)
        elif not rest or has_colon:
            self.begin(explicit, waits=not rest and is_last_clause, needs_label=has_colon)


def _sign_of_value(texts: Sequence[str]) -> int:
    """Whether "match: false" accepts (1) or rejects (-1) the option; 0 for other clauses."""
    if texts[-2:-1] != [":"] or texts[-1] not in ("yes", "no", "true", "false"):
        return 0
    accepts = ACCEPTING.intersection(texts[:-2])
    rejects = REJECTING.intersection(texts[:-2])
    if bool(accepts) == bool(rejects):
        return 0
    sign = 1 if texts[-1] in ("yes", "true") else -1
    return sign if accepts else -sign


def introduction_of(tokens: Sequence[Token]) -> tuple[int, int]:
    """Return how explicit the statement is that a clause begins: "the final answer is", "answer:".

    Args:
        tokens: The tokens of a clause.

    Returns:
        ANSWERED or FINAL, and the place after the copula or colon; 0 and 0 if the clause begins no
        statement.
    """
    texts = [token.text for token in tokens]
    names_answer = bool(ANSWER_NOUNS.intersection(texts[:8]))
    is_rejected = bool(REJECTING.intersection(texts[:4]) - {"no"})
    if not names_answer or is_rejected:
        return 0, 0

    noun = 0
    while texts[noun] not in ANSWER_NOUNS:
        noun += 1
    explicit = FINAL if "final" in texts[:noun] else ANSWERED
    search_end = min(len(texts), noun + 1 + _LONGEST_INTRODUCTION)
    for place in range(noun + 1, search_end):
        if texts[place] in _COLON_MARKS or texts[place] in COPULAS:
            return explicit, place + 1
    is_heading = all(text in _IN_HEADING for text in texts)  # "### Answer"
    return (explicit, len(texts)) if is_heading else (0, 0)


def _label_groups(tokens: Sequence[Token]) -> list[LabelGroup]:
    """The labels of a clause, those that belong together in one group."""
    groups: list[LabelGroup] = []
    between: list[str] = []
    for token in tokens:
        if token.kind != LABEL:
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
    if groups and not _AFTERTHOUGHT.issuperset(between):
        groups[-1].after.extend(between)
    return groups


def _explicit_after(group: LabelGroup) -> int:
    """How explicit a clause is that accepts its subject: "B is correct"."""
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


def _explicit_before(group: LabelGroup, clause: Clause) -> int:
    """How explicit a clause is whose object is a label: "the answer is B", "I choose B", "it
    matches B". 0 if it states nothing."""
    spoken = set(group.before)
    significant = [
        word for word in group.before if word not in LABEL_NOUNS and word not in _AROUND_OBJECT
    ]
    last = significant[-1] if significant else ""
    if REJECTING.intersection(spoken) - {"no"}:
        return 0  # "the one with the wrong colours is A"
    says = "say" in spoken and not spoken & {"i", "we", "would"}
    if group.joined and last in ("leaves", "leaving"):
        return 0  # "that leaves A and C" only narrows the choice
    if "between" in group.before[-3:] or says or _QUOTES_OPTION & spoken:
        return 0

    is_defined = last in COPULAS or last in _COLON_MARKS
    points = is_defined or last in ("with", "for", "to", "as")
    if points and ANSWER_NOUNS & spoken:
        return FINAL if "final" in spoken else ANSWERED
    names_option = bool((LABEL_NOUNS | {"one", "that"}) & spoken)
    if points and names_option and ACCEPTING & spoken:
        return ANSWERED if is_defined else AFFIRMED
    if "would" in spoken and spoken & _OTHER_PEOPLE and "i" not in spoken:
        return 0  # "some would choose B"
    if {"want", "tempted", "inclined"} & spoken:
        return HEDGED  # "I want to say A"
    speaks = bool(spoken & {"i", "would"})
    if speaks and NEGATORS.intersection(group.after):
        return 0
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


def _points_weakly(group: LabelGroup, significant: Sequence[str]) -> bool:
    """Whether words before a label point to it, as "which leaves B" or "in agreement with B"."""
    last = significant[-1] if significant else ""
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
    if any(word not in FILLERS and word not in ANSWER_NOUNS for word in group.after):
        return False  # "so C would need a blue cube"
    return _concludes(group, clause) and all(
        word in FILLERS or word in CONCLUDING or word == ":" for word in significant
    )


def _concludes(group: LabelGroup, clause: Clause) -> bool:
    return clause.opening in CONCLUDING or bool(CONCLUDING.intersection(group.before[:2]))


def _ends_plain_clause(group: LabelGroup) -> bool:
    """Whether a label ends a clause whose words neither deny, quote, suppose nor compare it."""
    has_words = len(group.before) > 1 and not group.joined
    return has_words and not group.after and not _UNPLAIN.intersection(group.before)


def _only_label(labels: Sequence[int] | set[int]) -> int:
    """The label if all are the same, else SEVERAL."""
    different = set(labels)
    return different.pop() if len(different) == 1 else SEVERAL


def _first_judgement(spoken: Sequence[str]) -> str:
    """The first word that accepts or rejects; "" if none does."""
    for word in spoken:
        if word in ACCEPTING or word in REJECTING:
            return word
    return ""


def _follows_premise(words_before: Sequence[str]) -> bool:
    """Whether a label follows a sentence about the image and a colon: "no cup is cyan: B"."""
    if words_before[-1:] != [":"] or len(words_before) < 5:
        return False
    about_options = LABEL_NOUNS | ANSWER_NOUNS | CHOOSING | ACCEPTING | REJECTING - {"no"}
    return not about_options.intersection(words_before)


def _is_filler(words_before: Sequence[str]) -> bool:
    return all(word in FILLERS or word in _COLON_MARKS for word in words_before)


def _describes_image(group: LabelGroup) -> bool:
    """Whether a clause says what one image shows: "image A shows a red cube"."""
    is_image = bool(PICTURE_NOUNS.intersection(group.before))
    return is_image and not group.joined and group.after[:1] in _SHOWS


def _replaces_label(groups: Sequence[LabelGroup]) -> bool:
    """Whether a clause changes an answer: "from A to B"."""
    if len(groups) != 2:
        return False
    return groups[0].before[-1:] == ["from"] and groups[1].before == ["to"]


def _is_other_letter(raw: str) -> bool:
    """Whether a word is a capital letter, which no option has, or a label would stand for it."""
    return len(raw) == 1 and raw.isascii() and raw.isupper() and raw != "I"


def _is_subject(sentence: Sentence) -> bool:
    """Whether the label that begins a sentence is its subject, before words in commas: "B, on the
    other hand, shows two cubes"."""
    if len(sentence.clauses) < 3:
        return False
    second = sentence.clauses[1]
    inserted = " ".join(token.text for token in second.tokens)
    return second.opening == "," and inserted in _INSERTED


def _gives_reason(sentence: Sentence) -> bool:
    """Whether a label is followed on its line only by a reason: "B, because the cube is red"."""
    return len(sentence.clauses) > 1 and sentence.clauses[1].opening in _REASON_OPENINGS
