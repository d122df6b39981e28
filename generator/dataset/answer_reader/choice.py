"""Read clauses about options. A label is the index of an option."""

from collections.abc import Sequence

from .label_groups import (
    AFTERTHOUGHT,
    UNPLAIN,
    LabelGroup,
    concludes,
    describes_image,
    ends_plain_clause,
    explicit_after,
    explicit_before,
    follows_premise,
    label_groups,
    only_label,
    replaces_label,
)
from .predicates import excludes, is_elliptic, is_exception, is_negated, sign_of, sign_of_topic
from .sentences import Clause, Sentence
from .standing import AFFIRMED, ANSWERED, FINAL, HEDGED, LED, SEVERAL
from .statements import StatementReader
from .tokens import LABEL, WORD, Token
from .vocabulary import (
    ACCEPTING,
    ANSWER_NOUNS,
    CONTRASTING,
    COPULAS,
    EXCLUDING,
    FILLERS,
    HEDGING,
    LABEL_NOUNS,
    NONE_OF_THEM,
    REJECTING,
    phrases,
    words,
)

_AROUND_LABEL = words(
    "namely rather la le el the so final correct my and or probably likely definitely clearly "
    "certainly most obviously surely maybe perhaps possibly one of print return only just simply "
    "first second third fourth fifth"
)
"""Words beside a label in a clause that is nothing but a label."""
_IN_HEADING = FILLERS | ANSWER_NOUNS | LABEL_NOUNS | words("correct right true best accurate")
_PLAIN_IF_SHORT = words("maybe perhaps says")
"""Words of UNPLAIN that a short answer may have: "maybe A"."""
_EXCLUDING_OPENINGS = words("not nor neither unlike over rather instead than beats against")
_LIST_ENTRY_OPENINGS = words(": = as for with from that in given due based")
_REASON_OPENINGS = words("because since not rather over")
_COLON_MARKS = (":", "=")
_ALSO = words("also too equally")
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
_BESIDE_LABEL = _AROUND_LABEL | AFTERTHOUGHT
_AMONG = (["of"], ["among"], ["between"], ["from"])
"""Words that begin a list of the options: "of A, B and C, B is true"."""
_POSSIBLE = words("possible plausible")
_SHORT_ANSWER = 3
"""Most words beside its only label with which an answer is nothing but this label: "ok A"."""
_LONGEST_INTRODUCTION = 8
"""How many words after "answer" its copula or colon is searched."""


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
        (single_label,) = self._mentioned
        # A lone letter in an answer that wavers, "I'd say A... hmm", is no choice.
        if self.standing.has_doubts or self.standing.is_denied(single_label):
            return None
        is_short = self._number_of_words <= _SHORT_ANSWER and not self._is_unplain
        return single_label if is_short or self._candidate == single_label else None

    def take(self, sentence: Sentence) -> bool:
        self._number_of_words += len(sentence.words)
        unplain_words = UNPLAIN.intersection(sentence.words) - _PLAIN_IF_SHORT
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
        # First what stands before the labels, then a clause that is nothing but a label; what
        # remains is a clause that says something of its labels.
        groups = label_groups(clause.tokens)
        follows_letter = not sentence.begins_line and number == 0
        led = self._led if follows_letter else None
        self._led = None
        if not groups:
            self._take_words(clause, sentence, number)
            return

        labels = self.labels_in(clause)
        self._mentioned |= labels
        # A remark in brackets explains, so a short answer with one is more than its label.
        if clause.opening == "(":
            self._is_unplain = True
        self._topic = next(iter(labels)) if len(labels) == 1 else None
        # The words of the option may follow its letter: "B. The cube is red."
        last = clause.tokens[-1]
        if last.kind == LABEL and not last.in_words and not sentence.ends_line:
            self._led = last.label
        if led is not None and groups[0].in_words and not groups[0].before:
            # The words after "B." repeat option B; the words of another option contradict it.
            if labels != {led}:
                self.standing.state(SEVERAL, ANSWERED)
            return

        if clause.opening in _EXCLUDING_OPENINGS or excludes(groups[0].before):
            self._take_excluded(groups[0], clause, sentence=sentence, number=number)
            groups = groups[1:]
        elif self.stands_alone(clause):
            self._take_alone(clause, sentence, number)
            return
        self._rejects_list = False
        is_hedged = any(token.text in HEDGING for token in clause.tokens)
        following = sentence.clauses[number + 1 : number + 2]
        if "would" in clause.words and any(next_.opening in CONTRASTING for next_ in following):
            is_hedged = True  # "A would be a good guess, but …"
        # "I change my answer from A to B": A is denied even where it was stated explicitly.
        if replaces_label(groups):
            self.standing.deny(groups[0].label, strictly=True)
            self.state(groups[1].label, ANSWERED)
            return
        for place, group in enumerate(groups):
            leads = place == 0 and number == 0
            self._take_group(group, clause, leads=leads, is_hedged=is_hedged)

    def _take_excluded(
        self, group: LabelGroup, clause: Clause, *, sentence: Sentence, number: int
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
        label = only_label(self.labels_in(clause))
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
        # A choice may follow.
        elif label == SEVERAL and "or" in spoken:
            self.state(label, HEDGED)  # "A or B … I'd say A"
        elif _is_subject(sentence):
            self._topic = None if label == SEVERAL else label
        # More text on the line may still turn against the label, so it only leads.
        elif repeats_words or not (is_whole_line or _gives_reason(sentence)):
            self.state(label, LED)
        else:
            self.state(label, ANSWERED)

    def _take_later_alone(self, label: int, clause: Clause, previous: Clause) -> None:
        """Take a label alone in a later clause of a sentence."""
        last = previous.tokens[-1] if previous.tokens else None
        # In "false captions: A, C" the labels after the first are rejected too.
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
        # Words after a label decide before those in front of it: "I thought of A, but A is wrong".
        sign = self._sign_of_group(group)
        if is_exception(group.before):
            self._take_group_excepted(group, sign)
            return
        negated = is_negated(group.before) and not follows_premise(group.before)
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

        explicit = explicit_after(group) if sign > 0 else explicit_before(group, clause)
        # "The answer is:" may wait for its label, with nothing but fillers between.
        if not explicit and self._pending and _is_filler(group.before):
            explicit = self._pending
        begins_entry = bool(group.after) and group.after[0] in _LIST_ENTRY_OPENINGS
        if not explicit and leads and not group.before and begins_entry:
            explicit = LED
        has_only_noun = all(word in LABEL_NOUNS for word in group.before)
        if not explicit and leads and has_only_noun and group.after[:1] == [":"]:
            explicit = HEDGED  # "Option A: a red cube"
        if not explicit and describes_image(group):
            self._described_image = group.label
        if not explicit and ends_plain_clause(group):
            # "So my choice falls on B", "I end up with B".
            if concludes(group, clause):
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
        # Models that answer in JSON judge each option by a value.
        sign_of_value = _sign_of_value(group.after[1:])
        if sign_of_value and group.after[0] == ":":
            return sign_of_value  # {"A": {"correct": false}}
        sign = sign_of(predicate)
        begins_inverted = predicate[:1] in (["is"], ["does"], ["are"])
        if begins_inverted and group.before[:2] == ["only", "in"]:
            return 1  # "only in image B is the cube red"
        is_possible = not _POSSIBLE.isdisjoint(predicate)
        if not sign and is_possible and "only" in group.before:
            sign = 1  # "only B is possible"
        # The predicate is that of another option.
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
        # A second option that "also" holds leaves no single choice.
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
        # An option that the question does not have is an answer, and not a right one.
        if len(spoken) == 1 and number == 0 and _is_other_letter(clause.tokens[0].raw):
            self.standing.state(SEVERAL, ANSWERED)
            return

        # "This is wrong" says nothing where no single option was named before.
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
        # A colon promises a label, so the answer is unread if none comes.
        has_colon = clause.tokens[end - 1].text == ":"
        if NONE_OF_THEM.intersection(rest[:2]):
            self.standing.state(SEVERAL, explicit)
        elif not rest or has_colon:
            self.begin(explicit, waits=not rest and is_last_clause, needs_label=has_colon)


def _sign_of_value(texts: Sequence[str]) -> int:
    """Whether "match: false" accepts (1) or rejects (-1) the option; 0 for other clauses."""
    if texts[-2:-1] != [":"]:
        return 0
    value = texts[-1]
    if value not in ("yes", "no", "true", "false"):
        return 0
    accepts = ACCEPTING.intersection(texts[:-2])
    rejects = REJECTING.intersection(texts[:-2])
    # A name with both or neither, such as "color: true", judges no option.
    if bool(accepts) == bool(rejects):
        return 0
    sign = 1 if value in ("yes", "true") else -1
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
    # "The wrong answer is A" begins no statement for A.
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


def _first_judgement(spoken: Sequence[str]) -> str:
    """The first word that accepts or rejects; "" if none does."""
    for word in spoken:
        if word in ACCEPTING or word in REJECTING:
            return word
    return ""


def _is_filler(words_before: Sequence[str]) -> bool:
    return all(word in FILLERS or word in _COLON_MARKS for word in words_before)


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
