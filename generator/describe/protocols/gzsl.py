"""Generalised zero-shot classification: a label against distractors and hard negatives (Pearson et al. 2025)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from generator.base.streams import Stream
from generator.describe.captioner import Captioner, draw_related_pair, draw_tested_pair
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocol import Protocol
from generator.describe.scenes import DescribedScene
from generator.holdout.class_lists import ClassRule, list_of
from generator.holdout.holdout import Binding, Triple
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


TEMPLATE = "photo"
"""The template of all labels: "a photo of …"."""
N_DISTRACTORS = 2
Foils = Sequence[tuple[str, Form]]
"""Wrong labels, each with its kind."""


class ClassLabels:
    """The label of each image and its wrong labels, as published.

    `single`: wrong labels are all others of every list. `two-object`, `three-object`: two distractors from the split's
    own list, and for each other object its value on the target's category, and the target's value on its category. `relational`: the
    flipped relation, the exchanged ends, and two distractors from the list. No distractor of these equals a hard
    negative. The zero-shot question about a relation has two labels drawn from the whole list, so they may name the
    objects of the image (section 4.4 explains results by that). A wrong label is never true of the image in any wording.
    """

    def __init__(self, captioner: Captioner):
        self._captioner = captioner
        self._rule = ClassRule(captioner.vocabulary, captioner.holdout)
        self._task, self._kind = str(captioner.holdout.task), captioner.holdout.kind

    def make(self, scene: DescribedScene, stream: Stream) -> Mapping[str, Item | None]:
        """The item of a scene by kind; None if it cannot be made."""
        order = _label_order(scene, stream)
        make = {"single": self._single, "relational": self._relational}.get(self._task, self._several)
        return {self._task: make(scene, order, stream)}

    def training_label(self, scene: DescribedScene, stream: Stream) -> Form | None:
        """The label of a training image, in either order of its objects; None if no list has one."""
        order = _label_order(scene, stream)
        return self._label(scene, order) or self._label(scene, order[::-1])

    def _label(self, scene: DescribedScene, order: Sequence[int]) -> Form | None:
        """The label that names the scene's objects in this order; None if no list has it."""
        categories = [scene.facts.categories[i] for i in order]
        if self._task != "relational":
            return _bound(self._kind, (scene.facts.values[order[0]][self._kind], categories[0]))
        labels = self._rule.related_labels(list_of(scene.split))
        for relation in self._captioner.vocabulary.relations:
            label = (categories[0], relation, categories[-1])
            if label in labels and scene.facts.holds[relation][order[0]][order[-1]]:
                return _related(label)
        return None

    def _single(self, scene: DescribedScene, order: Sequence[int], stream: Stream) -> Item | None:
        caption = self._label(scene, order)
        every = [_bound(self._kind, each.bindings[0]) for each in self._rule.holdout.classes]
        return self._item(caption, [("label", form) for form in every if form != caption], scene)

    def _several(self, scene: DescribedScene, order: Sequence[int], stream: Stream) -> Item | None:
        kind, facts, holdout = self._kind, scene.facts, self._rule.holdout
        own, *others = ((facts.values[i][kind], facts.categories[i]) for i in order)
        hard = [(kind, (value, own[1])) for value, _ in others]
        hard += [(holdout.category, (own[0], category)) for _, category in others]
        taken = [own, *others, *(binding for _, binding in hard)]
        listed = [each.bindings[0] for each in holdout.classes if each.split == list_of(scene.split)]
        free: list[Binding] = [binding for binding in listed if binding not in taken]
        drawn = stream.shuffled(free)[:N_DISTRACTORS]
        if len(drawn) < N_DISTRACTORS:
            return None
        foils = [(name, _bound(kind, binding)) for name, binding in [*hard, *(("distractor", each) for each in drawn)]]
        return self._item(self._label(scene, order), foils, scene)

    def _relational(self, scene: DescribedScene, order: Sequence[int], stream: Stream) -> Item | None:
        caption = self._label(scene, order) or self._label(scene, order[::-1])
        if caption is None:
            return None
        flipped = self._captioner.foils.flip_relation(caption, 0).form
        hard = [("flip", flipped), ("order", replace(caption, objects=caption.objects[::-1]))]
        listed = [_related(label) for label in self._rule.related_labels(list_of(scene.split))]
        drawn = stream.shuffled([form for form in listed if scene.decide(form) is False])
        others = [form for form in drawn if form not in (hard[0][1], hard[1][1])]
        if len(others) < N_DISTRACTORS:
            return None
        foils = [*hard, *(("distractor", form) for form in others[:N_DISTRACTORS])]
        return self._item(caption, foils, scene, drawn[:N_DISTRACTORS])

    def _item(
        self, caption: Form | None, foils: Foils, scene: DescribedScene, zero_shot: Sequence[Form] = ()
    ) -> Item | None:
        if caption is None or scene.decide(caption) is not True:
            return None
        if any(scene.decide(form) is not False for _, form in foils):
            return None
        skill = "relation" if self._task == "relational" else "attribute"
        return label_item(self._task, skill, caption, foils, zero_shot)


class TrainingLabels(Protocol):
    """Training captions of class lists: the label of each image, in the words of the test prompts."""

    name = "train"
    kinds = ("label",)

    def __init__(self, captioner: Captioner):
        super().__init__(captioner)
        self._labels = ClassLabels(captioner)

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        label = self._labels.training_label(scene, stream)
        if label is not None:
            yield Item(self.name, "label", None, (Candidate(Text(label, TEMPLATE), "c", True),))


def label_item(kind: str, skill: str, caption: Form, foils: Foils, zero_shot: Sequence[Form] = ()) -> Item:
    """An item of the protocol gzsl: the right label and wrong ones, each with its kind.

    `zero_shot` are the wrong labels of the zero-shot question, where they are not the distractors among the foils. They
    are in the slot `zsl`, with the right label.
    """
    text = Text(caption, TEMPLATE)
    candidates = [Candidate(text, "c", True)]
    candidates += [Candidate(Text(form, TEMPLATE), "n", False, name, (name,), text) for name, form in foils]
    if zero_shot:
        drawn = "distractor"
        candidates.append(Candidate(text, "zsl", True))
        candidates += [Candidate(Text(form, TEMPLATE), "zsl", False, drawn, (drawn,), text) for form in zero_shot]
    return Item("gzsl", kind, skill, tuple(candidates))


def _label_order(scene: DescribedScene, stream: Stream) -> Sequence[int]:
    return scene.label_order or tuple(stream.shuffled(range(len(scene.facts))))


def _bound(kind: str, binding: Binding) -> Form:
    return Form((Mention(binding[1], ((kind, binding[0]),)),))


def _related(triple: Triple) -> Form:
    return Form((Mention(triple[0]), Mention(triple[2])), (Link(0, triple[1], 1),))
