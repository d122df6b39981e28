"""Generalised zero-shot classification: a label against distractors and hard negatives (Pearson et al. 2025)."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Item, Language, Subject, Text
from generator.describe.protocols.binary import related_pair, tested_pair
from generator.language.form import Form, Link, Mention

_DISTRACTORS, _TRIES = 2, 200
STYLE = "photo"


class Gzsl:
    """`two-object`: a label of the image, the other object's value on its category (named after the tested kind, such
    as `color`), its value on the other category (`shape`), and two distractors; `relational`: the truth, the relation flipped, the ends exchanged, and two
    distractors. A distractor is false of the image and of the truth's own familiarity; the prompt is "a photo of …".
    """

    name = "gzsl"

    def __init__(self, language: Language):
        self._language = language

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The items of a scene."""
        for kind, make in (("two-object", self._two_object), ("relational", self._relational)):
            yield from self._language.kept(f"{self.name} {kind}", make(subject, stream))

    def _two_object(self, subject: Subject, stream: Stream) -> Item | None:
        language, kind, facts = self._language, self._language.holdout.kind, subject.facts
        pair = tested_pair(subject, kind, stream)
        if pair is None:
            return None
        target, other = pair if stream.below(2) else pair[::-1]
        value, category = facts.values[target][kind], facts.categories[target]
        hard = {
            kind: _label(kind, facts.values[other][kind], category),
            language.vocabulary.category: _label(kind, value, facts.categories[other]),
        }
        values, categories = language.foils.values_like(kind, value), language.foils.categories_like(category)
        caption = _label(kind, value, category)
        drawn = self._distractors(
            caption, [*hard.values()], subject,
            lambda: _label(kind, values[stream.below(len(values))], categories[stream.below(len(categories))]),
        )  # fmt: skip
        return self._item("two-object", "attribute", caption, hard, drawn, subject)

    def _relational(self, subject: Subject, stream: Stream) -> Item | None:
        language = self._language
        caption = related_pair(language, subject, stream, directed=True)
        if caption is None:
            return None
        relation = caption.relations[0].relation
        relations = sorted({relation, language.vocabulary.relations[relation].opposite})
        hard = {
            "flip": language.foils.flipped(caption, 0).form,
            "order": replace(caption, objects=caption.objects[::-1]),
        }
        sides = [language.foils.categories_like(str(mention.category)) for mention in caption.objects]

        def draw() -> Form:
            ends = [names[stream.below(len(names))] for names in sides]
            return Form(tuple(Mention(name) for name in ends), (Link(0, relations[stream.below(2)], 1),))

        drawn = self._distractors(caption, [*hard.values()], subject, draw)
        return self._item("relational", "relation", caption, hard, drawn, subject)

    def _distractors(
        self, caption: Form, others: list[Form], subject: Subject, draw: Callable[[], Form]
    ) -> list[Form] | None:
        drawn: list[Form] = []
        for _ in range(_TRIES):
            form = draw()
            alike = len({mention.category for mention in form.objects}) < len(form.objects)
            if not alike and form not in (caption, *others, *drawn) and self._language.admits(caption, form, subject):
                drawn.append(form)
                if len(drawn) == _DISTRACTORS:
                    return drawn
        return None

    def _item(
        self, kind: str, skill: str, caption: Form, hard: dict[str, Form], drawn: list[Form] | None, subject: Subject
    ) -> Item | None:
        if drawn is None or not all(self._language.admits(caption, form, subject) for form in hard.values()):
            return None
        text = Text(caption, STYLE)
        candidates = [Candidate(text, "c", True)]
        for name, form in [*hard.items(), *(("distractor", form) for form in drawn)]:
            candidates.append(Candidate(Text(form, STYLE), "n", False, name, (name,), text))
        return Item(self.name, kind, skill, tuple(candidates))


def _label(kind: str, value: str, category: str) -> Form:
    return Form((Mention(category, ((kind, value),)),))
