"""Reads what follows a noun phrase: values, predicates and relations (the grammar is in
prose_reader.py)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from .cursor import KIND_WORDS, Cursor
from .description import Span, UnreadPart
from .drafts import UnreadError
from .lexicon import Term

_LONGEST_ASPECT = 10
"""Most words before "finish" or "color", so that looking ahead stays bounded."""


class Adjectives(NamedTuple):
    """The values before a noun."""

    values: dict[str, str]
    """By attribute kind."""
    spans: dict[str, Span]
    """Their places in the answer, by attribute kind."""


class PredicateParser(Cursor, ABC):
    """Reads what is said of objects. `PhraseParser` reads the phrases that name them."""

    @abstractmethod
    def read_phrase(self, inner: bool = False) -> list[int]:
        """Read a noun phrase or pronoun with what follows it.

        Args:
            inner: whether it is the end of a relation. Then a relation after it could belong to
                either object, so none is read.

        Returns:
            The objects that it means, new or mentioned before.

        Raises:
            UnreadError: it does not follow the grammar, or may mean several objects.
        """

    @abstractmethod
    def resolve_it(self, excluded: Sequence[int] = ()) -> int:
        """Find the only object that "it" can mean: of this sentence, else of the sentence before.

        Args:
            excluded: objects that it cannot mean, such as the subject of "behind it".

        Returns:
            The object.

        Raises:
            UnreadError: there is none, or more than one.
        """

    # After a noun

    def read_after(self, subjects: Sequence[int], inner: bool) -> None:
        """Read what follows a noun phrase and belongs to it.

        Args:
            subjects: the objects of the phrase.
            inner: as for `read_phrase`.
        """
        while True:
            if self.kind in ("after", "made"):
                self.read_values(subjects)
            elif self._is_in_value():
                self.position += 1
                self.read_values(subjects)
            elif self.kind == "and" and self.kind_after(1) in ("made", "after"):
                self.position += 1
            elif self.kind == "which":
                self.position += 1
                self.read_predicates(subjects, is_clause=False)
            elif self.kind == "open":
                self._read_brackets(subjects)
            elif self.kind in ("comma", "colon") and not inner and self._is_apposition():
                self._read_apposition(subjects)
            elif self.kind in ("with", "has") and self._is_aspect():
                self._read_aspect(subjects)
            elif self.kind == "comma" and not inner and self._is_aspect(1):
                self.position += 1
                self._read_aspect(subjects)
            elif self.kind in ("relation", "relation_of_it") and not self.scenery_end():
                if inner or not subjects:
                    raise UnreadError("a relation that may belong to several objects")
                self._read_relations(subjects)
            elif not inner and subjects and self._is_relation_after_comma():
                if subjects[0] in self.drafts.taken:
                    # "two cubes, one red and one blue, behind a sphere"
                    raise UnreadError("a relation that may belong to several objects")
                self.position += 1
                self._read_relations(subjects)
            elif self.kind == "stand" and self._is_participle():
                self.position += 1
            elif not self.skip_place():
                return

    def _is_in_value(self) -> bool:
        """Whether "in red" follows, and not "in red light"."""
        follows = self.kind == "in" and self.kind_after(1) == "value"
        return follows and not self.belongs_to_noun(1) and not self.scenery_end()

    def _is_relation_after_comma(self) -> bool:
        """Whether a relation of the noun follows a comma: ", behind a sphere". ", behind it" begins
        a clause of its own, since "it" is the noun."""
        if self.kind != "comma" or self.kind_after(1) != "relation" or self.kind_after(2) == "it":
            return False
        self.position += 1
        is_scenery = self.scenery_end() > 0
        self.position -= 1
        return not is_scenery

    def _is_participle(self) -> bool:
        """Whether words of place follow a verb: "a cube located behind a sphere"."""
        return self.kind_after(1) in ("relation", "relation_of_it", "place", "prepositions", "in")

    def _is_apposition(self) -> bool:
        """Whether values that belong to the noun follow a comma: "a cube, red and small". Values
        before a noun belong to that noun: "a cube, red spheres"."""
        first = self.kind_after(1)
        if first in ("which", "made", "after", "colored"):
            return True
        return first == "value" and not self.belongs_to_noun(1)

    def _read_apposition(self, subjects: Sequence[int]) -> None:
        """Read ", red and small", ", which is red" or ", made of metal"."""
        if len(subjects) > 1 and self.kind_after(1) == "value":
            # "two cubes, red and blue" does not say which is which.
            raise UnreadError("values of several objects")
        self.position += 1
        if self.kind == "which":
            self.position += 1
            self.read_predicates(subjects, is_clause=False)
        else:
            self.read_values(subjects)

    def _read_brackets(self, subjects: Sequence[int]) -> None:
        """Read "(red, made of metal)"."""
        self.position += 1
        if len(subjects) > 1:
            raise UnreadError("values of several objects")
        while self.kind != "close":
            if not self.skip("comma", "and", "filler") and not self.skip_place():
                self.read_values(subjects)
        self.position += 1

    def _is_aspect(self, n: int = 0) -> bool:
        """Whether "with" or "has", n terms ahead, names a value of the noun: "with a shiny metal
        finish"."""
        if self.kind_after(n) not in ("with", "has"):
            return False
        place = self.position + n + 1
        while place < len(self.terms) and self.terms[place].kind in ("a", "its"):
            place += 1
        while place < len(self.terms) and self.terms[place].kind in ("value", "scenic", "filler"):
            place += 1
            if place > self.position + _LONGEST_ASPECT:
                return False
        return place < len(self.terms) and self.terms[place].kind in KIND_WORDS

    def _read_aspect(self, subjects: Sequence[int]) -> None:
        """Read "with a shiny metal finish" or "has a red color"."""
        self.position += 1
        self.skip("a", "its")
        while not self.is_kind_word():
            if self.kind == "value":
                self._set_next(subjects)
            elif not self.skip("scenic", "filler"):
                raise self.unexpected()
        self.position += 1
        if self.kind == "and" and self._is_second_aspect():
            self._read_aspect(subjects)

    def _is_second_aspect(self) -> bool:
        """Whether "and a matte finish" follows."""
        place = self.position + 1
        while place < len(self.terms) and self.terms[place].kind in ("a", "value", "scenic"):
            place += 1
            if place > self.position + _LONGEST_ASPECT:
                return False
        return (
            place > self.position + 1
            and place < len(self.terms)
            and self.terms[place].kind in KIND_WORDS
        )

    # Predicates

    def take_values(self) -> Adjectives:
        """Take the adjectives before a noun: "small, red and shiny".

        Returns:
            Values and their places, by attribute kind.

        Raises:
            UnreadError: two of them are of one kind.
        """
        values: dict[str, str] = {}
        spans: dict[str, Span] = {}
        while True:
            if self.kind == "value":
                term = self.next()
                kind, value = term.meaning
                if values.get(kind, value) != value:
                    raise UnreadError(f"two values of one {kind}")
                values[kind], spans[kind] = value, self.span_of(term)
                self._skip_colored()
                continue
            joins_values = bool(values) and self.kind_after(1) in ("value", "filler")
            if self.kind != "filler" and not (self.kind in ("comma", "and") and joins_values):
                return Adjectives(values, spans)
            self.position += 1

    def _skip_colored(self) -> None:
        """Skip "-colored" after a value."""
        if self.kind == "colored":
            self.position += 1
        elif self.kind == "colon" and self.kind_after(1) == "colored":
            self.position += 2

    def _set_next(self, subjects: Sequence[int]) -> None:
        """Set the value of the next term."""
        term = self.next()
        kind, value = term.meaning
        for subject in subjects:
            self.drafts.set_value(subject, kind, value=value, span=self.span_of(term))

    def read_values(self, subjects: Sequence[int]) -> None:
        """Read values that are said of objects: "red and small", "made of metal".

        Args:
            subjects: the objects.

        Raises:
            UnreadError: there is no value.
        """
        self.skip("filler", "colored")
        if self.kind not in ("value", "after", "made"):
            raise self.unexpected()
        while True:
            if self.kind == "made":
                self.position += 1
                if self.kind != "value":
                    raise self.unexpected()
            if self.kind in ("value", "after"):
                self._set_next(subjects)
                self._skip_colored()
                # "red in color"
                if self.kind == "in" and self.is_kind_word(1):
                    self.position += 2
            elif not self.skip("filler"):
                raise self.unexpected()
            if not self._continues_values():
                return

    def _continues_values(self) -> bool:
        """Whether another value of the same objects follows; its separator is then skipped."""
        n = 0
        while self.kind_after(n) in ("comma", "and") and n < 2:
            n += 1
        if self.kind_after(n) == "filler":
            n += 1
        following = self.kind_after(n)
        if following in ("made", "after"):
            self.position += n
            return True
        if following != "value" or self.belongs_to_noun(n):
            return False
        self.position += n
        return True

    def read_predicates(self, subjects: Sequence[int], is_clause: bool = True) -> None:
        """Read verbs and what they say of objects.

        Args:
            subjects: the objects.
            is_clause: whether a nominal predicate is allowed: "the object is a red cube". In "that
                is …" it is not.

        Raises:
            UnreadError: it does not follow the grammar.
        """
        if not subjects:
            raise UnreadError("a predicate of no object")
        after_verb = self.skip("be", "stand", "filler", "all", "they")
        may_invert = False
        while True:
            if self.kind in ("value", "after", "made") and not self.belongs_to_noun(0):
                self.read_values(subjects)
            elif self.kind in ("relation", "relation_of_it") and not self.scenery_end():
                self._read_relations(subjects, may_invert)
            elif self.kind in ("has", "with") and self._is_aspect():
                self._read_aspect(subjects)
            elif self.skip_place() or self.skip("stand"):
                pass
            elif is_clause and after_verb and self.kind in ("a", "number", "value", "noun", "one"):
                self._read_nominal(subjects)
            elif not after_verb:
                raise self.unexpected()
            after_verb = False
            start = self.position
            if not self._continues_predicates():
                return
            may_invert = self.position > start
            self.skip("be", "stand", "filler", "all", "they")

    def _continues_predicates(self) -> bool:
        """Whether another predicate of the same subject follows; its separator is then skipped."""
        n = 0
        while self.kind_after(n) in ("comma", "and") and n < 2:
            n += 1
        following = self.kind_after(n)
        if n and following in ("be", "stand"):
            self.position += n
            return True
        if following in ("made", "after", "has") or (
            n == 0 and following in ("relation", "relation_of_it")
        ):
            self.position += n
            return True
        if n and following == "value" and not self.belongs_to_noun(n):
            self.position += n
            return True
        if n and following == "relation" and self.kind_after(n + 1) not in ("it", "there"):
            self.position += n
            return True
        return n == 0 and following in ("place", "prepositions", "in", "stand")

    def _read_nominal(self, subjects: Sequence[int]) -> None:
        """Read "a red cube" after "the object is": the category and values of the subject."""
        if len(subjects) != 1:
            raise UnreadError("one category of several objects")
        if self.kind == "number" and self.terms[self.position].meaning != 1:
            raise self.unexpected()
        self.skip("a", "number", "one", "filler")
        adjectives = self.take_values()
        if self.kind not in ("noun", "generic", "one"):
            raise self.unexpected()
        noun = self.next()
        if noun.kind == "noun":
            self.drafts.name_category(subjects[0], noun.meaning, self.span_of(noun))
        for kind, value in adjectives.values.items():
            self.drafts.set_value(subjects[0], kind, value=value, span=adjectives.spans[kind])
        self.read_after(subjects, inner=False)

    # Relations

    def read_relation(self, subjects: Sequence[int]) -> tuple[Term, list[int]]:
        """Read a relation and its target.

        Args:
            subjects: what "it" cannot mean.

        Returns:
            The term of the relation, and the objects that it leads to.
        """
        term = self.next()
        self.skip("filler")
        if term.kind == "relation_of_it":
            return term, [self.resolve_it(subjects)]
        if self.kind == "it":
            self.position += 1
            return term, [self.resolve_it(subjects)]
        return term, self.read_phrase(inner=True)

    def add_relation(self, subjects: Sequence[int], relation: Term, targets: Sequence[int]) -> None:
        """Add a relation, or note it as unread if the world does not have it.

        Args:
            subjects: the first objects.
            relation: its term.
            targets: the second objects.

        Raises:
            UnreadError: there is no object on one side, or an object would be related to itself.
        """
        if not subjects or not targets:
            raise UnreadError("a relation of no object")
        span = self.span_of(relation)
        if relation.meaning is None:
            self.unjudged.append(UnreadPart(*span, "a relation that is not judged"))
        else:
            self.drafts.relate(subjects, relation.meaning, targets, span)

    def _read_relations(self, subjects: Sequence[int], may_invert: bool = False) -> None:
        """Read "left of a sphere and behind it": relations of the same subjects in turn. "it" after
        the first is the object of the relation before. `may_invert`: whether a clause such as
        "behind the sphere is a cone" may begin here."""
        relation, targets = self.read_relation(subjects)
        if may_invert and self.kind in ("be", "there"):
            self._read_inverted(relation, targets)
            return
        self.add_relation(subjects, relation, targets)
        while True:
            if self.kind == "comma" and self._is_apposition():
                # "left of a cube, red and small" may speak of either object.
                raise UnreadError("values that may belong to several objects")
            n = 0
            while self.kind_after(n) in ("comma", "and", "filler") and n < 3:
                n += 1
            if not n or self.kind_after(n) != "relation":
                return
            self.position += n
            if self.scenery_end():
                self.skip_place()
                return
            if self.kind_after(1) == "it":
                relation = self.next()
                self.position += 1
                latest = targets
            else:
                relation, latest = self.read_relation(subjects)
            if self.kind in ("be", "there"):
                # ", and behind it is a cone" begins a clause of its own.
                self._read_inverted(relation, latest)
                return
            self.add_relation(subjects, relation, latest)
            targets = latest

    def _read_inverted(self, relation: Term, targets: Sequence[int]) -> None:
        """Read "is a cone" after "behind the sphere"."""
        self.skip("there", "filler")
        self.skip("be", "stand", "filler")
        subjects = self.read_phrase(inner=True)
        self.add_relation(subjects, relation, targets)
