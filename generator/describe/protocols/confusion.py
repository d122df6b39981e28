"""Confusion sets: the truth against every assignment of its values and categories to its slots (Auto-Comp, 2026)."""

from collections.abc import Iterator
from itertools import product

from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Item, Language, Subject, Text
from generator.describe.protocols.binary import bound, tested_pair
from generator.language.form import Form, Mention


class Confusion:
    """Two objects' values and categories in all 16 assignments to the four slots, repeats included; two are true.

    A false one's kind says which slots repeat: "none", "attribute", "category" or "both".
    """

    name = "confusion"

    def __init__(self, language: Language):
        self._language = language

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The item of a scene."""
        return self._language.kept(self.name, self._make(subject, stream))

    def _make(self, subject: Subject, stream: Stream) -> Item | None:
        language, kind = self._language, self._language.holdout.kind
        pair = tested_pair(subject, kind, stream)
        if pair is None:
            return None
        true = bound(subject, pair, (kind,))
        values = [mention.values[kind] for mention in true.objects]
        categories = [mention.category for mention in true.objects]
        forms = [
            Form((Mention(one, ((kind, a),)), Mention(other, ((kind, b),))))
            for a, b in product(values, repeat=2)
            for one, other in product(categories, repeat=2)
        ]
        turned = Form(true.objects[::-1])
        style = language.style(forms, stream, ("a-and-a", "there-is", "there-is-each"))
        if style is None or not all(form in (true, turned) or language.admits(true, form, subject) for form in forms):
            return None
        caption = Text(true, style)
        candidates = [Candidate(caption, "c", True), Candidate(Text(turned, style), "c", True)]
        for form in forms:
            if form not in (true, turned):
                candidates.append(
                    Candidate(Text(form, style), "n", False, _pattern(form), self._changes(true, form), caption)
                )
        return Item(self.name, "assignments", "attribute", tuple(candidates))

    def _changes(self, true: Form, form: Form) -> tuple[str, ...]:
        kind, category = self._language.holdout.kind, self._language.vocabulary.category
        found = []
        for i, (old, new) in enumerate(zip(true.objects, form.objects, strict=True)):
            if old.values[kind] != new.values[kind]:
                found.append(f"{i}:{kind}:{old.values[kind]}>{new.values[kind]}")
            if old.category != new.category:
                found.append(f"{i}:{category}:{old.category}>{new.category}")
        return tuple(found)


def _pattern(form: Form) -> str:
    first, second = form.objects
    repeats = (first.attributes == second.attributes, first.category == second.category)
    return {(False, False): "none", (True, False): "attribute", (False, True): "category", (True, True): "both"}[
        repeats
    ]
