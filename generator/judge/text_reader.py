"""Reads the meaning of a text from its words. Independent of the grammar that writes texts (docs/language.md)."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from generator.judge.lexicon import COUNTS, IN_IMAGE, ORDINALS, Lexicon, UnreadableError, article_of
from generator.judge.meaning import Link, Meaning, Pair, Thing


def read_text(text: str, lexicon: Lexicon) -> Meaning:
    """The meaning of a text. Raises UnreadableError if the grammar does not allow it or if it has two readings."""
    found: Meaning | None = None
    fault: UnreadableError | None = None
    for words in lexicon.divide(text):
        reader = SentenceReader if words[-1] == "." else FragmentReader
        for read in _ways(words):
            try:
                meaning = read(reader(text, words, lexicon))
            except UnreadableError as error:
                fault = fault or error.with_traceback(None)  # which would hold this frame, and the frame it
                continue
            if found is not None and meaning != found:
                raise UnreadableError(f"'{text}': expected one reading, got two")
            found = meaning
    if found is None:
        raise fault or UnreadableError(f"'{text}': expected a text")
    return found


def _ways(words: list[str]) -> tuple[Callable[[Any], Meaning], ...]:
    """The ways of reading to try, by how the text begins and ends."""
    if words[-1] == ".":
        return (SentenceReader.sentences,)
    if words[0] in ("a", "an", "no"):
        photo = words[1:3] == ["photo", "of"]
        return (FragmentReader.photo, FragmentReader.phrases) if photo else (FragmentReader.phrases,)
    spare = (FragmentReader.spare, FragmentReader.crepe)
    return (FragmentReader.phrases, *spare) if words[0] in COUNTS else spare


Key = tuple[str | None, Pair | int | None]
"""A definite phrase: a category, and the value or ordinal that tells it from others of that category."""

Taken = tuple[Key, int]
"""A definite phrase, and how many objects were mentioned before it."""

Reference = int | Taken
"""An end of a relation: the index of a new mention, or a definite phrase."""

_MISSING = "\0"  # no category


class Reader:
    """A text being read: its words, the current position `at`, and what was read so far.

    `words` end in empty ones, so that looking ahead never runs out. `things`: mentions so far. `links`: relations so
    far. `named`: those of them that are joined to the one before and name their object.
    """

    def __init__(self, text: str, words: list[str], lexicon: Lexicon):
        self.text, self.lexicon = text, lexicon
        self.words = [*words, "", "", "", "", "", "", ""]
        self.at = 0
        self.things: list[Thing] = []
        self.links: list[tuple[Reference, str, Reference, bool]] = []
        self.named: list[int] = []
        self.keys: dict[Key, int] = {}

    def fault(self, expected: str, at: int | None = None) -> UnreadableError:
        """The error for an unexpected word at a position."""
        at = self.at if at is None else at
        got = " ".join(self.words[at : at + 4]).strip()
        return UnreadableError(f"'{self.text}': expected {expected}, got {repr(got) if got else 'the end'}")

    def take(self, *expected: str) -> None:
        """Read words that must come here."""
        for word in expected:
            if self.words[self.at] != word:
                raise self.fault(f"'{word}'")
            self.at += 1

    def comes(self, word: str) -> bool:
        """Read a word if it comes here; returns whether it did."""
        if self.words[self.at] != word:
            return False
        self.at += 1
        return True

    # Noun phrases.

    def mention(self, article: bool = True, joined: bool = False) -> int:
        """Read a noun phrase; returns the index of the new mention.

        `article`: it begins with an article or a number. `joined`: "and" joins its adjectives.
        """
        words, at, count = self.words, self.at, 1
        if (number := COUNTS.get(words[at])) is not None:
            count, at = number, at + 1
        elif article:
            if words[at] not in ("a", "an"):
                raise self.fault("'a', 'an', 'no' or a number")
            at += 1
        nouns = self.lexicon.plurals if count > 1 else self.lexicon.nouns
        pairs, end = self._adjectives(at, nouns, joined)
        category = nouns.get(words[end], _MISSING)
        if category == _MISSING:
            raise self.fault("the plural of an object" if count > 1 else "an object of this world", end)
        if article and count == 1:
            allowed = self.lexicon.articles.get(words[at]) or (article_of(words[at]),)
            if words[at - 1] not in allowed:
                raise self.fault(f"'{allowed[0]} {words[at]}'", at - 1)
        self.at = end + 1
        if words[self.at] in self.lexicon.phrases:
            pairs += self._after_noun()
            end = self.at - 1
        without = None
        if words[end + 1] == "that" and words[end + 2] == "is":
            self.at += 1
            without = self.denial(bare=not article or joined)
            if without is None:
                self.at = end + 1
            elif count != 1 or any(kind == without[0] for kind, _ in pairs):
                raise self.fault("nothing denied of what is counted or has a value of that kind", end + 1)
        if len(pairs) > 1:
            pairs.sort()
        self.things.append(self.lexicon.thing(category, tuple(pairs), without, count))
        return len(self.things) - 1

    def _adjectives(self, at: int, nouns: dict[str, str | None], joined: bool) -> tuple[list[Pair], int]:
        """Read adjectives from a position on, in the family's order; returns their values and the noun's position."""
        words, values = self.words, self.lexicon.values
        pairs: list[Pair] = []
        rank = -1
        while (pair := values.get(words[at])) is not None:
            after = words[at + 1]
            if words[at] in nouns and not (after in nouns or after in values or (joined and after == "and")):
                break
            rank = self.next_rank(pair, rank, at)
            pairs.append(pair)
            at += 1
            if joined and after in values and after not in nouns:
                raise self.fault("'and' between adjectives", at)
            if joined and after == "and" and words[at + 1] in values:
                at += 1
        return pairs, at

    def _after_noun(self) -> list[Pair]:
        """Read the phrases after a noun, in the family's order, joined by "and"; returns their values."""
        words, phrases = self.words, self.lexicon.phrases
        pairs: list[Pair] = []
        rank = -1
        while True:
            pair = phrases[words[self.at]]
            rank = self.next_rank(pair, rank, self.at)
            pairs.append(pair)
            self.at += 1
            if words[self.at] != "and" or words[self.at + 1] not in phrases:
                return pairs
            self.at += 1

    def next_rank(self, pair: Pair, rank: int, at: int) -> int:
        """The rank of a value's kind, which must be above the previous `rank`."""
        found = self.lexicon.rank.get(pair[0], -1)
        if found <= rank:
            raise self.fault("one value of a kind, the kinds in the family's order", at)
        return found

    def denial(self, bare: bool = False) -> Pair | None:
        """Read "is not VALUE" or "is not a NOUN" (`bare`: the article may be missing); None if something else comes."""
        words, at, lexicon = self.words, self.at + 2, self.lexicon
        if words[at - 1] != "not":
            return None
        pair = lexicon.values.get(words[at]) or lexicon.phrases.get(words[at])
        if pair is not None:
            self.at = at + 1
            return pair
        if words[at] in ("a", "an"):
            at += 1
            if words[at - 1] not in lexicon.articles.get(words[at], ()):
                raise self.fault("a category with its article", at - 1)
        elif not bare:
            return None
        category = lexicon.nouns.get(words[at])
        if category is None:
            return None
        self.at = at + 1
        return lexicon.category, category

    def mentions(self, article: bool = True) -> None:
        """Read a list of noun phrases."""
        self.mention(article)
        self.more_mentions(article)

    def more_mentions(self, article: bool = True) -> None:
        """Read the rest of a list after its first noun phrase."""
        words = self.words
        commas = 0
        while words[self.at] == "," and words[self.at + 1] != "that":
            self.at += 1
            self.mention(article)
            commas += 1
        if words[self.at] == "and" and words[self.at + 1] != "that":
            self.at += 1
            self.mention(article)
        elif commas:
            raise self.fault("'and' before the last of a list")

    # Definite phrases and relations.

    def definite(self) -> Taken:
        """Read a definite phrase."""
        self.take("the")
        words, lexicon = self.words, self.lexicon
        mark: Pair | int | None = ORDINALS.get(words[self.at])
        if mark is None and words[self.at] in lexicon.values and words[self.at + 1] in lexicon.nouns:
            mark = lexicon.values[words[self.at]]
        if mark is not None:
            self.at += 1
        category = lexicon.nouns.get(words[self.at], _MISSING)
        if category == _MISSING:
            raise self.fault("an object that was mentioned")
        self.at += 1
        if mark is None and words[self.at] in lexicon.phrases:
            mark = lexicon.phrases[words[self.at]]
            self.at += 1
        return (category, mark), len(self.things)

    def thing(self) -> Reference:
        """Read an end of a relation: a definite phrase, or a noun phrase of one new object."""
        if self.words[self.at] == "the":
            return self.definite()
        if self.words[self.at] in COUNTS:
            raise self.fault("an object that is not counted")
        return self.mention()

    def relates(self) -> bool:
        """Whether a relation comes here."""
        words, relations = self.words, self.lexicon.relations
        return words[self.at] in relations or (words[self.at] == "not" and words[self.at + 1] in relations)

    def relation(self, subject: Reference, definite: bool = False, joined: bool = False) -> None:
        """Read a relation, with "not" or without, and its object: "it" if that is the one of the relation that it is
        `joined` to."""
        holds = not self.comes("not")
        name = self.lexicon.relations.get(self.words[self.at])
        if name is None:
            raise self.fault("a relation of this world")
        self.at += 1
        if joined and self.comes("it"):
            self.links.append((subject, name, self.links[-1][2], holds))
            return
        if joined:
            self.named.append(len(self.links))
        self.links.append((subject, name, self.definite() if definite else self.thing(), holds))

    def relations(self, subject: Reference, definite: bool = False) -> None:
        """Read relations of a subject as a list: "left of a cube, behind it and near a cone"."""
        self.relation(subject, definite)
        commas, last = 0, False
        while not last and self.words[self.at] in (",", "and"):
            joint = self.at
            last = self.words[joint] == "and"
            commas += not last
            self.at += 1
            self.relation(subject, definite, joined=True)
            if not self.joins(len(self.links) - 1):
                raise self.fault(
                    "a new sentence after 'that is not …', and between 'not' and a relation that holds", joint
                )
        if commas and not last:
            raise self.fault("'and' before the last of a list")

    def joins(self, place: int) -> bool:
        """Whether "and" may join a relation to the one before it if they share their subject.

        Not after "that is not …", and not an asserted relation after a denied one: "not behind a cone and in front
        of a cube" would have two readings.
        """
        _, _, thing, held = self.links[place - 1]
        if isinstance(thing, int) and self.things[thing].without is not None:
            return False
        return held or not self.links[place][3]

    # The whole text.

    def environment(self) -> str | None:
        """Read the phrase of an environment if it comes here; returns its name."""
        name = self.lexicon.environments.get(self.words[self.at])
        if name is not None:
            self.at += 1
        return name

    def refuse_none(self) -> None:
        """Refuse "no …" in a template that does not allow it."""
        if any(thing.number == 0 for thing in self.things):
            raise self.fault("no counts of none in this template")

    def end(self) -> None:
        """Refuse any further words."""
        if self.words[self.at] != "":
            raise self.fault("the end")

    def meaning(self, denied: bool = False, environment: str | None = None) -> Meaning:
        """The meaning of what was read, with definite phrases resolved."""
        self.end()
        return Meaning(tuple(self.things), self._resolved() if self.links else (), denied, environment)

    def _resolved(self) -> tuple[Link, ...]:
        links = tuple(
            (self.place(subject), name, self.place(thing), holds) for subject, name, thing, holds in self.links
        )
        if len({link[:3] for link in links}) < len(links):
            raise UnreadableError(f"'{self.text}': expected each relation of two objects once")
        if any(links[k][2] == links[k - 1][2] for k in self.named):
            raise UnreadableError(f"'{self.text}': expected 'it' for the object of the relation before")
        for subject, _, thing, _ in links:
            if subject == thing:
                raise UnreadableError(
                    f"'{self.text}': expected a relation of two objects, got one of an object to itself"
                )
            if self.things[subject].number != 1 or self.things[thing].number != 1:
                raise UnreadableError(f"'{self.text}': expected a relation of single objects, got one of counted ones")
        if any(thing.number > 1 for thing in self.things):
            raise UnreadableError(f"'{self.text}': expected no count of two or more beside relations")
        return links

    def place(self, reference: Reference) -> int:
        """The index of the mention that a reference means. Call it when all mentions are read."""
        if isinstance(reference, int):
            return reference
        if not self.keys:
            self.keys = definite_keys(self.things, self.lexicon.rank)
        key, known = reference
        place = self.keys.get(key)
        if place is None or place >= known:
            category, mark = key
            told = "" if mark is None else f" told by {mark[1]}" if isinstance(mark, tuple) else f" by place {mark}"
            raise UnreadableError(
                f"'{self.text}': expected a definite phrase to take up one object that was mentioned before, in "
                "the shortest "
                f"way that tells it from the others; got '{category or 'object'}'{told}"
            )
        return place


