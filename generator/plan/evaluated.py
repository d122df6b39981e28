"""Collects the scenes that decide the main result of a design, from a plan or from a drawn holdout.

`generator.plan.power` simulates what these scenes will tell.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from generator.base.clusters import OF, SEPARATOR
from generator.holdout.holdout import Binding, Holdout
from generator.holdout.membership import ASYMMETRIC, Arrangement, Rule, cluster_of
from generator.holdout.possible import splits_that_stay_empty
from generator.holdout.request import WorldPart, design_of
from generator.plan.minimal_pairs import plan_with_twins
from generator.plan.plan import plan_parts
from generator.scene.layouts import certain_relations
from generator.scene.planned import Planned
from generator.vocabulary.schema import Vocabulary


@dataclass
class EvaluatedScenes:
    """The scenes of a split, over all turns or blocks whose results are pooled."""

    name: str
    """The name of the design, for people."""
    split: str
    """The split whose accuracy is the main result."""
    vocabulary: tuple[int, int]
    """The number of values and of objects of the world."""
    blocks: list[int] = field(default_factory=list)
    """The turn or block of each scene, counted from 0."""
    clusters: list[str] = field(default_factory=list)
    """The cluster of each scene."""
    bindings: list[str] = field(default_factory=list)
    """The bindings of each scene, as in `red:cube;blue:ball`."""
    trained: bool = True
    """Whether models are trained for each turn or block. False if nothing is held out."""
    rotation: bool = False
    """Whether the blocks are the turns of a rotation."""

    def add(self, block: int, cluster: str, arrangement: Arrangement) -> None:
        """Add a scene.

        Args:
            block: its turn or block, counted from 0.
            cluster: its cluster.
            arrangement: the value and the category of each of its objects.
        """
        bindings = [f"{value}{OF}{category}" for value, category in arrangement]
        self.blocks.append(block)
        self.clusters.append(cluster)
        self.bindings.append(SEPARATOR.join(bindings))

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def block_count(self) -> int:
        """The number of turns or blocks with a scene."""
        return len(set(self.blocks))

    @property
    def cluster_count(self) -> int:
        """The number of different clusters."""
        return len(set(self.clusters))

    @property
    def binding_count(self) -> int:
        """The number of different bindings."""
        distinct: set[str] = set()
        for scene in set(self.bindings):
            distinct.update(scene.split(SEPARATOR))
        return len(distinct)


def headline_split(rule: Rule) -> str:
    """The split whose accuracy is the main result.

    Args:
        rule: of the design, for a holdout.

    Returns:
        `unseen`, or the last split of class lists. Where no scene can be `unseen`, it is
        `asymmetric_unseen`, which shows what is held out.
    """
    if rule.holdout.asymmetric and "unseen" in splits_that_stay_empty(rule.holdout):
        return ASYMMETRIC[1]
    return "unseen" if "unseen" in rule.splits else rule.splits[-1]


def design_name(holdout: Holdout) -> str:
    """The name that the holdouts of a design share: the turns of a rotation, and the block seeds of
    a block. Their results are pooled into one."""
    design = design_of(holdout)
    if design.shares_scenes:
        return f"{' '.join(holdout.asked)}, block seed {holdout.block_seed}"
    return design.benchmark_name(holdout).removesuffix(f"-b{holdout.block_seed}")


def empty_scenes(holdout: Holdout, vocabulary: Vocabulary) -> EvaluatedScenes:
    """The record of a design without its scenes."""
    design = design_of(holdout)
    n_values = len(vocabulary.values(holdout.kind))
    return EvaluatedScenes(
        name=design_name(holdout),
        split=headline_split(design.rule(vocabulary, holdout)),
        vocabulary=(n_values, len(vocabulary.objects)),
        trained=not holdout.is_empty,
        rotation=design.shares_scenes,
    )


def planned_scenes(
    planned: Iterable[Planned], holdouts: Sequence[Holdout], vocabulary: Vocabulary
) -> list[EvaluatedScenes]:
    """The evaluated scenes of each design of a plan.

    Args:
        planned: the scenes of a world.
        holdouts: one for each part of the world; those of one design have the same `design_name`.
        vocabulary: of the world.

    Returns:
        The scenes of each design.
    """
    rules = [design_of(holdout).rule(vocabulary, holdout) for holdout in holdouts]
    names = [design_name(holdout) for holdout in holdouts]
    designs: dict[str, EvaluatedScenes] = {}
    for name, holdout in zip(names, holdouts, strict=True):
        designs.setdefault(name, empty_scenes(holdout, vocabulary))
    shares_scenes = design_of(holdouts[0]).shares_scenes
    for scene in planned:
        # Scenes that were planned for no split, as over the grid, may belong to every holdout; so
        # may the scenes that the turns of a rotation share. Rules then say to which.
        is_shared = scene.split is None or shares_scenes
        parts = range(len(rules)) if is_shared else [scene.part]
        for part in parts:
            design = designs[names[part]]
            if not is_shared and scene.split != design.split:
                continue
            arrangement = scene.arrangement(holdouts[part].kind)
            relations = certain_relations(scene, vocabulary)
            placing = rules[part].place(arrangement, relations, scene.scene_id)
            split = placing.split if is_shared else scene.split
            if split == design.split:
                design.add(part, cluster_of(arrangement, placing.triples), arrangement)
    return list(designs.values())


def scenes_to_plan(
    holdouts: Sequence[Holdout],
    parts: Sequence[WorldPart],
    *,
    vocabulary: Vocabulary,
    seed: int,
    objects: tuple[int, int] = (2, 2),
    exchange: str | None = None,
) -> list[EvaluatedScenes]:
    """Predict `planned_scenes` for a world of these parts, from a plan of only these scenes.

    Args:
        holdouts: one for each part.
        parts: the parts of the world.
        vocabulary: of the world.
        seed: of the scenes.
        objects: the least and greatest number of objects of a scene.
        exchange: what twins exchange; None for a world without twins.

    Returns:
        The scenes of each design.

    Raises:
        UserError: a split has no scene.
    """
    of_splits = []
    for part in parts:
        rule = design_of(part.holdout).rule(vocabulary, part.holdout)
        split = headline_split(rule)
        counts = None if part.counts is None else {split: part.counts[split]}
        of_splits.append(WorldPart(part.holdout, counts))
    if exchange is None:
        plan = plan_parts(vocabulary, of_splits, seed, objects)
    else:
        plan = plan_with_twins(vocabulary, of_splits, seed, objects, exchange)
    return planned_scenes(plan, holdouts, vocabulary)


def dealt_scenes(
    name: str, holdouts: Sequence[Holdout], *, vocabulary: Vocabulary, number: int
) -> EvaluatedScenes:
    """Scenes of two objects that holdouts of bindings leave unseen, each as often as any other.
    They stand for a plan that nobody made yet.

    Args:
        name: of the design, for people.
        holdouts: of its turns or blocks.
        vocabulary: of the world.
        number: about how many scenes, over all turns or blocks.

    Returns:
        The scenes.
    """
    dealt = empty_scenes(holdouts[0], vocabulary)
    dealt.name = name
    for block, holdout in enumerate(holdouts):
        arrangements = _unseen_arrangements(holdout.bindings)
        for i in range(round(number / len(holdouts))):
            arrangement = arrangements[i % len(arrangements)]
            dealt.add(block, cluster_of(arrangement, ()), arrangement)
    return dealt


def _unseen_arrangements(bindings: Sequence[Binding]) -> list[Arrangement]:
    """Pairs of held-out bindings that stay held out if their objects exchange values."""
    held_out = set(bindings)
    arrangements: list[Arrangement] = []
    for first, second in combinations(bindings, 2):
        value, category = first
        other_value, other_category = second
        if value == other_value or category == other_category:
            continue
        exchanged = {(value, other_category), (other_value, category)}
        if exchanged <= held_out:
            arrangements.append((first, second))
    return arrangements
