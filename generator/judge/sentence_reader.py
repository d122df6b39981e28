"""Reads texts of sentences with a capital and a full stop."""

from itertools import pairwise

from generator.judge.lexicon import IN_IMAGE, Lexicon
from generator.judge.meaning import Meaning
from generator.judge.phrase_reader import Reader, Reference

_CAPITALS = {"There": "there", "A": "a", "An": "an", "The": "the"}


class SentenceReader(Reader):
    """Reads sentences. The way they continue shows which template they follow.

    `trail`: mentions in order: the index of a new mention, ~index for one that has its own sentence "There is …", and the
    definite phrase of one that is taken up again. `rows`: the index of each sentence's first relation; None if it has none.
    """

    def __init__(self, text: str, words: list[str], lexicon: Lexicon):
        super().__init__(text, words, lexicon)
        self.trail: list[Reference] = []
        self.rows: list[int | None] = []
        self.new_subjects: set[str] = set()

    def sentences(self) -> Meaning:
        """The meaning of the sentences."""
        if self.words[0] == "It":
            return self._not_true()
        if self.words[0] == "This":
            return self._this_photo()
        environment = self._opening()
        self._begin(inner=environment is not None)
        if self.words[self.at] != "there":
            self._statement()
            return self._clauses(environment)
        self._there_is_list()
        if self.words[self.at] == "that" and len(self.things) == 1:
            self._that_is()
            return self._clauses(environment)
        if self.words[self.at] == IN_IMAGE:
            return self._in_image(environment)
        self.take(".")
        following = self.words[self.at]
        if following == "The":
            return self._descriptions(environment)
        if following == "There" and self.words[self.at + 2] != "also":
            return self._each(environment)
        if following != "" and len(self.things) > 1:
            raise self.fault("'The' after a list")
        self._introduced()
        return self._clauses(environment)

    def _opening(self) -> str | None:
        """Read the environment's phrase if the text begins with it; returns its name."""
        name = self.lexicon.openings.get(self.words[0])
        if name is not None:
            self.at = 1
            self.take(",")
        return name

    def _begin(self, inner: bool = False) -> None:
        """Lower the first letter of a sentence. After an opening phrase (`inner`) it must be lower case already."""
        word = self.words[self.at]
        small = word if inner and word in _CAPITALS.values() else None if inner else _CAPITALS.get(word)
        if small is None:
            raise self.fault(
                "'there', 'a' or 'an'" if inner else "a sentence that begins with 'There', 'A', 'An' or 'The'"
            )
        self.words[self.at] = small

    def _there_is_list(self, also: bool = False, single: bool = False) -> None:
        """Read "there is" and a list, or a `single` mention."""
        self.take("there")
        verb, place = self.at, len(self.things)
        if self.words[verb] not in ("is", "are"):
            raise self.fault("'is' or 'are'")
        self.at += 1
        if also:
            self.take("also")
        if single:
            self.mention()
        else:
            self.mentions()
        expected = "are" if self.things[place].number > 1 else "is"
        if self.words[verb] != expected:
            raise self.fault(f"'{expected}'", verb)

    def _in_image(self, environment: str | None) -> Meaning:
        """`in-image`: one object, "in the image"."""
        if environment is not None or len(self.things) > 1:
            raise self.fault("'.'")
        self.refuse_none()
        self.take(IN_IMAGE, ".")
        return self.meaning()

    def _each(self, environment: str | None) -> Meaning:
        """`there-is-each`: one sentence "There is …" for each object."""
        if environment is not None or len(self.things) > 1:
            raise self.fault("'There is also' or the end")
        while self.words[self.at] != "":
            self._begin()
            self._there_is_list(single=True)
            self.take(".")
        return self.meaning()

    # Relations as clauses.

    def _clauses(self, environment: str | None) -> Meaning:
        """`clauses` and `there-is-that`: further sentences, each about a new object or about relations."""
        while self.words[self.at] != "":
            self._begin()
            if self.words[self.at] != "there":
                self._statement()
                continue
            self._there_is_list(also=True, single=True)
            if self.words[self.at] == "that":
                self._that_is()
            else:
                self.take(".")
                self._introduced()
        if self.links:
            self._check_style()
            self._check_joined()
            self._check_turns()
        return self.meaning(environment=environment)

    def _introduced(self) -> None:
        self.trail.append(~(len(self.things) - 1))
        self.rows.append(None)

    def _statement(self) -> None:
        """Read "A cube is …." or "The cube is …."."""
        subject = self.thing()
        if isinstance(subject, int) and self.things[subject].without is None:
            self.new_subjects.add("is")
        self.take("is")
        self._relations(subject)

    def _that_is(self) -> None:
        """Read "that is …." after the object just introduced."""
        subject = len(self.things) - 1
        if self.things[subject].without is not None or self.things[subject].number != 1:
            raise self.fault("'.'")
        self.new_subjects.add("that is")
        self.take("that", "is")
        self._relations(subject)

    def _relations(self, subject: Reference) -> None:
        start = len(self.links)
        self.relations(subject)
        self.take(".")
        self.trail.append(subject)
        self.trail += [link[2] for link in self.links[start:]]
        self.rows.append(start)

    def _check_style(self) -> None:
        """Refuse texts that introduce subjects in two ways or use ordinals."""
        if len(self.new_subjects) > 1:
            raise self.fault("one way to introduce subjects, 'A … is' or 'There is a … that is'", 0)
        for reference in self.trail:
            if isinstance(reference, tuple) and isinstance(reference[0][1], int):
                raise self.fault("no 'first' or 'second' object in clauses", 0)

    def _check_joined(self) -> None:
        """Refuse consecutive relations of one subject in two sentences if "and" could join them."""
        for before, row in pairwise(self.rows):
            if before is None or row is None or not self.joins(row):
                continue
            if self.place(self.links[row - 1][0]) == self.place(self.links[row][0]):
                raise self.fault("relations in a row with one subject to be joined by 'and'", 0)

    def _check_turns(self) -> None:
        """Refuse a sentence "There is …" for an object that the next relation could have introduced."""
        introduced = None
        for reference in self.trail:
            if isinstance(reference, int):
                introduced = ~reference if reference < 0 else None
            elif self.place(reference) == introduced:
                raise self.fault("an object that a relation takes up next to be introduced by it", 0)

    # A list, then sentences about its objects.

    def _descriptions(self, environment: str | None) -> Meaning:
        """`list-then-relate` and `then-attributes`: sentences about objects that were mentioned."""
        described: list[int] = []
        denied: list[int] = []
        while self.words[self.at] != "":
            self._begin()
            subject = self.definite()
            self.take("is")
            if self.relates():
                self.relations(subject, definite=True)
            elif self.links:
                raise self.fault("a relation")
            else:
                if not described and not denied:
                    self._check_bare()
                self._describe(self.place(subject), described, denied)
            self.take(".")
        return self.meaning(environment=environment)

    def _check_bare(self) -> None:
        categories = {thing.category for thing in self.things}
        if None in categories or len(categories) < len(self.things):
            raise self.fault("attributes only of objects that differ in category", 0)
        if any(thing.attributes or thing.without for thing in self.things):
            raise self.fault("a list without attributes before sentences that give them", 0)

    def _describe(self, place: int, described: list[int], denied: list[int]) -> None:
        """Read the attributes of an object, or a denied one. Both come in order of mention, an object's "not" last."""
        thing, lexicon = self.things[place], self.lexicon
        if thing.number != 1:
            raise self.fault("an object that is not counted")
        if self.words[self.at] == "not":
            self.at -= 1
            without = self.denial()
            if without is None or any(kind == without[0] for kind, _ in thing.attributes):
                raise self.fault("a value of a kind that the object was not given")
            pairs, order = thing.attributes, denied
        else:
            pairs, without, order = self._values(), thing.without, described
            if place in denied:
                raise self.fault("'not' after the other attributes of an object")
        if order and order[-1] >= place:
            raise self.fault("attributes in the order of mention, once for each object")
        order.append(place)
        self.things[place] = lexicon.thing(thing.category, pairs, without, 1)

    def _values(self) -> tuple[tuple[str, str], ...]:
        """Read adjectives as a list: "large, red and metal"."""
        pairs, rank, commas, last = [], -1, 0, False
        while True:
            word = self.words[self.at]
            pair = self.lexicon.values.get(word) or self.lexicon.phrases.get(word)
            if pair is None:
                raise self.fault("a value or a relation of this world")
            rank = self.next_rank(pair, rank, self.at)
            pairs.append(pair)
            self.at += 1
            if not last and self.comes(","):
                commas += 1
            elif not last and self.comes("and"):
                last = True
            elif commas and not last:
                raise self.fault("'and' before the last of a list")
            else:
                return tuple(sorted(pairs))

    # Templates with a fixed beginning.

    def _this_photo(self) -> Meaning:
        """`this-photo`: "This is a photo of" a list."""
        self.take("This", "is", "a", "photo", "of")
        self.mentions()
        self.refuse_none()
        environment = self.environment()
        self.take(".")
        return self.meaning(environment=environment)

    def _not_true(self) -> Meaning:
        """`not-true`: "It is not true that there is" a list, and relations between its objects."""
        self.take("It", "is", "not", "true", "that")
        self._there_is_list()
        self.refuse_none()
        more = False
        while self.comes(","):
            more = self._clause_of_denied()
        if self.comes("and"):
            self._clause_of_denied()
        elif more:
            raise self.fault("'and that' before the last clause")
        self.take(".")
        return self.meaning(denied=True)

    def _clause_of_denied(self) -> bool:
        self.take("that")
        subject = self.definite()
        self.take("is")
        self.relation(subject, definite=True)
        return True
