"""Minimal and contextual captions of the same scene, so that the effect of naming the environment is a paired difference."""

from collections.abc import Iterator
from dataclasses import replace

from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Item, Language, Subject, Text
from generator.describe.protocols.binary import bound, tested_pair


class Context:
    """A caption and its attribute swap (slots c, n), and the same two with the environment said (slot context)."""

    name = "context"

    def __init__(self, language: Language):
        self._language = language

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The item of a scene."""
        return self._language.kept(self.name, self._make(subject, stream))

    def _make(self, subject: Subject, stream: Stream) -> Item | None:
        language, kind, where = self._language, self._language.holdout.kind, subject.facts.environment
        pair = tested_pair(subject, kind, stream)
        if pair is None:
            return None
        caption = bound(subject, pair if stream.below(2) else pair[::-1], (kind,))
        foil = language.foils.exchanged(caption, kind)
        longer = [replace(form, environment=where) for form in (caption, foil.form)]
        style = language.style([caption, foil.form, *longer], stream, ("a-and-a", "there-is", "this-photo"))
        admitted = all(language.admits(caption, form, subject) for form in (foil.form, longer[1]))
        if style is None or not admitted:
            return None
        c, n, true, false = (Text(form, style) for form in (caption, foil.form, *longer))
        return Item(
            self.name, "environment", "attribute",
            (
                Candidate(c, "c", True),
                Candidate(n, "n", False, foil.kind, foil.changed, c),
                Candidate(true, "context", True),
                Candidate(false, "context", False, foil.kind, foil.changed, true),
            ),
        )  # fmt: skip
