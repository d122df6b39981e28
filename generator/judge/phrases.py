"""The phrases that texts are made of, read from left to right: noun phrases, lists of them, definite phrases, relations."""

from generator.judge.lexicon import COUNTS, ORDINALS, Lexicon, UnreadableError, article_of
from generator.judge.meaning import Link, Pair, Said, Thing

Key = tuple[str | None, Pair | int | None]
"""What a definite phrase says: a category, and the value or the place that tells it from others of the category."""

Taken = tuple[Key, int]
"""A definite phrase, and how many things had been mentioned before it."""

Reference = int | Taken
"""A thing of a relation: the place of a new mention, or a definite phrase."""

_MISSING = "\0"  # no category


class Reader:
    """A text that is being read: its words, the place reached, and what has been said so far.

    `words` end in empty ones, so that a look ahead always finds some.
    """

    def __init__(self, text: str, words: list[str], lexicon: Lexicon):
        self.text, self.lexicon = text, lexicon
        self.words = [*words, "", "", "", "", "", "", ""]
        self.at = 0
        self.things: list[Thing] = []
        self.links: list[tuple[Reference, str, Reference, bool]] = []
        self.keys: dict[Key, int] = {}

    def fault(self, expected: str, at: int | None = None) -> UnreadableError:
        """The error of a text that goes on otherwise than expected."""
        at = self.at if at is None else at
        got = " ".join(self.words[at : at + 4]).strip()
        return UnreadableError(f"'{self.text}': expected {expected}, got {repr(got) if got else 'the end'}")

    def take(self, *expected: str) -> None:
        """Go past words that have to come here."""
        for word in expected:
            if self.words[self.at] != word:
                raise self.fault(f"'{word}'")
            self.at += 1

    def comes(self, word: str) -> bool:
        """Go past a word if it comes here."""
        if self.words[self.at] != word:
            return False
        self.at += 1
        return True

    # Noun phrases.

    def mention(self, article: bool = True, joined: bool = False) -> int:
        """Read a noun phrase, note the thing, and return its place among the mentions.

        With `article` it has one, or a number; with `joined` its adjectives are joined by "and".
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
        """The values from a place on, in the family's order, and the place of the noun after them."""
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
        """The values said after a noun, in the family's order, joined by "and"."""
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
        """The rank of a value's kind, which has to be above the rank of the one before."""
        found = self.lexicon.rank.get(pair[0], -1)
        if found <= rank:
            raise self.fault("one value of a kind, the kinds in the family's order", at)
        return found

    def denial(self, bare: bool = False) -> Pair | None:
        """Read "is not VALUE" or "is not a NOUN" (with `bare` also without article); None where it says something else."""
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
        """Read what follows the first noun phrase of a list."""
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
        """Read a definite phrase, or a noun phrase of a new mention that can stand in a relation."""
        if self.words[self.at] == "the":
            return self.definite()
        if self.words[self.at] in COUNTS:
            raise self.fault("an object that is not counted")
        return self.mention()

    def relates(self) -> bool:
        """Whether a relation comes here."""
        words, relations = self.words, self.lexicon.relations
        return words[self.at] in relations or (words[self.at] == "not" and words[self.at + 1] in relations)

    def relation(self, subject: Reference, definite: bool = False) -> None:
        """Read ["not"] relation and object."""
        holds = not self.comes("not")
        name = self.lexicon.relations.get(self.words[self.at])
        if name is None:
            raise self.fault("a relation of this world")
        self.at += 1
        self.links.append((subject, name, self.definite() if definite else self.thing(), holds))

    def relations(self, subject: Reference, definite: bool = False) -> None:
        """Read relations of a subject, joined by "and"."""
        self.relation(subject, definite)
        while self.words[self.at] == "and":
            joint = self.at
            self.at += 1
            self.relation(subject, definite)
            if not self.joins(len(self.links) - 1):
                raise self.fault(
                    "a new sentence after 'that is not …', and between 'not' and a relation that holds", joint
                )

    def joins(self, place: int) -> bool:
        """Whether a relation can be joined to the one before it, if they share their subject.

        Not to one that ends in "that is not …", nor, where it holds, to a denied one: "not behind a cone and in front of a
        cube" would have two readings.
        """
        _, _, thing, held = self.links[place - 1]
        if isinstance(thing, int) and self.things[thing].without is not None:
            return False
        return held or not self.links[place][3]

    # What it all says.

    def environment(self) -> str | None:
        """Read the phrase of an environment, if it comes here."""
        name = self.lexicon.environments.get(self.words[self.at])
        if name is not None:
            self.at += 1
        return name

    def refuse_none(self) -> None:
        """Refuse "no …" in a template that has no counts of none."""
        if any(thing.number == 0 for thing in self.things):
            raise self.fault("no counts of none in this template")

    def end(self) -> None:
        """Make sure that the text ends here."""
        if self.words[self.at] != "":
            raise self.fault("the end")

    def said(self, denied: bool = False, environment: str | None = None) -> Said:
        """What was read, its definite phrases resolved."""
        self.end()
        return Said(tuple(self.things), self._resolved() if self.links else (), denied, environment)

    def _resolved(self) -> tuple[Link, ...]:
        links = tuple(
            (self.place(subject), name, self.place(thing), holds) for subject, name, thing, holds in self.links
        )
        if len({link[:3] for link in links}) < len(links):
            raise UnreadableError(f"'{self.text}': expected each relation of two objects once")
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
        """The mention that a reference means; to be asked when all things are mentioned."""
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
    """The definite phrase of each mention: its category alone, else with a value that no other has, else its place."""
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
