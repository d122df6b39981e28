"""Retrieval over the grid: a scene's two captions against every caption of the world's two-object grid."""

from collections.abc import Iterator

from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Item, Language, Subject, Text
from generator.describe.protocols.binary import bound
from generator.holdout.membership import arrangements
from generator.language.form import Form, Mention

POOL = "grid"
STYLE = "a-and-a"


class Retrieval:
    """For scenes of two objects of different values: both orders of mention are true (R@1, protocols.md, section 1)."""

    name = "retrieval"

    def __init__(self, language: Language):
        self._language = language

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The item of a scene."""
        kind, values = self._language.holdout.kind, subject.facts.values
        if len(values) != 2 or values[0][kind] == values[1][kind]:  # the grid has no such caption
            self._language.dropped[self.name] += 1
            return
        forms = [bound(subject, things, (kind,)) for things in ((0, 1), (1, 0))]
        candidates = tuple(Candidate(Text(form, STYLE), "c", True) for form in forms)
        yield Item(self.name, POOL, "attribute", candidates, POOL)

    def pool(self) -> Iterator[Text]:
        """Every caption of the grid, in both orders."""
        kind = self._language.holdout.kind
        for arrangement in arrangements(self._language.vocabulary, kind):
            yield Text(Form(tuple(Mention(thing, ((kind, value),)) for value, thing in arrangement)), STYLE)
