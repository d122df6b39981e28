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
"""Distractors of a label (Pearson et al. 2025, section 3)."""
_MOST_LABELS_DRAWN = 200
"""Random labels that are drawn until two of them can be distractors."""
HardNegatives = list[tuple[str, Form]]
"""Hard negatives, each with its kind."""


def _bound(kind: str, binding: Sequence[str]) -> Form:
    """The label of a binding (value, category); `kind` is the kind of the value."""
    value, category = binding
    return Form((Mention(category, ((kind, value),)),))


def _related(triple: Sequence[str]) -> Form:
    """The label of a triple (category, relation, category)."""
    subject, relation, other = triple
    mentions = Mention(subject), Mention(other)
    return Form(mentions, (Link(0, relation, 1),))


def _hard_negatives_of_binding(
    draft: Draft, target: Sequence[str], others: Sequence[Sequence[str]]
) -> HardNegatives:
    """Per other object: its value on the target's category (kind: the tested kind, such as
    `color`), and the target's value on its category (kind: the category word, such as `shape`)."""
    kind = draft.tested
    target_value, target_category = target
    other_values = []
    other_categories = []
    for value, category in others:
        other_values.append((kind, _bound(kind, (value, target_category))))
        label = _bound(kind, (target_value, category))
        other_categories.append((draft.vocabulary.category, label))
    return other_values + other_categories


def _hard_negatives_of_relation(draft: Draft, caption: Form) -> HardNegatives:
    """The caption with its relation flipped, and the caption with its ends exchanged."""
    flipped = draft.foils.flip_relation(caption, 0).form
    exchanged = caption._replace(objects=caption.objects[::-1])
    return [("flip", flipped), ("order", exchanged)]


def _write_question(
    draft: Draft,
    kind: str,
    *,
    caption: Form,
    hard_negatives: HardNegatives,
    labels: Iterator[Form],
) -> Iterator[Item]:
    """Write the item of a label (slot c), with its hard negatives and two distractors as wrong
    labels (slot n).

    A label with a relation also has a zero-shot question (slot `zsl`): the right label and the
    first two of `labels`, even if these are hard negatives.

    Args:
        draft: the work on the scene.
        kind: the item's kind.
        caption: the right label.
        hard_negatives: its hard negatives.
        labels: false labels in random order. Distractors are the first two that are no hard
            negatives; no item if there are fewer.
    """
    # Distractors may not be hard negatives, or the item would have a label twice.
    hard_forms = [form for _, form in hard_negatives]
    zero_shot: list[Form] = []
    distractors: list[Form] = []
    for form in labels:
        zero_shot.append(form)
        if form not in hard_forms:
            distractors.append(form)
        if len(distractors) == N_DISTRACTORS:
            break
    if len(distractors) < N_DISTRACTORS:
        return

    wrong_labels = list(hard_negatives)
    for form in distractors:
        wrong_labels.append(("distractor", form))
    item = _make_label_item(draft, kind, caption=caption, wrong_labels=wrong_labels)
    if caption.relations:
        caption_text = item.candidates[0].text
        candidates = [*item.candidates, Candidate(caption_text, "zsl", True)]
        for form in zero_shot[:N_DISTRACTORS]:
            wrong = Candidate(
                Text(form, TEMPLATE), "zsl", False, "distractor", ("distractor",), caption_text
            )
            candidates.append(wrong)
        item = item._replace(candidates=tuple(candidates))
    yield item


def _make_label_item(
    draft: Draft, kind: str, *, caption: Form, wrong_labels: HardNegatives
) -> Item:
    """Make the item of a label and its wrong labels, whose kind is also their change."""
    skill = "relation" if caption.relations else "attribute"
    foils = [Foil(form, (name,), name) for name, form in wrong_labels]
    return draft.make_item_in_template(kind, skill, form=caption, foils=foils, template=TEMPLATE)


# Labels that are drawn for each scene


def _write_drawn_binding(draft: Draft, pair: Form) -> Iterator[Item]:
    """Write the item about the first of two objects."""
    kind = draft.tested
    bindings = [(mention.values[kind], str(mention.category)) for mention in pair.objects]
    target, other = bindings
    value, category = target
    values = draft.substitutes.values(kind, value)
    categories = draft.substitutes.categories(category)
    hard_negatives = _hard_negatives_of_binding(draft, target, [other])
    labels = _draw_bound_labels(draft, values, categories)
    yield from _write_drawn(
        draft,
        "two-object",
        caption=_bound(kind, target),
        hard_negatives=hard_negatives,
        labels=labels,
    )


def _draw_bound_labels(
    draft: Draft, values: Sequence[str], categories: Sequence[str]
) -> Iterator[Form]:
    """Draw labels of a value and a category."""
    for _ in range(_MOST_LABELS_DRAWN):
        binding = (_choose(draft, values), _choose(draft, categories))
        yield _bound(draft.tested, binding)


def _write_drawn_relation(draft: Draft, caption: Form) -> Iterator[Item]:
    """Write the item about two related objects."""
    relation = caption.relations[0].relation
    subject, other = (str(mention.category) for mention in caption.objects)
    # Distractors are as familiar as the label: of categories that are held out with the same.
    subjects = draft.substitutes.categories(subject)
    others = draft.substitutes.categories(other)
    relations = (relation, draft.vocabulary.relations[relation].opposite)
    hard_negatives = _hard_negatives_of_relation(draft, caption)
    labels = _draw_related_labels(draft, subjects, relations=relations, others=others)
    yield from _write_drawn(
        draft, "relational", caption=caption, hard_negatives=hard_negatives, labels=labels
    )


