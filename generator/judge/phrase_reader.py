"""Reads the phrases of texts from left to right: noun phrases, lists, definite phrases, relations."""

from generator.judge.lexicon import COUNTS, ORDINALS, Lexicon, UnreadableError, article_of
from generator.judge.meaning import Link, Meaning, Pair, Thing

Key = tuple[str | None, Pair | int | None]
"""A definite phrase: a category, and the value or ordinal that tells it from others of that category."""

Taken = tuple[Key, int]
"""A definite phrase, and how many objects were mentioned before it."""

Reference = int | Taken
"""An end of a relation: the index of a new mention, or a definite phrase."""

_MISSING = "\0"  # no category


class Reader:
    """A text being read: its words, the current position `at`, and what was read so far.

    `words` end in empty ones, so that looking ahead never runs out. `things`: mentions so far. `links`: relations so far. `named`:
    those of them that are joined to the one before and name their object.
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
        """Read a relation, with "not" or without, and its object: "it" if that is the one of the relation that it is `joined` to."""
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

        Not after "that is not …", and not an asserted relation after a denied one: "not behind a cone and in front of a cube"
        would have two readings.
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
                f"'{self.text}': expected a definite phrase to take up one object that was mentioned before, in the shortest "
                f"way that tells it from the others; got '{category or 'object'}'{told}"
            )
        return place


def definite_keys(things: list[Thing], rank: dict[str, int]) -> dict[Key, int]:
    """The index of each mention by its definite phrase: category alone, else with a value of its own, else an ordinal."""
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
