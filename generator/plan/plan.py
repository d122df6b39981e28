"""Draws the plan of a world: objects, attributes, layout and environment of each scene, without
positions."""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import product

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.holdout.designs.base import GRID
from generator.holdout.holdout import Binding, Holdout
from generator.holdout.membership import UNSEEN_ATOMS, Rule, SplitPlan
from generator.holdout.possible import splits_without_scenes
from generator.holdout.request import WorldPart, design_of
from generator.plan.arrangements import no_scene_error
from generator.plan.attributes import AttributeSampler
from generator.plan.drafts import draft_grid, draft_split
from generator.plan.even_bindings import EvenBindings
from generator.scene.layouts import certain_relations
from generator.scene.planned import Planned, scene_id
from generator.vocabulary.schema import Vocabulary


def plan_scenes(
    vocabulary: Vocabulary,
    rule: Rule,
    counts: Mapping[str, int],
    seed: int,
    objects: tuple[int, int] = (2, 2),
) -> list[Planned]:
    """The plan of a world for a single holdout, see `plan_parts`."""
    return plan_parts(vocabulary, [WorldPart(rule.holdout, counts)], seed, objects)


def plan_parts(
    vocabulary: Vocabulary,
    parts: Sequence[WorldPart],
    seed: int,
    objects: tuple[int, int] = (2, 2),
    to_have_twins: Set[tuple[int, str]] = frozenset(),
    *,
    even_bindings: bool = False,
) -> list[Planned]:
    """Draw the contents of each scene of a world.

    Training scenes show every binding of the other scenes that is not held out. Within each split
    these counts differ by at most one: numbers of objects; values and objects (see
    ArrangementSampler); environments; and, for every value, object and place, the values of each
    untested attribute kind and which of two objects is in front. Scenes of all splits are shuffled
    together, so that scene ids reveal nothing; only a grid keeps its order.

    Args:
        vocabulary: of the world.
        parts: the holdouts, each with its number of scenes of each split, or None for the grid.
        seed: of the plan.
        objects: the least and the most objects of a scene. Scenes of one object occur only in
            training: they pose no question of binding.
        to_have_twins: splits, as (number of the part, split), whose scenes get twins. Training
            also shows the bindings that these twins could have.
        even_bindings: whether bindings are equally frequent too, as far as splits allow.

    Returns:
        The scenes in order; their ids are their numbers.

    Raises:
        UserError: a split has no scene, or training scenes are too few.
    """
    for part in parts:
        _check_possible(vocabulary, part, objects)
    scenes: list[Planned] = []
    for number, part in enumerate(parts):
        if part.counts is None:
            rule = design_of(part.holdout).rule(vocabulary, part.holdout)
            stream = Stream("plan", seed, GRID)
            sampler = AttributeSampler(rule, number, stream)
            scenes += sampler.complete(draft_grid(rule, stream))
        else:
            scenes += _plan_part(
                vocabulary,
                number,
                part,
                seed,
                objects,
                to_have_twins,
                even_bindings=even_bindings,
            )
    if all(part.counts is not None for part in parts):
        scenes = Stream("order", seed).shuffled(scenes)
    return [scene._replace(scene_id=scene_id(i)) for i, scene in enumerate(scenes)]


def _plan_part(
    vocabulary: Vocabulary,
    number: int,
    part: WorldPart,
    seed: int,
    objects: tuple[int, int],
    to_have_twins: Set[tuple[int, str]],
    *,
    even_bindings: bool,
) -> list[Planned]:
    """The scenes of one part of a world, split by split. `number`: that of the part."""
    counts = part.counts or {}
    design = design_of(part.holdout)
    rule = design.rule(vocabulary, part.holdout)
    scenes_of_split: dict[str, list[Planned]] = {}
    needed: set[Binding] = set()
    # Training comes last, because it shows the bindings that the other splits need.
    for split in sorted(rule.splits, key=lambda split: split == "train"):
        if split not in counts:
            continue
        # The first part has no number in its key: a world of one part keeps its plan when others
        # are added.
        key: tuple[int | str, ...] = (split,) if number == 0 else (split, number)
        stream = Stream("plan", seed, *key)
        sampler = AttributeSampler(rule, number, stream)
        try:
            bindings = None
            if even_bindings:
                bindings = EvenBindings(with_twins=(number, split) in to_have_twins)
            drafts = draft_split(
                rule,
                split,
                n=counts[split],
                objects=objects,
                stream=stream,
                needed=needed,
                bindings=bindings,
            )
            scenes_of_split[split] = list(sampler.complete(drafts))
        except UserError:
            if split not in design.may_lack(part.holdout):
                raise
            continue
        if split != UNSEEN_ATOMS:
            with_twins = (number, split) in to_have_twins
            needed |= _seen_bindings(scenes_of_split[split], rule.holdout, with_twins=with_twins)
        if design.shares_scenes:
            # Evaluation scenes that are planned for other holdouts may show any binding.
            every_binding = product(vocabulary.values(part.holdout.kind), vocabulary.objects)
            needed |= _not_held_out(every_binding, part.holdout)
    scenes = []
    # In the order of the rule, not of the counts, which a manifest does not keep.
    for split in rule.splits:
        scenes += scenes_of_split.get(split, [])
    return scenes


def count_splits(scenes: Iterable[Planned], rule: Rule) -> dict[str, int]:
    """The number of scenes in each split of a rule, whatever split they were planned for."""
    counts = dict.fromkeys(rule.splits, 0)
    holdout = rule.holdout
    for scene in scenes:
        # Without held-out relations, no rule asks for relations, which take a while to derive.
        relations = certain_relations(scene, rule.vocabulary) if holdout.triples else ()
        split = rule.place(scene.arrangement(holdout.kind), relations).split
        if split is not None:
            counts[split] += 1
    return counts


def _check_possible(vocabulary: Vocabulary, part: WorldPart, objects: tuple[int, int]) -> None:
    """Raise UserError if a split can have no scene of some number of objects, from counts of the
    held-out bindings.

    Drawing scenes would say the same after many failed attempts. Designs with a rule of their own
    are not checked.
    """
    design = design_of(part.holdout)
    rule = design.rule(vocabulary, part.holdout)
    if part.counts is None or not isinstance(rule, SplitPlan):
        return
    fewest, most = objects
    # Scenes of one object occur only in training.
    least = max(fewest, 2)
    values = vocabulary.values(part.holdout.kind)
    categories = list(vocabulary.objects)
    may_lack = design.may_lack(part.holdout)
    for n in range(least, most + 1):
        for split in splits_without_scenes(part.holdout, values, categories, n):
            # With fewer scenes than numbers of objects, this number might not occur.
            has_every_number = part.counts.get(split, 0) > most - least
            if has_every_number and split not in may_lack:
                raise no_scene_error(split, n)


def _seen_bindings(
    scenes: Sequence[Planned], holdout: Holdout, *, with_twins: bool
) -> set[Binding]:
    """The bindings of scenes that are not held out; with twins, also those that twins could have:
    any value of a scene with any of its categories."""
    bindings: set[Binding] = set()
    for arrangement in {scene.arrangement(holdout.kind) for scene in scenes}:
        if with_twins:
            values, categories = zip(*arrangement, strict=True)
            bindings |= set(product(values, categories))
        else:
            bindings |= set(arrangement)
    return _not_held_out(bindings, holdout)


def _not_held_out(bindings: Iterable[Binding], holdout: Holdout) -> set[Binding]:
    return {binding for binding in bindings if not holdout.holds_out(*binding)}