def _draw_related_labels(
    draft: Draft, subjects: Sequence[str], *, relations: Sequence[str], others: Sequence[str]
) -> Iterator[Form]:
    """Draw labels of two different categories in a relation."""
    for _ in range(_MOST_LABELS_DRAWN):
        subject = _choose(draft, subjects)
        relation = _choose(draft, relations)
        other = _choose(draft, others)
        if subject != other:
            yield _related((subject, relation, other))


def _write_drawn(
    draft: Draft, kind: str, *, caption: Form, hard_negatives: HardNegatives, labels: Iterator[Form]
) -> Iterator[Item]:
    """Write the item with random labels as distractors; each wrong label is false and as familiar
    as the truth."""
    if not all(draft.accepts(form, caption) for _, form in hard_negatives):
        return
    distractors = _select_labels(draft, caption, labels)
    yield from _write_question(
        draft, kind, caption=caption, hard_negatives=hard_negatives, labels=distractors
    )


def _select_labels(draft: Draft, caption: Form, labels: Iterator[Form]) -> Iterator[Form]:
    """Yield different labels that may be wrong labels of a caption."""
    selected = {caption}
    for form in labels:
        if form not in selected and draft.accepts(form, caption):
            selected.add(form)
            yield form


def _choose(draft: Draft, names: Sequence[str]) -> str:
    return names[draft.stream.below(len(names))]


# Labels of class lists


class ClassLabels:
    """The label of each image and its wrong labels, from the holdout's class lists as published.

    `single`: wrong labels are all other labels of every list. `two-object`, `three-object`: two
    distractors from the split's list, and for each other object its value on the target's category,
    and the target's value on its category. `relational`: the flipped relation, the exchanged ends,
    and two distractors from the split's list.

    These distractors never equal a hard negative. The zero-shot question about a relation has two
    labels drawn from the whole list, so they may name the objects of the image (section 4.4
    explains results by that). A wrong label is never true of the image in any wording.
    """

    def __init__(self, captioner: Captioner):
        self._rule = ClassRule(captioner.vocabulary, captioner.holdout)
        self._task = str(captioner.holdout.task)
        self.recipes = {self._task: Recipe(self.label, self._write_items)}

    def label(self, draft: Draft) -> Form | None:
        """The label of the scene; for relations, in the phrasing of the split's list. None if the
        list lacks it."""
        facts = draft.facts
        order = self._object_order(draft)
        if self._task != "relational":
            target = order[0]
            value = facts.values[target][draft.tested]
            return _bound(draft.tested, (value, facts.categories[target]))
        labels = self._rule.listed(list_of(draft.scene.split))
        # A list has each relation in one phrasing only: "a left of b" or "b right of a".
        first, last = order[0], order[-1]
        for i, j in ((first, last), (last, first)):
            for relation in draft.vocabulary.pair_relations:
                label = (facts.categories[i], relation, facts.categories[j])
                if label in labels and facts.holds[relation][i][j]:
                    return _related(label)
        return None

    def _object_order(self, draft: Draft) -> Sequence[int]:
        """The objects in the order of the label that the scene was made for, else in random
        order."""
        return draft.scene.label_order or draft.stream.shuffled(range(len(draft.facts)))

    def _write_items(self, draft: Draft, caption: Form) -> Iterator[Item]:
        """Write the item of the scene's label."""
        kind = draft.tested
        if self._task == "single":
            labels = [_bound(kind, listed.label) for listed in self._rule.holdout.classes]
            wrong_labels = [("label", form) for form in labels if form != caption]
            yield _make_label_item(draft, self._task, caption=caption, wrong_labels=wrong_labels)
            return

        of_split = self._rule.listed(list_of(draft.scene.split))
        listed_labels = draft.stream.shuffled(of_split)
        if self._task == "relational":
            hard_negatives = _hard_negatives_of_relation(draft, caption)
            labels = [_related(label) for label in listed_labels]
        else:
            (mention,) = caption.objects
            target = mention.values[kind], str(mention.category)
            others = [binding for binding in self._bindings(draft) if binding != target]
            hard_negatives = _hard_negatives_of_binding(draft, target, others)
            labels = [_bound(kind, label) for label in listed_labels]

        def is_false(form: Form) -> bool:
            return draft.scene.decide(form) is False

        caption_is_true = draft.scene.decide(caption) is True
        if caption_is_true and all(is_false(form) for _, form in hard_negatives):
            distractors = filter(is_false, labels)
            yield from _write_question(
                draft,
                self._task,
                caption=caption,
                hard_negatives=hard_negatives,
                labels=distractors,
            )

    def _bindings(self, draft: Draft) -> list[tuple[str, str]]:
        """The value and category of each object of a scene."""
        facts = draft.facts
        return [
            (values[draft.tested], category)
            for values, category in zip(facts.values, facts.categories, strict=True)
        ]


class Gzsl(Protocol):
    """Items of a label (slot c) and wrong labels (slot n) in the words "a photo of …".

    The labels come from the holdout's class lists if it has some, else they are drawn for each
    scene.
    """

    name = "gzsl"
    kinds = ("single", "two-object", "three-object", "relational")
    recipes: Mapping[str, Recipe] = {
        "two-object": Recipe(Draft.draw_tested_pair, _write_drawn_binding),
        "relational": Recipe(
            lambda draft: draft.draw_related_pair(directed=True), _write_drawn_relation
        ),
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
        self.recipes = {"label": Recipe(ClassLabels(captioner).label, self._write_item)}

    def _write_item(self, draft: Draft, caption: Form) -> Iterator[Item]:
        yield draft.make_item_in_template("label", None, form=caption, foils=[], template=TEMPLATE)
