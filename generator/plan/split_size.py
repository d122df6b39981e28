"""How many scenes, clusters and bindings planned splits have."""

from collections.abc import Sequence

from generator.holdout.holdout import Holdout
from generator.holdout.membership import Arrangement, cluster_of
from generator.holdout.power import SplitSize, told_split
from generator.holdout.request import WorldPart, design_of
from generator.plan.plan import plan_parts
from generator.plan.record import Scenes
from generator.scene.layouts import facts
from generator.vocabulary.schema import Vocabulary


def sizes_to_plan(
    holdouts: Sequence[Holdout],
    parts: Sequence[WorldPart],
    vocabulary: Vocabulary,
    seed: int,
    objects: tuple[int, int] = (2, 2),
) -> list[SplitSize]:
    """What `planned_sizes` will be for the first holdouts of a world of such parts; only the scenes of these splits are planned.

    Raises UserError where no scene belongs to one.
    """
    told = []
    for part in parts[: len(holdouts)]:
        split = told_split(design_of(part.holdout).rule(vocabulary, part.holdout))
        told.append(WorldPart(part.holdout, None if part.counts is None else {split: part.counts[split]}))
    plan = plan_parts(vocabulary, told, seed, objects)
    return planned_sizes(plan, holdouts, vocabulary)


def planned_sizes(planned: Scenes, holdouts: Sequence[Holdout], vocabulary: Vocabulary) -> list[SplitSize]:
    """For each holdout of a plan, the size of the split whose accuracy is the claim (`told_split`).

    Over the grid, where no scene is planned for a split, scenes belong to the splits that the holdouts' rules give them.
    """
    rules = [design_of(holdout).rule(vocabulary, holdout) for holdout in holdouts]
    splits = [told_split(rule) for rule in rules]
    shown: list[list[tuple[str, Arrangement]]] = [[] for _ in holdouts]
    for each in planned:
        for part in range(len(rules)) if each.split is None else [each.part]:
            if each.split not in (None, splits[part]):
                continue
            arrangement = tuple((attributes[holdouts[part].kind], category) for category, attributes in each.objects)
            placing = rules[part].place(arrangement, facts(each, vocabulary), each.scene_id)
            if (each.split or placing.split) == splits[part]:
                shown[part].append((cluster_of(arrangement, placing.triples), arrangement))
    return [SplitSize.of(*each) for each in zip(splits, shown, strict=True)]
