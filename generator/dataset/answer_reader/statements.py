"""Collect the statements of an answer, sentence by sentence."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from .sentences import Clause, Sentence
from .standing import DOUBT, FINAL, SEVERAL, StandingStatements
from .tokens import LABEL, MARK, WORD, Token
from .turns import REASONS_OF_RETRACTION, is_hypothetical, is_outdated, turn_of
from .vocabulary import CONTRASTING, words

_EXPLAINING = words(
    "explanation reason reasoning rationale justification note because why details analysis"
)
"""After one of these an answer explains itself."""
_NEXT_TURN = words("question q human user")
"""What follows is the next question, which the model has made up."""
_INDIRECT_QUESTIONS = (["which"], ["whether"])


class StatementReader(ABC):
    """Collects the statements of an answer. A subclass reads clauses.

    A statement may begin before its label, as "The answer is:" at the end of a line. It is pending
    until a label comes, in the same sentence or, if it waits, in the next one.
    """

    def __init__(self) -> None:
        self.standing = StandingStatements()
        """The statements so far that still stand."""
        self._pending = 0
        """How explicit the pending statement is; 0 if there is none."""
        self._waits = False
        """Whether the label of the pending statement may come in the next sentence."""
        self._needs_label = False
        """Whether the pending statement makes the answer unreadable if no label comes."""

    @abstractmethod
    def stands_alone(self, clause: Clause) -> bool:
        """Return whether a clause is nothing but a label.

        Args:
            clause: A clause of the answer, without the words by which it turns away.

        Returns:
            True for "B" and "option B".
        """

    @abstractmethod
    def labels_in(self, clause: Clause) -> set[int]:
        """Return the labels that a clause names.

        Args:
            clause: A clause of the answer.

        Returns:
            Their indices.
        """

    @abstractmethod
    def take_clause(self, clause: Clause, sentence: Sentence, number: int) -> None:
        """Take a clause that may state or deny labels.

        Args:
            clause: The clause, without the words by which it turns away.
            sentence: Its sentence.
            number: The number of the clause in its sentence, from 0.
        """

    def mention(self, clause: Clause) -> None:  # noqa: B027 - yes and no have nothing to remember
        """Take a clause that states nothing, because it asks or supposes.

        Args:
            clause: The clause.
        """

    def take(self, sentence: Sentence) -> bool:
        """Read a sentence.

        Args:
            sentence: The next sentence of the answer.

        Returns:
            Whether the answer ends before it, because it begins another question.
        """
        first_word = sentence.words[0] if sentence.words else ""
        has_colon = sentence.clauses[0].has_early_colon
        begins_turn = sentence.begins_line and has_colon and first_word in _NEXT_TURN
        if begins_turn and self.standing.explicit:
            return True
        if first_word in _EXPLAINING and (has_colon or len(sentence.words) == 1):
            self.standing.explain()

        # What was pending before this sentence has waited for it.
        waited = self._pending
        self._take_clauses(sentence)
        if self._pending and not self._waits:
            self._end_pending()
        # A label is awaited for one sentence only.
        self._waits = self._waits and not waited
        return False

    def answer(self) -> int | None:
        """Return the label that the answer states, after its last sentence.

        Returns:
            Its index; None if the answer states none, or several.
        """
        self._end_pending()
        return self.standing.answer()

    def state(self, label: int, explicit: int) -> None:
        """Take a statement, which a pending statement makes more explicit.

        Args:
            label: Index of the stated label, or SEVERAL.
            explicit: How explicit the statement is by itself, HEDGED to FINAL.
        """
        # After "Final answer:" a bare "B" is as explicit as its heading.
        explicit = max(explicit, self._pending)
        self._clear_pending()
        self.standing.state(label, explicit)

    def begin(self, explicit: int, *, waits: bool, needs_label: bool) -> None:
        """Take the beginning of a statement, such as "Answer:", whose label comes later.

        Args:
            explicit: How explicit the statement is, ANSWERED or FINAL.
            waits: Whether the label may come in the next sentence.
            needs_label: Whether the answer is unreadable if no label comes.
        """
        self._end_pending()
        self._pending = explicit
        self._waits = waits
        self._needs_label = needs_label

    def _take_clauses(self, sentence: Sentence) -> None:
        asks = sentence.asks or sentence.words[:1] in _INDIRECT_QUESTIONS
        conditional = outdated = False
        for number, clause in enumerate(sentence.clauses):
            clause = self._take_turn(clause, sentence, number)
            # What an answer supposes, or believed at first, ends with "but".
            if number == 0 or clause.opening in CONTRASTING:
                conditional = is_hypothetical(_words_until_contrast(sentence.clauses, number))
                outdated = False
            # In "thought: …" the word is the name of a value.
            if is_outdated(clause.words) and not clause.has_early_colon:
                outdated = True
            # "B, if I had to choose": the label stands before its condition.
            is_label_before_condition = (
                number == 0 and "would" not in clause.words and self.stands_alone(clause)
            )
            if clause.boxed:
                self._take_boxed(clause)
            elif not clause.tokens:
                continue
            elif asks or outdated or (conditional and not is_label_before_condition):
                self.mention(clause)
            else:
                self.take_clause(clause, sentence, number)

    def _take_turn(self, clause: Clause, sentence: Sentence, number: int) -> Clause:
        """Take the turn with which a clause begins. Returns the rest of the clause."""
        strength, length = turn_of(clause.words, clause.opening)
        texts = [token.text for token in clause.tokens[:2]]
        if texts == ["no", ":"] and any(token.kind == LABEL for token in clause.tokens):
            strength, length = DOUBT, 1  # "B... no: A"
        follows_label = number > 0 and bool(self.labels_in(sentence.clauses[number - 1]))
        if follows_label and " ".join(clause.words[:2]) in REASONS_OF_RETRACTION:
            strength = 0  # "the answer is B, I misread the colours"
        self.standing.turn(strength)
        # "Or rather B" joins nothing.
        opening = "" if strength >= DOUBT else clause.opening
        return clause._replace(tokens=_without_words(clause.tokens, length), opening=opening)

    def _take_boxed(self, clause: Clause) -> None:
        # A box is the answer by agreement, so a box with no label, or several, makes it unreadable.
        labels = self.labels_in(clause)
        self._clear_pending()
        self.standing.state(labels.pop() if len(labels) == 1 else SEVERAL, FINAL)

    def _end_pending(self) -> None:
        # "Long answer: the cube is blue" explains an answer that stands.
        is_answered = self.standing.explicit >= self._pending
        if self._pending and self._needs_label and not is_answered:
            self.standing.state(SEVERAL, self._pending)
        self._clear_pending()

    def _clear_pending(self) -> None:
        self._pending = 0
        self._waits = False
        self._needs_label = False


def _words_until_contrast(clauses: Sequence[Clause], start: int) -> list[str]:
    """The words from a clause on, up to the next one that "but" begins."""
    spoken = [token.text for token in clauses[start].tokens]
    for clause in clauses[start + 1 :]:
        if clause.opening in CONTRASTING:
            break
        spoken.append(clause.opening)
        spoken += [token.text for token in clause.tokens]
    return spoken


def _without_words(tokens: list[Token], number: int) -> list[Token]:
    """Tokens without the first words, and without the marks after these."""
    if number == 0:
        return tokens
    place = 0
    while place < len(tokens) and (number > 0 or tokens[place].kind == MARK):
        if tokens[place].kind == WORD:
            number -= 1
        place += 1
    return tokens[place:]