def definite_keys(things: list[Thing], rank: dict[str, int]) -> dict[Key, int]:
    """The index of each mention by its definite phrase: category, else with a value of its own, else an ordinal."""
    groups: dict[str | None, list[int]] = {}
    for place, thing in enumerate(things):
        groups.setdefault(thing.category, []).append(place)
    keys: dict[Key, int] = {}
    for category, places in groups.items():
        if len(places) == 1:
            keys[category, None] = places[0]
            continue
        values = [pair for place in places for pair in things[place].attributes]
        for n, place in enumerate(places, 1):
            own = [pair for pair in things[place].attributes if values.count(pair) == 1]
            keys[category, min(own, key=lambda pair: rank[pair[0]]) if own else n] = place
    return keys


class FragmentReader(Reader):
    """Reads a fragment in one of four ways, named after templates. More than one way may succeed."""

    def phrases(self) -> Meaning:
        """`a-and-a`: a list of noun phrases; or `that-is`: an object and its relations. An environment may follow."""
        self.mention()
        if self.words[self.at] == "that":
            self.take("that", "is")
            self.refuse_without(1)
            self.relations(0)
            if any(link[2] != place for place, link in enumerate(self.links, 1)):
                raise self.fault("new objects in the relations, each once")
        else:
            self.more_mentions()
        return self.meaning(environment=self.environment())

    def photo(self) -> Meaning:
        """`photo`: "a photo of" a list of noun phrases, or of an object and its relation to another."""
        self.take("a", "photo", "of")
        self.mention()
        if self.words[self.at] in self.lexicon.relations:
            self.relation(0)
            if self.links[0][2] != 1:
                raise self.fault("a new object in the relation")
        else:
            self.more_mentions()
        self.refuse_without(len(self.things) - 1)
        self.refuse_none()
        return self.meaning()

    def spare(self) -> Meaning:
        """`spare`: a list of noun phrases without articles."""
        self.mentions(article=False)
        self.refuse_none()
        return self.meaning()

    def crepe(self) -> Meaning:
        """`crepe`: adjectives joined by "and", objects by "and" with an article after it, or by one relation of two."""
        self.mention(article=False, joined=True)
        name = self.lexicon.relations.get(self.words[self.at])
        if name is not None:
            self.refuse_without(1)
            self.at += 1
            self.links.append((0, name, self.mention(article=False, joined=True), True))
        else:
            while self.comes("and"):
                self.mention(joined=True)
        self.refuse_none()
        return self.meaning()

    def refuse_without(self, n: int) -> None:
        """Refuse "that is not …" in any of the first `n` mentions: only the last may have it."""
        if any(thing.without is not None for thing in self.things[:n]):
            raise self.fault("'that is not …' of the last object only")


_CAPITALS = {"There": "there", "A": "a", "An": "an", "The": "the"}


class SentenceReader(Reader):
    """Reads sentences. The way they continue shows which template they follow.

    `trail`: mentions in order: the index of a new mention, ~index for one that has its own sentence "There is …",
    and the definite phrase of one that is taken up again. `rows`: the index of each sentence's first relation; None
    if it has none.
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
