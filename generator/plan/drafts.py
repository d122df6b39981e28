"""Drafts scenes: what the split of a scene depends on, which is its arrangement and its layout.

A draft is a `Planned` with values of the tested kind only, without id and environment.
`generator/plan/attributes.py` completes it.
"""

from collections.abc import Iterator, Sequence, Set

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.class_lists import OBJECTS, THREE_OBJECTS, ClassRule, list_of
from generator.holdout.holdout import Binding
from generator.holdout.membership import Arrangement, Rule, arrangements, cluster_of
from generator.plan.arrangements import ArrangementSampler, no_scene_error
from generator.plan.even_bindings import EvenBindings
from generator.plan.shown_bindings import TooFewScenesError
from generator.scene.layouts import Layout, certain_relations, draw_layout
from generator.scene.planned import Planned

# Random layouts of an arrangement before it counts as impossible in its split; only held-out
# relations exclude any.
_LAYOUTS = 400

# Random layouts in which a labelled relation may hold, for each order of its two objects.
_LAYOUTS_OF_LABEL = 100


def draft_split(
    rule: Rule,
    split: str,
    *,
    n: int,
    objects: tuple[int, int],
    stream: Stream,
    needed: Set[Binding],
    bindings: EvenBindings | None = None,
) -> Iterator[Planned]:
    """Draft n scenes of a split.

    Args:
        rule: assigns scenes to splits.
        split: one of its splits.
        n: the number of scenes.
        objects: the least and the most objects of a scene. Each number in between is equally
            frequent; scenes of one object occur only in training.
        stream: draws everything.
        needed: bindings that training scenes show.
        bindings: evens out the counts of bindings too; None leaves them as they come.

    Raises:
        UserError: these numbers of objects are impossible, or the split has no scene.
    """
    least, most = objects
    if isinstance(rule, ClassRule):
        if objects != (2, 2):
            option = str(least) if least == most else f"{least}..{most}"
            raise UserError(
                f"--objects {option}: the datasets of the design gzsl have their own numbers of "
                f"objects; leave --objects out, and give --holdout {THREE_OBJECTS} for a dataset "
                f"of three."
            )
        return draft_class_scenes(rule, split, n=n, stream=stream)
    if most < 2:
        raise UserError(
            "--objects 1: one object alone poses no question of which attribute belongs to which "
            "object, so there would be nothing to evaluate; take 2 or more, or a range such as "
            "1..3."
        )
    least_here = least if split == "train" else max(least, 2)
    numbers_of_objects = stream.balanced(range(least_here, most + 1), n)
    return draft_scenes(
        rule,
        split,
        numbers_of_objects=numbers_of_objects,
        stream=stream,
        needed=needed,
        bindings=bindings,
    )


def draft_scenes(
    rule: Rule,
    split: str,
    *,
    numbers_of_objects: Sequence[int],
    stream: Stream,
    needed: Set[Binding] = frozenset(),
    bindings: EvenBindings | None = None,
) -> Iterator[Planned]:
    """Draft a scene of a split for each number of objects; training scenes show the `needed`
    bindings.

    Raises:
        UserError: the split has no scene, or there are too few training scenes.
    """
    sampler = ArrangementSampler(rule)
    arrangements_of_split = sampler.draw(split, numbers_of_objects, stream, needed, bindings)
    try:
        for arrangement in arrangements_of_split:
            layout = _draw_layout_in_split(rule, split, arrangement=arrangement, stream=stream)
            yield _draft(rule, arrangement, layout=layout, split=split)
    except TooFewScenesError:
        sufficient = sampler.sufficient_count(needed, numbers_of_objects)
        raise UserError(
            f"{len(numbers_of_objects):,} training scenes cannot show the {len(needed):,} bindings "
            f"that evaluation scenes need as seen bindings; take --scenes train={sufficient:,} or "
            f"more, or fewer evaluation scenes."
        ) from None


