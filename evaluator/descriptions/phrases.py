"""Reads noun phrases, what follows them, and predicates (the grammar is in prose_reader.py)."""

from collections.abc import Sequence

from evaluator.descriptions.cursor import KIND_WORDS, Cursor
from evaluator.descriptions.description import Span, UnreadPart
from evaluator.descriptions.drafts import UnreadError
from evaluator.descriptions.lexicon import Term
from evaluator.descriptions.sentences import NOUNS

_LONGEST_ASPECT = 10
"""Most words before "finish" or "color", so that looking ahead stays bounded."""
_MOST_COUNT = 100
"""Largest number of a plural that is read: "12345 cubes" describes no image."""


class PhraseParser(Cursor):
    """Reads the phrases of one sentence into the drafts of a description."""

    # Phrases

    def read_phrase(self, inner: bool = False, excluded: Sequence[int] = ()) -> list[int]:
        """Read a noun phrase or pronoun with what follows it.

        Args:
            inner: whether it is the end of a relation. Then a relation after it could belong to
                either object, so none is read.
            excluded: objects that "it" after the phrase may mean besides those of the sentence.

        Returns:
            The objects that it means, new or mentioned before.

        Raises:
            UnreadError: it does not follow the grammar, or may mean several objects.
        """
        if self.kind == "it":
            self.position += 1
            return [self.resolve_it()]
        if self.kind == "they" or (self.kind == "all" and self.kind_after(1) != "scenery"):
            return self._read_all()
        if self.kind == "one":
            return self._read_member(inner)
        definite = self.skip("the")
        if definite and self.kind == "other":
            return self._read_other(inner)
        if definite and self.kind == "ordinal":
            return self._read_ordinal(inner)
        count, is_counted = self._read_count()
        values, spans = self.take_values()
        subjects = self._read_noun(definite, count, is_counted, values, spans)
        self.read_after(subjects, inner)
        return subjects

    def _read_count(self) -> tuple[int, bool]:
        """The number of objects that a phrase names, and whether a word says it."""
        if self.skip("a"):
            self.skip("other", "filler")
            return 1, True
        self.skip("filler")
        if self.kind != "number":
            return 1, False
        number = self.next().meaning
        if number is None or not 1 <= number <= _MOST_COUNT:
            raise UnreadError("a number that no image has")
        self.skip("other", "filler")
        return number, True

    def take_values(self) -> tuple[dict[str, str], dict[str, Span]]:
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
                return values, spans
            self.position += 1

    def _skip_colored(self) -> None:
        """Skip "-colored" after a value."""
        if self.kind == "colored":
            self.position += 1
        elif self.kind == "colon" and self.kind_after(1) == "colored":
            self.position += 2

    def _read_noun(
        self,
        definite: bool,
        count: int,
        is_counted: bool,
        values: dict[str, str],
        spans: dict[str, Span],
    ) -> list[int]:
        """The objects that a noun with its adjectives means."""
        if self.kind == "one":
            return self._read_one(definite, values, spans)
        if self.kind == "be" and count > 1 and not definite and not values:
            return self._take_members(count)
        if self.kind not in NOUNS:
            raise self.unexpected()
        noun = self.next()
        is_plural = noun.kind in ("plural", "generics")
        if noun.kind == "generics" and not definite:
            # "There are three objects: a cube …" counts what the sentence then names.
            if values:
                raise UnreadError("several objects without a category")
            return []
        if is_plural != (count > 1) and not (definite and is_plural and not is_counted):
            raise UnreadError("a noun whose number is not clear")
        span = self.span_of(noun)
        if definite:
            return self._refer(noun, count if is_counted else 0, values, spans)
        subjects = [self.drafts.add(noun.meaning, span) for _ in range(count)]
        self._set_values(subjects, values, spans)
        if count > 1:
            self.drafts.form_group(subjects)
        return subjects

    def _set_values(
        self, subjects: Sequence[int], values: dict[str, str], spans: dict[str, Span]
    ) -> None:
        for subject in subjects:
            for kind, value in values.items():
                self.drafts.set_value(subject, kind, value, spans[kind])

    def _refer(
        self, noun: Term, count: int, values: dict[str, str], spans: dict[str, Span]
    ) -> list[int]:
        """The objects that a definite phrase means: those mentioned before, or new ones if none
        fits. `count` is 0 without a number."""
        candidates = self.drafts.matching(noun.meaning, values)
        is_plural = noun.kind in ("plural", "generics")
        if is_plural:
            if not candidates and count > 1 and noun.kind == "plural":
                subjects = [self.drafts.add(noun.meaning, self.span_of(noun)) for _ in range(count)]
                self.drafts.form_group(subjects)
            elif not candidates and not count and self.kind == "be" and not values:
                # "The objects are a cube and a cone."
                return []
            elif len(candidates) > 1 and count in (0, len(candidates)):
                subjects = candidates
                self.drafts.mention(subjects)
            else:
                raise UnreadError("a plural that does not fit the objects before")
        elif not candidates and noun.kind == "generic" and not values and self.kind != "be":
            raise UnreadError("an object that was not mentioned")
        elif not candidates:
            subjects = [self.drafts.add(noun.meaning, self.span_of(noun))]
        elif len(candidates) == 1 or self.drafts.are_alike(candidates):
            subjects = candidates[:1]
            self.drafts.mention(subjects)
        else:
            raise UnreadError("a phrase that may mean several objects")
        self._set_values(subjects, values, spans)
        return subjects

    def _read_one(
        self, definite: bool, values: dict[str, str], spans: dict[str, Span]
    ) -> list[int]:
        """ "The red one", which was mentioned, or "a blue one", which is new or of the group."""
        self.position += 1
        if definite:
            candidates = self.drafts.matching(None, values)
            if not values or len(candidates) != 1:
                raise UnreadError("a phrase that may mean several objects")
            self.drafts.mention(candidates)
            return candidates
        member = self._take_member()
        if member is None:
            latest = self.drafts.mentioned or self.drafts.mentioned_before
            if not latest:
                raise UnreadError("'one' after no object")
            member = self.drafts.add(self.drafts.objects[latest[-1]].category)
        self._set_values([member], values, spans)
        return [member]

    def _take_members(self, count: int) -> list[int]:
        """ "Two are large": so many objects of the group."""
        members = []
        for _ in range(count):
            member = self._take_member()
            if member is None:
                raise UnreadError("a number of no group")
            members.append(member)
        return members

    def _take_member(self) -> int | None:
        """The next object of the group, which is then taken; None if all are taken."""
        member = self.drafts.next_of_group()
        if member is not None:
            self.drafts.taken.add(member)
            self.drafts.mention([member])
        return member

    def _read_member(self, inner: bool) -> list[int]:
        """ "One red and one blue", "one of them is red": an object of the group. With a noun,
        "one red cube", a new object."""
        self.position += 1
        values, spans = self.take_values()
        if self.kind in NOUNS:
            subjects = self._read_noun(False, 1, True, values, spans)
            self.read_after(subjects, inner)
            return subjects
        member = self._take_member()
        if member is None:
            if values or self.kind != "be":
                raise UnreadError("'one' of no group")
            # "One is a red cube": the predicate names its category.
            member = self.drafts.add(None)
        self._set_values([member], values, spans)
        self.read_after([member], inner)
        return [member]

    def _read_other(self, inner: bool) -> list[int]:
        """ "The other": the last object of the group, or one that its predicate names."""
        self.position += 1
        self.skip("one")
        values, spans = self.take_values()
        free = [index for index in self.drafts.group if index not in self.drafts.taken]
        noun = self.next() if self.kind == "noun" else None
        if len(free) == 1:
            if noun is not None and self.drafts.objects[free[0]].category != noun.meaning:
                raise UnreadError("another object than that of the group")
            self.drafts.taken.add(free[0])
            self.drafts.mention(free)
        elif free or noun is not None or values or self.kind != "be":
            raise UnreadError("'the other' of no pair")
        else:
            free = [self.drafts.add(None)]
        self._set_values(free, values, spans)
        self.read_after(free, inner)
        return free

    def _read_ordinal(self, inner: bool) -> list[int]:
        """ "The second cube", "the first (object)": by the order of mention."""
        number = self.next().meaning
        values, spans = self.take_values()
        category = None
        among = self.drafts.group or self.drafts.of_category(None)
        if self.kind in ("noun", "generic"):
            category = self.next().meaning
            among = self.drafts.of_category(category)
        else:
            self.skip("one")
        if number <= len(among):
            subjects = [among[number - 1]]
            self.drafts.taken.update(subjects)
            self.drafts.mention(subjects)
        elif category is None and not values and number == len(among) + 1 and self.kind == "be":
            # "The first object is a red cube": the predicate names its category.
            subjects = [self.drafts.add(None)]
        else:
            raise UnreadError("an ordinal of an object that was not mentioned")
        self._set_values(subjects, values, spans)
        self.read_after(subjects, inner)
        return subjects

    def _read_all(self) -> list[int]:
        """ "Both", "they", "all objects", "both cubes"."""
        word = self.word()
        self.position += 1
        self.skip("the")
        if self.kind in ("plural", "generics"):
            subjects = self.drafts.of_category(self.next().meaning)
        elif word.startswith(("they", "both", "all of")) and self.drafts.group:
            subjects = self.drafts.group
        elif word.startswith(("they", "both", "all of")):
            subjects = self.drafts.mentioned_before
        else:
            raise self.unexpected()
        if len(subjects) < 2 or (word.startswith("both") and len(subjects) != 2):
            raise UnreadError("a plural that does not fit the objects before")
        self.drafts.mention(subjects)
        if self.kind in ("value", "made", "after") and not self.belongs_to_noun(0):
            # "two cubes, both red"
            self.read_values(subjects)
        return list(subjects)

    def resolve_it(self, excluded: Sequence[int] = ()) -> int:
        """The only object that "it" can mean: of this sentence, else of the sentence before.

        Args:
            excluded: objects that it cannot mean, such as the subject of "behind it".

        Raises:
            UnreadError: there is none, or more than one.
        """
        for mentioned in (self.drafts.mentioned, self.drafts.mentioned_before):
            candidates = [index for index in mentioned if index not in excluded]
            if len(candidates) == 1:
                self.drafts.mention(candidates)
                return candidates[0]
            if candidates:
                break
        raise UnreadError("a pronoun that may mean several objects")

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
        """ ", red and small", ", which is red", ", made of metal"."""
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
        """ "(red, made of metal)"."""
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
        """ "with a shiny metal finish", "has a red color"."""
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

    def _set_next(self, subjects: Sequence[int]) -> None:
        """Set the value of the next term."""
        term = self.next()
        kind, value = term.meaning
        for subject in subjects:
            self.drafts.set_value(subject, kind, value, self.span_of(term))

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
        """ "(The object) is a red cube": names the category and values of the subject."""
        if len(subjects) != 1:
            raise UnreadError("one category of several objects")
        if self.kind == "number" and self.terms[self.position].meaning != 1:
            raise self.unexpected()
        self.skip("a", "number", "one", "filler")
        values, spans = self.take_values()
        if self.kind not in ("noun", "generic", "one"):
            raise self.unexpected()
        noun = self.next()
        if noun.kind == "noun":
            self.drafts.name_category(subjects[0], noun.meaning, self.span_of(noun))
        self._set_values(subjects, values, spans)
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
        """ "left of a sphere and behind it": relations of the same subjects in turn. "it" after the
        first is the object of the relation before. `may_invert`: whether a clause such as "behind
        the sphere is a cone" may begin here."""
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
        self.skip("there", "filler")
        self.skip("be", "stand", "filler")
        subjects = self.read_phrase(inner=True)
        self.add_relation(subjects, relation, targets)
