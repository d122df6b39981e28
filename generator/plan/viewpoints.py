"""Plans from where a scene is seen: the azimuth of its camera, and the turn twin that sees the same
objects from another azimuth."""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import ceil

from generator.base.streams import Stream
from generator.holdout.membership import ASYMMETRIC
from generator.holdout.request import WorldPart
from generator.plan.balance import CellCounts, Cells, choose
from generator.plan.minimal_pairs import with_counts
from generator.plan.plan import plan_parts
from generator.scene.planned import Planned, scene_id
from generator.vocabulary.schema import Vocabulary


def azimuths(viewpoints: int) -> list[float]:
    """Return the azimuths of a number of viewpoints, degrees.

    Example:
        >>> azimuths(4)
        [0.0, 90.0, 180.0, 270.0]
    """
    return [360 * i / viewpoints for i in range(viewpoints)]


def with_viewpoints(plan: Sequence[Planned], viewpoints: int, seed: int) -> list[Planned]:
    """Draw an azimuth for each scene of a plan; nothing else of the plan changes.

    In each split, the azimuths are equally frequent overall and, as far as their numbers allow, in
    the scenes of each place, category and attribute value. A twin has the azimuth of its scene.

    Args:
        plan: The scenes in order.
        viewpoints: The number of azimuths.
        seed: Of the plan.
    """
    options = azimuths(viewpoints)
    counts = CellCounts()
    originals = [scene for scene in plan if scene.twin_of is None]
    cells_of_scene: list[list[Cells]] = []
    for scene in originals:
        classes = _classes(scene)
        cells_of_scene.append(
            [tuple(counts.cell(key, azimuth) for key in classes) for azimuth in options]
        )
    choices = choose(cells_of_scene, counts, Stream("viewpoints", seed))
    azimuth_of = {}
    for scene, choice in zip(originals, choices, strict=True):
        azimuth_of[scene.scene_id] = options[choice]

    with_azimuths = []
    for scene in plan:
        original_id = scene.twin_of or scene.scene_id
        with_azimuths.append(scene._replace(azimuth=azimuth_of[original_id]))
    return with_azimuths


def plan_with_turns(
    vocabulary: Vocabulary,
    parts: Sequence[WorldPart],
    seed: int,
    objects: tuple[int, int],
    turns: Sequence[float],
    *,
    even_bindings: bool = False,
) -> list[Planned]:
    """Plan the scenes of a world with turn twins. The counts of the parts include the twins.

    Half of the scenes of an evaluation split are drawn, and each is followed by its twin; of an odd
    number, the last has none. The turns are equally frequent in each split.

    Args:
        vocabulary: Of the world.
        parts: The holdouts with the number of scenes of each split; no part may be the grid.
        seed: Of the plan.
        objects: The fewest and the most objects of a scene.
        turns: The turns of the camera, degrees.
        even_bindings: As of `plan_parts`.

    Returns:
        The scenes in order. A twin has the plan of its scene, and its id in `twin_of`.

    Raises:
        UserError: As `plan_parts`.
    """
    missing_twins: Counter[tuple[int, str]] = Counter()
    n_originals: Counter[tuple[int, str]] = Counter()
    for number, part in enumerate(parts):
        for split, n in (part.counts or {}).items():
            has_twins = split not in ("train", *ASYMMETRIC)
            n_originals[number, split] = ceil(n / 2) if has_twins else n
            missing_twins[number, split] = n - n_originals[number, split]
    originals = plan_parts(
        vocabulary, with_counts(parts, n_originals), seed, objects, even_bindings=even_bindings
    )

    turn_of_twin = _deal_turns(missing_twins, turns, seed)
    plan: list[Planned] = []
    for original in originals:
        scene = original._replace(scene_id=scene_id(len(plan)))
        key = original.part, str(original.split)
        if turn_of_twin[key]:
            scene = scene._replace(turn=turn_of_twin[key].pop())
            plan.append(scene)
            scene = scene._replace(scene_id=scene_id(len(plan)), twin_of=scene.scene_id)
        plan.append(scene)
    return plan


def _deal_turns(
    n_twins: Counter[tuple[int, str]], turns: Sequence[float], seed: int
) -> dict[tuple[int, str], list[float]]:
    """The turn of each twin, by part and split, in random order."""
    dealt = {}
    for (part, split), n in n_twins.items():
        stream = Stream("turns", seed, part, split)
        dealt[part, split] = list(stream.balanced(list(turns), n))
    return dealt


def _classes(scene: Planned) -> list[Hashable]:
    """The classes of scenes in which azimuths are equally frequent."""
    split = (scene.part, scene.split)
    classes: list[Hashable] = [split, (*split, "environment", scene.environment)]
    if scene.turn is not None:
        classes.append((*split, "turn", scene.turn))
    # Where an object looks, relative to the camera, must not tell on which of its sides the other
    # stands.
    for side in scene.own_sides:
        classes += [(*split, side.relation), (*split, side.relation, "place", side.object)]
    for category, attributes in scene.objects:
        classes.append((*split, "category", category))
        for kind, value in attributes.items():
            classes.append((*split, kind, value))
    return classes
