"""Two images, two captions (protocols.md, section 6): a scene and its twin, each with the caption that is true of it alone."""

from collections.abc import Iterator
from dataclasses import replace

from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Item, Language, Subject, Text
from generator.describe.protocols.binary import bound
from generator.language.foils import Foil
from generator.language.form import Form, Link

STYLES = ("a-and-a", "that-is", "photo", "there-is", "clauses")


class Pairs:
    """Minimal pairs. `attribute`: two objects have exchanged a value, and so have the captions; `relation`: they have
    exchanged their places, and in the captions their places in the relation.

    Both captions have the same words. `otherwise` is the template of captions that the language's own cannot say.
    """

    name = "pairs"

    def __init__(self, language: Language, otherwise: str | None = None):
        self._language, self._otherwise = language, otherwise

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The item of a twin and its scene; none of any other scene."""
        if subject.twin is None:
            return
        told = self._told(subject, subject.twin)
        if told is None:
            self._language.dropped[self.name] += 1
            return
        kind, things = told
        made = self._make(kind, things, (subject, subject.twin), stream)
        yield from self._language.kept(f"{self.name} {'attribute' if kind else 'relation'}", made)

    def _told(self, subject: Subject, twin: Subject) -> tuple[str | None, tuple[int, int]] | None:
        """The attribute kind whose values two objects have exchanged, None for their places; and the objects."""
        here, there = subject.facts, twin.facts
        things = [
            i for i in range(len(here))
            if (here.categories[i], here.values[i]) != (there.categories[i], there.values[i])
        ]  # fmt: skip
        if subject.split != twin.split or len(things) != 2 or not set(things) <= set(subject.lone):
            return None
        i, j = things
        if here.categories[i] != there.categories[i]:
            return None, (i, j)
        kinds = [kind for kind, value in here.values[i].items() if value != there.values[i][kind]]
        return (kinds[0], (i, j)) if len(kinds) == 1 else None

    def _make(
        self, kind: str | None, things: tuple[int, int], both: tuple[Subject, Subject], stream: Stream
    ) -> Item | None:
        subject = both[0]
        order = things if stream.below(2) else things[::-1]
        form = self._caption(kind, subject, order, stream) if subject.suits(things) else None
        if form is None:
            return None
        other = self._changed(form, kind)
        back = self._changed(other.form, kind)
        style = self._language.style([form, other.form], stream, STYLES) or self._otherwise
        if style is None or not self._tells(form, other.form, both):
            return None
        texts = Text(form, style), Text(other.form, style)
        pairs = [(texts[0], texts[1], back, False), (texts[1], texts[0], other, True)]
        candidates = [
            candidate
            for slot, (own, wrong, foil, of_twin) in enumerate(stream.shuffled(pairs))
            for candidate in (
                Candidate(own, str(slot), True, of_twin=of_twin),
                Candidate(own, str(slot), False, changed=foil.changed, of=wrong, of_twin=not of_twin),
            )
        ]
        skill = "attribute" if kind else "relation"
        return Item(self.name, skill, skill, tuple(candidates))

    def _caption(self, kind: str | None, subject: Subject, things: tuple[int, int], stream: Stream) -> Form | None:
        """Two objects with their values of a kind; or in a relation in which the first stands to the second, and the
        second not to the first."""
        if kind:
            return bound(subject, things, (kind,))
        (i, j), holds = things, subject.facts.holds
        names = [
            name for name in self._language.vocabulary.relations if holds[name][i][j] and holds[name][j][i] is False
        ]
        if not names:
            return None
        return replace(bound(subject, things, ()), relations=(Link(0, names[stream.below(len(names))], 1),))

    def _changed(self, form: Form, kind: str | None) -> Foil:
        return self._language.foils.exchanged(form, kind) if kind else self._language.foils.turned(form, 0)

    def _tells(self, form: Form, other: Form, both: tuple[Subject, Subject]) -> bool:
        """Whether each of the captions is true of its own scene and false of the other."""
        subject, twin = both
        admitted = self._language.admits(form, other, subject) and self._language.admits(other, form, twin)
        return admitted and twin.decide(other) is True
