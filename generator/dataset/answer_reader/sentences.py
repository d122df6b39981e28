"""Group the tokens of an answer into sentences and clauses."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .tokens import BOX_END, BOX_START, LABEL, LINE_END, MARK, WORD, Token, neighbour
from .vocabulary import ANSWER_NOUNS, CHOOSING, COPULAS, LABEL_NOUNS, words

SENTENCE_MARKS = ".!?;"
_CLAUSE_MARKS = frozenset(',-()|"[]')
_SILENT_MARKS = frozenset('"[]')
"""Marks of _CLAUSE_MARKS that only quote: they end no clause."""
_TOTALITIES = words("all every everything nothing none")
_BRACKETS = frozenset("()[]")
_SPLITTING = words(
    "but however so because since while whereas therefore thus hence although though which where "
    "then yet"
)
"""Words that begin a clause and are not part of it: its `opening`."""
_INSERTED_ADVERBS = words("therefore thus hence then however")
_LONGEST_LIST_GAP = 12
"""How many tokens after a comma "and" is searched in a list of labels. The bound keeps time linear.
"""
_BEFORE_LISTED_LABEL = LABEL_NOUNS | {"than", "of", "the", "also", '"', "("}


class Clause(NamedTuple):
    """A part of a sentence without commas or conjunctions inside."""

    tokens: list[Token]
    """Words, labels and colons."""
    opening: str
    """The conjunction or mark that begins the clause; "" at the start of a sentence."""
    boxed: bool
    """Whether the clause is inside \\boxed{} or <answer>."""

    @property
    def words(self) -> list[str]:
        """The English words of the clause, in order.

        Returns:
            The words, without labels and marks.
        """
        return [token.text for token in self.tokens if token.kind == WORD]

    @property
    def has_early_colon(self) -> bool:
        """Whether the clause begins with a name and a colon, as "Answer:".

        Returns:
            True if one of its first three tokens is a colon.
        """
        return any(token.text == ":" for token in self.tokens[:3])


class Sentence(NamedTuple):
    """A sentence, or a part of a line."""

    clauses: list[Clause]
    """At least one."""
    asks: bool
    """Whether it ends with a question mark."""
    begins_line: bool
    """Whether it is the first of its line."""
    ends_line: bool
    """Whether it is the last of its line."""
    begins_block: bool
    """Whether an empty line, or nothing, is before it."""

    @property
    def words(self) -> list[str]:
        """The English words of the sentence, in order.

        Returns:
            The words of all clauses, without labels and marks.
        """
        return [word for clause in self.clauses for word in clause.words]


def split_sentences(tokens: list[Token]) -> list[Sentence]:
    """Split the tokens of an answer into sentences with their clauses.

    Args:
        tokens: All tokens, with their labels.

    Returns:
        The sentences in order; none is empty.
    """
    builder = _SentenceBuilder()
    for place, token in enumerate(tokens):
        builder.take(tokens, place)
        # Counted after the token is taken, so that a line end still sees the lines before it.
        if token.kind in (WORD, LABEL):
            builder.lines_since_word = 0
    builder.end_sentence(asks=False, ends_line=True)
    return builder.sentences


@dataclass
class _SentenceBuilder:
    """The sentences so far, and the clause and sentence that are being read."""

    sentences: list[Sentence] = field(default_factory=list)
    """The sentences that have ended."""
    clauses: list[Clause] = field(default_factory=list)
    """The clauses of the current sentence that have ended."""
    current: list[Token] = field(default_factory=list)
    """The tokens of the current clause."""
    opening: str = ""
    """What begins the current clause."""
    boxed: bool = False
    """Whether a box is open."""
    begins_line: bool = True
    """Whether no sentence of this line has ended."""
    begins_block: bool = True
    """Whether an empty line is before this line."""
    lines_since_word: int = 2
    """Line ends since the last word; the start of an answer counts as an empty line."""

    def take(self, tokens: list[Token], place: int) -> None:
        """Add a token to the current clause, or end the clause or sentence with it.

        Args:
            tokens: All tokens of the answer.
            place: The index of the token.
        """
        token = tokens[place]
        if token.kind == LINE_END:
            self._end_line()
        elif token.kind in (BOX_START, BOX_END):
            is_last = place + 1 == len(tokens)
            is_empty = is_last or tokens[place + 1].kind == BOX_END
            self._take_box(token, is_empty)
        elif token.kind == MARK and token.text in SENTENCE_MARKS:
            self.end_sentence(asks=token.text == "?", ends_line=False)
        # Lists stay in one clause: what it says, it says of all its labels.
        elif token.text == "," and _is_in_list(tokens, place):
            self.current.append(token)
        elif token.kind == MARK and token.text in _CLAUSE_MARKS:
            # "(B)" is a way to write B, while other brackets hold a remark.
            wraps_label = token.text in _BRACKETS and _wraps_label(tokens, place)
            if not wraps_label and token.text not in _SILENT_MARKS:
                self._end_clause(token.text)
        elif _is_exception(tokens, place):
            self.current.append(token)
        elif token.text in _INSERTED_ADVERBS and neighbour(tokens, place - 1).text in COPULAS:
            return  # "B is therefore correct"
        elif token.kind == WORD and token.text in _SPLITTING and not _is_last_word(tokens, place):
            self._end_clause(token.text)
        elif _begins_clause(tokens, place):
            self._end_clause(token.text)
            self.current.append(token)
        else:
            self.current.append(token)

    def end_sentence(self, *, asks: bool, ends_line: bool) -> None:
        """End the current clause and sentence.

        Args:
            asks: Whether a question mark ends the sentence.
            ends_line: Whether a line, or the answer, ends here.
        """
        self._end_clause("")
        if self.clauses:
            sentence = Sentence(self.clauses, asks, self.begins_line, ends_line, self.begins_block)
            self.sentences.append(sentence)
            self.begins_line = False
            self.begins_block = False
        self.clauses = []
        self.opening = ""

    def _end_clause(self, next_opening: str) -> None:
        is_empty = all(token.kind == MARK for token in self.current)
        if not is_empty:
            self.clauses.append(Clause(self.current, self.opening, self.boxed))
        # Of two openings in a row, as ", but", the later one counts.
        if next_opening or not is_empty:
            self.opening = next_opening
        self.current = []

    def _end_line(self) -> None:
        self.end_sentence(asks=False, ends_line=True)
        if self.sentences:
            # A full stop has ended the last sentence before its line was known to end.
            self.sentences[-1] = self.sentences[-1]._replace(ends_line=True)
        self.begins_line = True
        self.lines_since_word += 1
        self.begins_block = self.lines_since_word > 1

    def _take_box(self, token: Token, is_empty: bool) -> None:
        self._end_clause("box" if token.kind == BOX_START else "")
        self.boxed = token.kind == BOX_START
        if self.boxed and is_empty:
            # An empty box is a statement as well, one without a label.
            self.clauses.append(Clause([], "box", boxed=True))


def _is_exception(tokens: list[Token], place: int) -> bool:
    """Whether "but" means "except": "all but A"."""
    before = neighbour(tokens, place - 1).text
    if before in LABEL_NOUNS:
        before = neighbour(tokens, place - 2).text
    return tokens[place].text == "but" and before in _TOTALITIES


def _is_last_word(tokens: list[Token], place: int) -> bool:
    """Whether no word follows in the sentence, as after "I think so"."""
    following = neighbour(tokens, place + 1)
    return following.kind in (LINE_END, BOX_END) or following.text in SENTENCE_MARKS


def _wraps_label(tokens: list[Token], place: int) -> bool:
    """Whether a bracket encloses just one label."""
    step = 1 if tokens[place].text in "([" else -1
    label_place = place + step
    if neighbour(tokens, label_place).text == '"' and _is_answering_call(tokens, place):
        label_place += step
    other_place = label_place + step
    if neighbour(tokens, other_place).text == '"':
        other_place += step
    brackets = (")", "]") if step == 1 else ("(", "[")
    is_label = neighbour(tokens, label_place).kind == LABEL
    return is_label and neighbour(tokens, other_place).text in brackets


def _is_answering_call(tokens: list[Token], place: int) -> bool:
    """Whether a bracket belongs to a call such as answer("B")."""
    bracket = place if tokens[place].text == "(" else place - 4
    name = neighbour(tokens, bracket - 1).text
    return name in ANSWER_NOUNS or name in CHOOSING or name == "print"


def _is_in_list(tokens: list[Token], place: int) -> bool:
    """Whether a comma is between the labels of a list such as "A, B and C"."""
    if neighbour(tokens, place - 1).kind != LABEL:
        return False
    for following in range(place + 1, min(place + _LONGEST_LIST_GAP, len(tokens))):
        token = tokens[following]
        if token.text in ("and", "or", "&", "nor"):
            return label_follows(tokens, following)
        is_listed = token.kind == LABEL or token.text == "," or token.text in LABEL_NOUNS
        if not is_listed:
            # "B, C are wrong" has no "and".
            return token.text in ("are", "do", "have") and tokens[following - 1].kind == LABEL
    return False


def _begins_clause(tokens: list[Token], place: int) -> bool:
    """Whether "and" joins two statements, or "not", "over" and the like introduce another label."""
    text = tokens[place].text
    before = neighbour(tokens, place - 1)
    if text in ("and", "or"):
        # "A, B, and C" is a list with a comma before "and".
        listed = neighbour(tokens, place - 2) if place > 1 and before.text == "," else before
        joins_labels = listed.kind == LABEL and label_follows(tokens, place)
        return not joins_labels
    if text in ("rather", "instead"):
        after = neighbour(tokens, place + 1).text
        return after in ("than", "of") and label_follows(tokens, place)
    if text in ("not", "over", "unlike", "than", "nor", "neither", "beats", "against"):
        return place > 0 and before.kind != MARK and label_follows(tokens, place)
    return False


def label_follows(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a label is next after a token, except for words such as "option".

    Args:
        tokens: All tokens of an answer.
        place: The token's index.

    Returns:
        True if one of the next four tokens is a label, with only nouns and articles before it.
    """
    for token in tokens[place + 1 : place + 5]:
        if token.kind == LABEL:
            return True
        if token.text not in _BEFORE_LISTED_LABEL:
            return False
    return False
