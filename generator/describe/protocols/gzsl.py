"""Generalised zero-shot classification: a label against distractors and hard negatives (Pearson et al. 2025, section
3)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from generator.describe.captioner import Captioner, Draft
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocol import Protocol, Recipe
from generator.holdout.class_lists import ClassRule, list_of
from generator.holdout.holdout import Binding
from generator.language.foils import Foil
from generator.language.form import Form, Link, Mention

TEMPLATE = "photo"
"""The template of all labels: "a photo of …"."""
N_DISTRACTORS = 2
_TRIES = 200
Hard = dict[str, Form]
"""Hard negatives by their kind."""


def label_item(
    draft: Draft, kind: str, caption: Form, foils: Sequence[tuple[str, Form]], zero_shot: Sequence[Form] = ()
) -> Item:
    """An item of a label (slot c) and wrong labels (slot n), each with its kind.

    `zero_shot` are the wrong labels of the zero-shot question, where they are not the distractors among the foils. They
    are in the slot `zsl`, with the right label.
    """
    skill = "relation" if caption.relations else "attribute"
    item = draft.said(kind, skill, caption, [Foil(form, (name,), name) for name, form in foils], TEMPLATE)
    if not zero_shot:
        return item
    text, drawn = item.candidates[0].text, "distractor"
    asked = [Candidate(text, "zsl", True)]
    asked += [Candidate(Text(form, TEMPLATE), "zsl", False, drawn, (drawn,), text) for form in zero_shot]
    return replace(item, candidates=(*item.candidates, *asked))


def _bound(kind: str, binding: Sequence[str]) -> Form:
    return Form((Mention(binding[1], ((kind, binding[0]),)),))


def _related(triple: Sequence[str]) -> Form:
    return Form((Mention(triple[0]), Mention(triple[2])), (Link(0, triple[1], 1),))


def _hard_of_relation(draft: Draft, caption: Form) -> Hard:
    """The flipped relation and the exchanged ends."""
    turned = replace(caption, objects=caption.objects[::-1])
    return {"flip": draft.foils.flip_relation(caption, 0).form, "order": turned}


def _drawn_binding(draft: Draft, pair: Form) -> Iterator[Item]:
    """The label of the first of two objects; hard negatives are the other's value on its category, named after the
    tested
    kind such as `color`, and its value on the other category (`shape`)."""
    kind, (target, other) = draft.tested, pair.objects
    own, strange = target.values[kind], other.values[kind]
    category, wrong = str(target.category), str(other.category)
    hard = {kind: _bound(kind, (strange, category)), draft.vocabulary.category: _bound(kind, (own, wrong))}
    values, categories = draft.substitutes.values(kind, own), draft.substitutes.categories(category)

    def label() -> Form:
        return _bound(kind, (_choice(draft, values), _choice(draft, categories)))

    yield from _drawn_label(draft, "two-object", Form((target,)), hard, label)


def _drawn_relation(draft: Draft, caption: Form) -> Iterator[Item]:
    """Two related objects; the zero-shot question has two distractors that may also be hard negatives."""
    name = caption.relations[0].relation
    ends = [draft.substitutes.categories(str(mention.category)) for mention in caption.objects]
    relations = (name, draft.vocabulary.relations[name].opposite)

    def label() -> Form:
        one, relation, other = (_choice(draft, each) for each in (ends[0], relations, ends[1]))
        return caption if one == other else _related((one, relation, other))

    yield from _drawn_label(draft, "relational", caption, _hard_of_relation(draft, caption), label)


def _drawn_label(draft: Draft, kind: str, caption: Form, hard: Hard, label: Callable[[], Form]) -> Iterator[Item]:
    """The item with random labels as distractors; a distractor is false and as familiar as the truth."""
    drawn = _distractors(draft, caption, label)
    zero_shot = [*islice(drawn, N_DISTRACTORS)] if caption.relations else []
    others = [form for form in zero_shot if form not in hard.values()]
    for form in drawn:
        if len(others) == N_DISTRACTORS:
            break
        if form not in hard.values():
            others.append(form)
    if len(others) == N_DISTRACTORS and all(draft.accepts(form, caption) for form in hard.values()):
        foils = [*hard.items(), *(("distractor", form) for form in others)]
        yield label_item(draft, kind, caption, foils, zero_shot)


def _choice(draft: Draft, names: Sequence[str]) -> str:
    return names[draft.stream.below(len(names))]


def _distractors(draft: Draft, caption: Form, label: Callable[[], Form]) -> Iterator[Form]:
    """Different random labels that may stand beside the caption."""
    seen = {caption}
    for _ in range(_TRIES):
        form = label()
        if form not in seen and draft.accepts(form, caption):
            seen.add(form)
            yield form


class ClassLabels:
    """The label of each image and its wrong labels, from the holdout's class lists as published.

    `single`: wrong labels are all others of every list. `two-object`, `three-object`: two distractors from the split's
    own list, and for each other object its value on the target's category, and the target's value on its category.
    `relational`: the flipped relation, the exchanged ends, and two distractors from the list. No distractor of these
    equals a hard negative. The zero-shot question about a relation has two labels drawn from the whole list, so they
    may
    name the objects of the image (section 4.4 explains results by that). A wrong label is never true of the image in
    any
    wording.
    """

    def __init__(self, captioner: Captioner):
        self._rule = ClassRule(captioner.vocabulary, captioner.holdout)
        self._task = str(captioner.holdout.task)
        write = {"single": self._single, "relational": self._relational}.get(self._task, self._several)
        self.recipes = {self._task: Recipe(_label_order, write)}

    def label(self, draft: Draft, order: Sequence[int]) -> Form | None:
        """The label that names the scene's objects in this order, or for relations in either; None if no list has
        it."""
        facts = draft.facts
        if self._task != "relational":
            return _bound(draft.tested, (facts.values[order[0]][draft.tested], facts.categories[order[0]]))
        labels = self._rule.listed(list_of(draft.scene.split))
        for i, j in ((order[0], order[-1]), (order[-1], order[0])):
            for relation in draft.vocabulary.pair_relations:
                label = (facts.categories[i], relation, facts.categories[j])
                if label in labels and facts.holds[relation][i][j]:
                    return _related(label)
        return None

    def _single(self, draft: Draft, order: Sequence[int]) -> Iterator[Item]:
        caption = self.label(draft, order)
        every = [_bound(draft.tested, each.label) for each in self._rule.holdout.classes]
        yield from self._item(draft, caption, [("label", form) for form in every if form != caption])

    def _several(self, draft: Draft, order: Sequence[int]) -> Iterator[Item]:
        kind, facts, holdout = draft.tested, draft.facts, self._rule.holdout
        own, *others = ((facts.values[i][kind], facts.categories[i]) for i in order)
        hard: list[tuple[str, Binding]] = [(kind, (value, own[1])) for value, _ in others]
        hard += [(holdout.category, (own[0], category)) for _, category in others]
        taken = [own, *others, *(binding for _, binding in hard)]
        listed = self._rule.listed(list_of(draft.scene.split))
        drawn = draft.stream.shuffled([each for each in listed if each not in taken])[:N_DISTRACTORS]
        if len(drawn) == N_DISTRACTORS:
            foils = [*hard, *(("distractor", each) for each in drawn)]
            yield from self._item(draft, self.label(draft, order), [(name, _bound(kind, each)) for name, each in foils])

    def _relational(self, draft: Draft, order: Sequence[int]) -> Iterator[Item]:
        caption = self.label(draft, order)
        if caption is None:
            return
        hard = _hard_of_relation(draft, caption)
        listed = [_related(label) for label in self._rule.listed(list_of(draft.scene.split))]
        drawn = draft.stream.shuffled([form for form in listed if draft.scene.decide(form) is False])
        others = [form for form in drawn if form not in hard.values()][:N_DISTRACTORS]
        if len(others) == N_DISTRACTORS:
            foils = [*hard.items(), *(("distractor", form) for form in others)]
            yield from self._item(draft, caption, foils, drawn[:N_DISTRACTORS])

    def _item(
        self, draft: Draft, caption: Form | None, foils: Sequence[tuple[str, Form]], zero_shot: Sequence[Form] = ()
    ) -> Iterator[Item]:
        decide = draft.scene.decide
        if caption is not None and decide(caption) is True and all(decide(form) is False for _, form in foils):
            yield label_item(draft, self._task, caption, foils, zero_shot)


def _label_order(draft: Draft) -> Sequence[int]:
    """The objects in the order of the label that the scene was made for, else in random order."""
    return draft.scene.label_order or draft.stream.shuffled(range(len(draft.facts)))


class Gzsl(Protocol):
    """Items of a label (slot c) and wrong labels (slot n) in the words "a photo of …".

    The labels come from the holdout's class lists if it has some, else they are drawn for each scene.
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
    """Training captions of class lists: the label of each image, in the words of the test prompts."""

    name = "train"
    kinds = ("label",)

    def __init__(self, captioner: Captioner):
        super().__init__(captioner)
        self._labels = ClassLabels(captioner)
        self.recipes = {"label": Recipe(_label_order, self._label)}

    def _label(self, draft: Draft, order: Sequence[int]) -> Iterator[Item]:
        caption = self._labels.label(draft, order)
        if caption is not None:
            yield draft.said("label", None, caption, [], TEMPLATE)
