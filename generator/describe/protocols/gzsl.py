"""Generalised zero-shot classification: a label against distractors and hard negatives (Pearson et
al. 2025, section 3)."""

from collections.abc import Iterator, Mapping, Sequence

from generator.describe.captioner import Candidate, Captioner, Draft, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.holdout.class_lists import ClassRule, list_of
from generator.language.foils import Foil
from generator.language.form import Form, Link, Mention

TEMPLATE = "photo"
"""The template of all labels: "a photo of …"."""
N_DISTRACTORS = 2
_TRIES = 200
Hard = list[tuple[str, Form]]
"""Hard negatives, each with its kind."""


def _bound(kind: str, binding: Sequence[str]) -> Form:
    return Form((Mention(binding[1], ((kind, binding[0]),)),))


def _related(triple: Sequence[str]) -> Form:
    return Form((Mention(triple[0]), Mention(triple[2])), (Link(0, triple[1], 1),))


def _hard_of_bindings(draft: Draft, target: Sequence[str], others: Sequence[Sequence[str]]) -> Hard:
    """Per other object: its value on the target's category (kind: the tested kind, such as
    `color`), and the target's value on its category (kind: the category word, such as `shape`)."""
    kind = draft.tested
    return [
        *((kind, _bound(kind, (value, target[1]))) for value, _ in others),
        *(
            (draft.vocabulary.category, _bound(kind, (target[0], category)))
            for _, category in others
        ),
    ]


def _hard_of_relation(draft: Draft, caption: Form) -> Hard:
    """The caption with its relation flipped, and the caption with its ends exchanged."""
    turned = caption._replace(objects=caption.objects[::-1])
    return [("flip", draft.foils.flip_relation(caption, 0).form), ("order", turned)]


def _question(
    draft: Draft, kind: str, caption: Form, hard: Hard, drawn: Iterator[Form]
) -> Iterator[Item]:
    """The item of a label (slot c), with its hard negatives and two distractors from `drawn` as
    wrong labels (slot n).

    No item if `drawn` has fewer than two distractors. A label with a relation also has a zero-shot
    question (slot
    `zsl`): the right label and the first two labels of `drawn`, even if these are hard negatives.
    """
    zero_shot, distractors = list[Form](), list[Form]()
    for form in drawn:
        zero_shot.append(form)
        if form not in [each for _, each in hard]:
            distractors.append(form)
            if len(distractors) == N_DISTRACTORS:
                break
    else:
        return
    item = _label_item(
        draft, kind, caption, [*hard, *(("distractor", form) for form in distractors)]
    )
    if caption.relations:
        text = item.candidates[0].text
        asked = [Candidate(text, "zsl", True)]
        for form in zero_shot[:N_DISTRACTORS]:
            asked.append(
                Candidate(Text(form, TEMPLATE), "zsl", False, "distractor", ("distractor",), text)
            )
        item = item._replace(candidates=(*item.candidates, *asked))
    yield item


def _label_item(draft: Draft, kind: str, caption: Form, foils: Hard) -> Item:
    skill = "relation" if caption.relations else "attribute"
    return draft.said(
        kind, skill, caption, [Foil(form, (name,), name) for name, form in foils], TEMPLATE
    )


# Labels that are drawn for each scene


def _drawn_binding(draft: Draft, pair: Form) -> Iterator[Item]:
    """The item about the first of two objects."""
    kind = draft.tested
    own, other = ((mention.values[kind], str(mention.category)) for mention in pair.objects)
    values, categories = (
        draft.substitutes.values(kind, own[0]),
        draft.substitutes.categories(own[1]),
    )
    labels = (
        _bound(kind, (_choice(draft, values), _choice(draft, categories))) for _ in range(_TRIES)
    )
    caption, hard = _bound(kind, own), _hard_of_bindings(draft, own, [other])
    yield from _drawn(draft, "two-object", caption, hard, labels)


def _drawn_relation(draft: Draft, caption: Form) -> Iterator[Item]:
    """The item about two related objects."""
    name = caption.relations[0].relation
    one, other = (
        draft.substitutes.categories(str(mention.category)) for mention in caption.objects
    )
    relations = (name, draft.vocabulary.relations[name].opposite)
    labels = (
        tuple(_choice(draft, each) for each in (one, relations, other)) for _ in range(_TRIES)
    )
    forms = (_related(label) for label in labels if label[0] != label[2])
    yield from _drawn(draft, "relational", caption, _hard_of_relation(draft, caption), forms)


