"""Zero-shot and generalised zero-shot items over class lists, as published (Pearson et al. 2025, section 3)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from generator.dataset.streams import Stream
from generator.describe.items import Candidate, Item, Language, Subject, Text
from generator.describe.protocols.gzsl import STYLE
from generator.holdout.class_lists import ClassRule, list_of
from generator.holdout.holdout import Binding, Triple
from generator.language.form import Form, Link, Mention

_DISTRACTORS = 2


class ClassGzsl:
    """`single`: the label against all others of every list; `two-object`: the label that names the target, two distractors of
    the split's own list, and the other object's value on the target's category and the other way round; `relational`: the label,
    two distractors of the list, the relation flipped, the ends exchanged. No distractor is true of the image, in any
    phrasing, or a hard negative. The label is what the image was made for; training captions are labels as well.
    """

    name = "gzsl"

    def __init__(self, language: Language, rule: ClassRule):
        self._language, self._rule, self._task = language, rule, str(rule.holdout.task)
        self._kind = rule.holdout.kind

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The item of a scene."""
        named = subject.named or tuple(stream.shuffled(range(len(subject.facts))))
        make = {"single": self._single, "two-object": self._two_object, "relational": self._relational}[self._task]
        yield from self._language.kept(f"{self.name} {self._task}", make(subject, named, stream))

    def caption(self, subject: Subject, named: Sequence[int]) -> Form | None:
        """The label of a scene whose objects it names in this order; None where the scene has none of the lists."""
        things = [subject.facts.categories[i] for i in named]
        if self._task != "relational":
            return _bound(self._kind, (subject.facts.values[named[0]][self._kind], things[0]))
        labels = self._rule.related_labels(list_of(subject.split))
        for relation in self._language.vocabulary.relations:
            if (things[0], relation, things[-1]) in labels and subject.facts.holds[relation][named[0]][named[-1]]:
                return _related((things[0], relation, things[-1]))
        return None

    def _single(self, subject: Subject, named: Sequence[int], stream: Stream) -> Item | None:
        caption = self.caption(subject, named)
        every = [_bound(self._kind, each.bindings[0]) for each in self._rule.holdout.classes]
        return self._item(caption, [("label", form) for form in every if form != caption], subject)

    def _two_object(self, subject: Subject, named: Sequence[int], stream: Stream) -> Item | None:
        kind, facts = self._kind, subject.facts
        own, other = ((facts.values[i][kind], facts.categories[i]) for i in named)
        hard = [(kind, (other[0], own[1])), (self._rule.holdout.category, (own[0], other[1]))]
        taken = [own, other, *(binding for _, binding in hard)]
        listed = [each.bindings[0] for each in self._rule.holdout.classes if each.split == list_of(subject.split)]
        drawn: list[Binding] = stream.shuffled([binding for binding in listed if binding not in taken])[:_DISTRACTORS]
        if len(drawn) < _DISTRACTORS:
            return None
        foils = [(name, _bound(kind, binding)) for name, binding in [*hard, *(("distractor", each) for each in drawn)]]
        return self._item(self.caption(subject, named), foils, subject)

    def _relational(self, subject: Subject, named: Sequence[int], stream: Stream) -> Item | None:
        caption = self.caption(subject, named) or self.caption(subject, named[::-1])
        if caption is None:
            return None
        flipped = self._language.foils.flipped(caption, 0).form
        hard = [("flip", flipped), ("order", replace(caption, objects=caption.objects[::-1]))]
        others = [_related(label) for label in self._rule.related_labels(list_of(subject.split))]
        free = [
            form for form in others if form not in (caption, hard[0][1], hard[1][1]) and subject.decide(form) is False
        ]
        drawn = stream.shuffled(free)[:_DISTRACTORS]
        if len(drawn) < _DISTRACTORS:
            return None
        return self._item(caption, [*hard, *(("distractor", form) for form in drawn)], subject)

    def _item(self, caption: Form | None, foils: Sequence[tuple[str, Form]], subject: Subject) -> Item | None:
        if (
            caption is None
            or subject.decide(caption) is not True
            or any(subject.decide(form) is not False for _, form in foils)
        ):
            return None
        text = Text(caption, STYLE)
        candidates = [Candidate(text, "c", True)]
        candidates += [Candidate(Text(form, STYLE), "n", False, name, (name,), text) for name, form in foils]
        return Item(self.name, self._task, "relation" if self._task == "relational" else "attribute", tuple(candidates))


class Labels:
    """Training captions of class lists: the label of each image, in the words of the test prompts."""

    name = "train"

    def __init__(self, asker: ClassGzsl):
        self._asker = asker

    def ask(self, subject: Subject, stream: Stream) -> Iterator[Item]:
        """The training example of a scene."""
        named = subject.named or tuple(stream.shuffled(range(len(subject.facts))))
        caption = self._asker.caption(subject, named) or self._asker.caption(subject, named[::-1])
        if caption is not None:
            yield Item(self.name, "caption", None, (Candidate(Text(caption, STYLE), "c", True),))


def _bound(kind: str, binding: Binding) -> Form:
    return Form((Mention(binding[1], ((kind, binding[0]),)),))


def _related(triple: Triple) -> Form:
    return Form((Mention(triple[0]), Mention(triple[2])), (Link(0, triple[1], 1),))
