"""Generalised zero-shot classification: a label against distractors and hard negatives (Pearson et al. 2025)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from generator.base.streams import Stream
from generator.describe.captioner import Captioner
from generator.describe.captions import draw_related_pair, draw_tested_pair
from generator.describe.described_scene import DescribedScene
from generator.describe.items import Item
from generator.describe.protocols.class_labels import N_DISTRACTORS, ClassLabels, label_item
from generator.describe.protocols.protocol import Protocol
from generator.language.form import Form, Link, Mention

_TRIES = 200


class Gzsl(Protocol):
    """Items of a label (slot c) and wrong labels (slot n) in the words "a photo of …".

    The labels come from the holdout's class lists if it has some, else they are drawn for each scene.
    """

    name = "gzsl"
    kinds = ("single", "two-object", "three-object", "relational")

    def __init__(self, captioner: Captioner):
        super().__init__(captioner)
        self._labels = ClassLabels(captioner) if captioner.holdout.classes else DrawnLabels(captioner)

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        for kind, item in self._labels.make(scene, stream).items():
            yield from self.captioner.item_or_drop(f"{self.name} {kind}", item)


class DrawnLabels:
    """Labels drawn for each scene.

    `two-object`: a label of one object; the other object's value on its category (a negative named after the tested
    kind, such as `color`), its value on the other category (`shape`), and two distractors. `relational`: two related
    objects; the flipped relation, the exchanged ends, and two distractors; for the zero-shot question two labels that may
    also be hard negatives. A distractor is false of the image and as familiar as the truth.
    """

    def __init__(self, captioner: Captioner):
        self._captioner = captioner

    def make(self, scene: DescribedScene, stream: Stream) -> Mapping[str, Item | None]:
        """The items of a scene by kind; None for those that cannot be made."""
        return {"two-object": self._two_object(scene, stream), "relational": self._relational(scene, stream)}

    def _two_object(self, scene: DescribedScene, stream: Stream) -> Item | None:
        captioner, kind, facts = self._captioner, self._captioner.holdout.kind, scene.facts
        pair = draw_tested_pair(scene, kind, stream)
        if pair is None:
            return None
        target, other = pair if stream.below(2) else pair[::-1]
        value, category = facts.values[target][kind], facts.categories[target]
        hard = {
            kind: _label(kind, facts.values[other][kind], category),
            captioner.vocabulary.category: _label(kind, value, facts.categories[other]),
        }
        values, categories = captioner.substitutes.values(kind, value), captioner.substitutes.categories(category)

        def draw() -> Form:
            return _label(kind, values[stream.below(len(values))], categories[stream.below(len(categories))])

        return self._item("two-object", "attribute", _label(kind, value, category), hard, draw, scene)

    def _relational(self, scene: DescribedScene, stream: Stream) -> Item | None:
        captioner = self._captioner
        caption = draw_related_pair(captioner, scene, stream, directed=True)
        if caption is None:
            return None
        relation = caption.relations[0].relation
        relations = sorted({relation, captioner.vocabulary.relations[relation].opposite})
        hard = {
            "flip": captioner.foils.flip_relation(caption, 0).form,
            "order": replace(caption, objects=caption.objects[::-1]),
        }
        categories = [captioner.substitutes.categories(str(mention.category)) for mention in caption.objects]

        def draw() -> Form:
            ends = [names[stream.below(len(names))] for names in categories]
            return Form(tuple(Mention(name) for name in ends), (Link(0, relations[stream.below(2)], 1),))

        zero_shot = self._distractors(caption, [], scene, draw)
        return self._item("relational", "relation", caption, hard, draw, scene, zero_shot) if zero_shot else None

    def _item(
        self,
        kind: str,
        skill: str,
        caption: Form,
        hard: Mapping[str, Form],
        draw: Callable[[], Form],
        scene: DescribedScene,
        zero_shot: Sequence[Form] = (),
    ) -> Item | None:
        kept = [form for form in zero_shot if form not in hard.values()]
        drawn = self._distractors(caption, [*hard.values()], scene, draw, kept)
        if drawn is None or not all(self._captioner.accepts(form, caption, scene) for form in hard.values()):
            return None
        return label_item(kind, skill, caption, [*hard.items(), *(("distractor", form) for form in drawn)], zero_shot)

    def _distractors(
        self,
        caption: Form,
        others: list[Form],
        scene: DescribedScene,
        draw: Callable[[], Form],
        kept: Sequence[Form] = (),
    ) -> list[Form] | None:
        """As many distractors as an item has, with those that are `kept`; None if too few are found."""
        drawn = list(kept)
        if len(drawn) == N_DISTRACTORS:
            return drawn
        for _ in range(_TRIES):
            form = draw()
            repeats = len({mention.category for mention in form.objects}) < len(form.objects)
            if not repeats and form not in (caption, *others, *drawn) and self._captioner.accepts(form, caption, scene):
                drawn.append(form)
                if len(drawn) == N_DISTRACTORS:
                    return drawn
        return None


def _label(kind: str, value: str, category: str) -> Form:
    return Form((Mention(category, ((kind, value),)),))
