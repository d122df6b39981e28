"""Reads fragments, texts without a capital and a full stop: lists of noun phrases, and an object with its relations."""

from generator.judge.meaning import Meaning
from generator.judge.phrase_reader import Reader


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