def draft_class_scenes(rule: ClassRule, split: str, *, n: int, stream: Stream) -> Iterator[Planned]:
    """Draft n scenes of a split of class lists: counts of labels differ by at most one.

    The object that a label names first is at each place from left to right equally often.
    """
    if rule.holdout.task == "relational":
        labels = stream.shuffled(rule.listed(list_of(split)))
        for i in range(n):
            yield _draft_relational_scene(rule, labels[i % len(labels)], split=split, stream=stream)
        return
    contents = stream.shuffled(rule.scenes(list_of(split)))
    if not contents:
        raise no_scene_error(split, OBJECTS[str(rule.holdout.task)])
    for i in range(n):
        n_rounds, number = divmod(i, len(contents))
        label = contents[number]
        n_objects = len(label)
        # place_of[j]: the place of the object that the label names as number j. It moves on with
        # each label, and again when all labels start over.
        place_of = tuple((j + number + n_rounds) % n_objects for j in range(n_objects))
        named_at = [place_of.index(place) for place in range(n_objects)]
        arrangement = tuple(label[j] for j in named_at)
        categories = [category for _, category in arrangement]
        layout = draw_layout(categories, stream, rule.vocabulary)
        yield _draft(rule, arrangement, layout=layout, split=split, named=place_of)


def draft_grid(rule: Rule, stream: Stream) -> Iterator[Planned]:
    """Draft every arrangement of two objects that differ in value and category, once."""
    for arrangement in arrangements(rule.vocabulary, rule.holdout.kind):
        categories = [category for _, category in arrangement]
        layout = draw_layout(categories, stream, rule.vocabulary, rule.holdout.planned_frames)
        yield _draft(rule, arrangement, layout=layout, split=None)


def _draw_layout_in_split(
    rule: Rule, split: str, *, arrangement: Arrangement, stream: Stream
) -> Layout:
    """A random layout with which an arrangement is in its split."""
    categories = [category for _, category in arrangement]
    for _ in range(_LAYOUTS):
        layout = draw_layout(categories, stream, rule.vocabulary, rule.holdout.planned_frames)
        if not rule.holdout.triples:
            return layout
        relations = certain_relations(layout, rule.vocabulary)
        if rule.place(arrangement, relations).split == split:
            return layout
    raise no_scene_error(split, len(arrangement))


def _draft_relational_scene(
    rule: ClassRule, label: Sequence[str], *, split: str, stream: Stream
) -> Planned:
    """Draft a scene in which a label such as "cube left sphere" holds."""
    subject, relation, other = label
    values = stream.shuffled(rule.vocabulary.values(rule.holdout.kind))[:2]
    # The subject is on the left, or else on the right: "left" holds only of the left object.
    for subject_place, other_place in ((0, 1), (1, 0)):
        categories = (subject, other) if subject_place == 0 else (other, subject)
        for _ in range(_LAYOUTS_OF_LABEL):
            layout = draw_layout(categories, stream, rule.vocabulary)
            relations = certain_relations(layout, rule.vocabulary)
            if (subject_place, relation, other_place) in relations:
                arrangement = tuple(zip(values, categories, strict=True))
                return _draft(
                    rule,
                    arrangement,
                    layout=layout,
                    split=split,
                    named=(subject_place, other_place),
                )
    raise no_scene_error(split, 2)


def _draft(
    rule: Rule,
    arrangement: Arrangement,
    *,
    layout: Layout,
    split: str | None,
    named: tuple[int, ...] = (),
) -> Planned:
    kind = rule.holdout.kind
    return Planned(
        scene_id="",
        cluster_id=cluster_of(arrangement),
        objects=tuple((category, {kind: value}) for value, category in arrangement),
        depth_order=layout.depth_order,
        environment="",
        rests_on=layout.rests_on,
        clumps=layout.clumps,
        own_sides=layout.own_sides,
        split=split,
        named=named,
    )
