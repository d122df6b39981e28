"""Reads noun phrases and pronouns (the grammar is in prose_reader.py)."""

from collections.abc import Sequence

from .drafts import UnreadError
from .lexicon import Term
from .predicates import Adjectives, PredicateParser
from .sentences import NOUNS

_MOST_COUNT = 100
"""Largest number of a plural that is read: "12345 cubes" describes no image."""


class PhraseParser(PredicateParser):
    """Reads the phrases of one sentence into the drafts of a description."""

    def read_phrase(self, inner: bool = False) -> list[int]:
        """As declared by the base class."""
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
        # 0 for no number: "the cubes"
        number = count if is_counted else 0
        adjectives = self.take_values()
        if definite:
            subjects = self._read_definite(number, adjectives)
        else:
            subjects = self._read_indefinite(number, adjectives)
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

    def _read_indefinite(self, number: int, adjectives: Adjectives) -> list[int]:
        """Read the noun of "a red cube" or "two red cubes", which are new objects."""
        if self.kind == "one":
            return self._read_one(adjectives)
        if self.kind == "be" and number > 1 and not adjectives.values:
            return self._take_members(number)
        if self.kind not in NOUNS:
            raise self.unexpected()
        noun = self.next()
        if noun.kind == "generics":
            # "There are three objects: a cube …" counts what the sentence then names.
            if adjectives.values:
                raise UnreadError("several objects without a category")
            return []
        if (noun.kind == "plural") != (number > 1):
            raise UnreadError("a noun whose number is not clear")
        return self._add_objects(noun, max(1, number), adjectives)

    def _read_definite(self, number: int, adjectives: Adjectives) -> list[int]:
        """Read the noun of "the red cube" or "the two cubes": objects that were mentioned before,
        or new ones if none fits."""
        if self.kind == "one":
            return self._refer_to_one(adjectives)
        if self.kind not in NOUNS:
            raise self.unexpected()
        noun = self.next()
        if noun.kind in ("plural", "generics"):
            return self._refer_to_several(noun, number, adjectives)
        if number > 1:
            raise UnreadError("a noun whose number is not clear")

        candidates = self.drafts.matching(noun.meaning, adjectives.values)
        if not candidates:
            is_bare = noun.kind == "generic" and not adjectives.values
            if is_bare and self.kind != "be":
                raise UnreadError("an object that was not mentioned")
            return self._add_objects(noun, 1, adjectives)
        if len(candidates) > 1 and not self.drafts.are_alike(candidates):
            raise UnreadError("a phrase that may mean several objects")
        return self._mention(candidates[:1], adjectives)

    def _refer_to_several(self, noun: Term, number: int, adjectives: Adjectives) -> list[int]:
        """The objects of a definite plural; `number` is 0 without a number."""
        candidates = self.drafts.matching(noun.meaning, adjectives.values)
        if not candidates and number > 1 and noun.kind == "plural":
            return self._add_objects(noun, number, adjectives)
        if not candidates and not number and self.kind == "be" and not adjectives.values:
            # "The objects are a cube and a cone."
            return []
        if len(candidates) < 2 or number not in (0, len(candidates)):
            raise UnreadError("a plural that does not fit the objects before")
        return self._mention(candidates, adjectives)

    def _add_objects(self, noun: Term, number: int, adjectives: Adjectives) -> list[int]:
        """Add new objects; several are the group that "one" and "the other" refer to."""
        span = self.span_of(noun)
        subjects = [self.drafts.add(noun.meaning, span) for _ in range(number)]
        if number > 1:
            self.drafts.form_group(subjects)
        return self._mention(subjects, adjectives)

    def _mention(self, subjects: Sequence[int], adjectives: Adjectives) -> list[int]:
        """Mention objects, and set the values that their phrase names."""
        self.drafts.mention(subjects)
        for subject in subjects:
            for kind, value in adjectives.values.items():
                self.drafts.set_value(subject, kind, value=value, span=adjectives.spans[kind])
        return list(subjects)

    def _refer_to_one(self, adjectives: Adjectives) -> list[int]:
        """Read "the red one", which was mentioned before."""
        self.position += 1
        candidates = self.drafts.matching(None, adjectives.values)
        if not adjectives.values or len(candidates) != 1:
            raise UnreadError("a phrase that may mean several objects")
        return self._mention(candidates, adjectives)

    def _read_one(self, adjectives: Adjectives) -> list[int]:
        """Read "a blue one": an object of the group, or a new one of the last category."""
        self.position += 1
        member = self._take_member()
        if member is None:
            latest = self.drafts.mentioned or self.drafts.mentioned_before
            if not latest:
                raise UnreadError("'one' after no object")
            member = self.drafts.add(self.drafts.objects[latest[-1]].category)
        return self._mention([member], adjectives)

    def _take_members(self, count: int) -> list[int]:
        """Read "two are large": so many objects of the group."""
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
        """Read "one red and one blue", "one of them is red": an object of the group. With a noun,
        "one red cube", a new object."""
        self.position += 1
        adjectives = self.take_values()
        if self.kind in NOUNS:
            subjects = self._read_indefinite(1, adjectives)
            self.read_after(subjects, inner)
            return subjects
        member = self._take_member()
        if member is None:
            if adjectives.values or self.kind != "be":
                raise UnreadError("'one' of no group")
            # "One is a red cube": the predicate names its category.
            member = self.drafts.add(None)
        subjects = self._mention([member], adjectives)
        self.read_after(subjects, inner)
        return subjects

    def _read_other(self, inner: bool) -> list[int]:
        """Read "the other": the last object of the group, or one that its predicate names."""
        self.position += 1
        self.skip("one")
        adjectives = self.take_values()
        free = [index for index in self.drafts.group if index not in self.drafts.taken]
        noun = self.next() if self.kind == "noun" else None
        if len(free) == 1:
            if noun is not None and self.drafts.objects[free[0]].category != noun.meaning:
                raise UnreadError("another object than that of the group")
            self.drafts.taken.add(free[0])
        elif free or noun is not None or adjectives.values or self.kind != "be":
            raise UnreadError("'the other' of no pair")
        else:
            free = [self.drafts.add(None)]
        subjects = self._mention(free, adjectives)
        self.read_after(subjects, inner)
        return subjects

    def _read_ordinal(self, inner: bool) -> list[int]:
        """Read "the second cube" or "the first (object)": by the order of mention."""
        number = self.next().meaning
        adjectives = self.take_values()
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
        elif category is not None or adjectives.values or self.kind != "be":
            raise UnreadError("an ordinal of an object that was not mentioned")
        elif number == len(among) + 1:
            # "The first object is a red cube": the predicate names its category.
            subjects = [self.drafts.add(None)]
        else:
            raise UnreadError("an ordinal out of order")
        subjects = self._mention(subjects, adjectives)
        self.read_after(subjects, inner)
        return subjects

    def _read_all(self) -> list[int]:
        """Read "both", "they", "all objects" or "both cubes"."""
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
        """As declared by the base class."""
        for mentioned in (self.drafts.mentioned, self.drafts.mentioned_before):
            candidates = [index for index in mentioned if index not in excluded]
            if len(candidates) == 1:
                self.drafts.mention(candidates)
                return candidates[0]
            if candidates:
                break
        raise UnreadError("a pronoun that may mean several objects")