def _drawn(
    draft: Draft, kind: str, caption: Form, hard: Hard, labels: Iterator[Form]
) -> Iterator[Item]:
    """The item with random labels as distractors; each wrong label is false and as familiar as the
    truth."""
    seen = {caption}

    def different() -> Iterator[Form]:
        for form in labels:
            if form not in seen and draft.accepts(form, caption):
                seen.add(form)
                yield form

    if all(draft.accepts(form, caption) for _, form in hard):
        yield from _question(draft, kind, caption, hard, different())


def _choice(draft: Draft, names: Sequence[str]) -> str:
    return names[draft.stream.below(len(names))]


# Labels of class lists


class ClassLabels:
    """The label of each image and its wrong labels, from the holdout's class lists as published.

    `single`: wrong labels are all other labels of every list. `two-object`, `three-object`: two
    distractors from the
    split's list, and for each other object its value on the target's category, and the target's
    value on its category.
    `relational`: the flipped relation, the exchanged ends, and two distractors from the split's
    list. These distractors
    never equal a hard negative. The zero-shot question about a relation has two labels drawn from
    the whole list, so
    they may name the objects of the image (section 4.4 explains results by that). A wrong label is
    never true of the
    image in any wording.
    """

    def __init__(self, captioner: Captioner):
        self._rule = ClassRule(captioner.vocabulary, captioner.holdout)
        self._task = str(captioner.holdout.task)
        self.recipes = {self._task: Recipe(self.label, self._items)}

    def label(self, draft: Draft) -> Form | None:
        """The label of the scene; for relations, in the phrasing of the split's list. None if the
        list lacks it."""
        facts, order = draft.facts, self._order(draft)
        if self._task != "relational":
            return _bound(
                draft.tested, (facts.values[order[0]][draft.tested], facts.categories[order[0]])
            )
        labels = self._rule.listed(list_of(draft.scene.split))
        for i, j in ((order[0], order[-1]), (order[-1], order[0])):
            for relation in draft.vocabulary.pair_relations:
                label = (facts.categories[i], relation, facts.categories[j])
                if label in labels and facts.holds[relation][i][j]:
                    return _related(label)
        return None

    def _order(self, draft: Draft) -> Sequence[int]:
        """The objects in the order of the label that the scene was made for, else in random
        order."""
        return draft.scene.label_order or draft.stream.shuffled(range(len(draft.facts)))

    def _items(self, draft: Draft, caption: Form) -> Iterator[Item]:
        kind, false = draft.tested, lambda form: draft.scene.decide(form) is False
        if self._task == "single":
            every = [_bound(kind, each.label) for each in self._rule.holdout.classes]
            yield _label_item(
                draft, self._task, caption, [("label", form) for form in every if form != caption]
            )
            return
        listed = draft.stream.shuffled(self._rule.listed(list_of(draft.scene.split)))
        if self._task == "relational":
            hard, labels = _hard_of_relation(draft, caption), [_related(label) for label in listed]
        else:
            (target,) = caption.objects
            own = target.values[kind], str(target.category)
            shown = [
                (values[kind], category)
                for values, category in zip(draft.facts.values, draft.facts.categories, strict=True)
            ]
            hard = _hard_of_bindings(draft, own, [each for each in shown if each != own])
            labels = [_bound(kind, label) for label in listed]
        if draft.scene.decide(caption) is True and all(false(form) for _, form in hard):
            yield from _question(draft, self._task, caption, hard, filter(false, labels))


class Gzsl(Protocol):
    """Items of a label (slot c) and wrong labels (slot n) in the words "a photo of …".

    The labels come from the holdout's class lists if it has some, else they are drawn for each
    scene.
    """

    name = "gzsl"
    kinds = ("single", "two-object", "three-object", "relational")
    recipes: Mapping[str, Recipe] = {
        "two-object": Recipe(Draft.tested_pair, _drawn_binding),
        "relational": Recipe(lambda draft: draft.related_pair(directed=True), _drawn_relation),
    }

    def __init__(self, captioner: Captioner):
        super().__init__(captioner)
        if captioner.holdout.classes:
            self.recipes = ClassLabels(captioner).recipes


class TrainingLabels(Protocol):
    """Training captions of class lists: the label of each image, in the words of the test
    prompts."""

    name = "train"
    kinds = ("label",)

    def __init__(self, captioner: Captioner):
        super().__init__(captioner)
        self.recipes = {"label": Recipe(ClassLabels(captioner).label, self._item)}

    def _item(self, draft: Draft, caption: Form) -> Iterator[Item]:
        yield draft.said("label", None, caption, [], TEMPLATE)
