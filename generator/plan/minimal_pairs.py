"""Plans minimal pairs: scenes of evaluation splits are followed by a twin, which differs in one
exchange."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import ceil

from generator.base.streams import Stream
from generator.holdout.membership import ASYMMETRIC, Arrangement, Placing, Rule
from generator.holdout.request import WorldPart, design_of
from generator.plan.plan import plan_parts
from generator.scene.exchange import BOTH, PLACES, VALUES, Exchange, swapped
from generator.scene.layouts import certain_relations
from generator.scene.planned import Planned, scene_id
from generator.vocabulary.schema import Vocabulary

Sizes = Counter[tuple[int, str]]
"""Numbers of scenes by the number of their part and by their split."""


def plan_with_twins(
    vocabulary: Vocabulary,
    parts: Sequence[WorldPart],
    seed: int,
    objects: tuple[int, int] = (2, 2),
    exchange: str = VALUES,
    *,
    even_bindings: bool = False,
) -> list[Planned]:
    """Plan the scenes of a world with twins. The counts of the parts include the twins.

    Half of the scenes of an evaluation split are drawn, and each gets a twin. Where some scenes can
    have no twin, more are drawn, so that a split has as many scenes as were asked for.

    Args:
        vocabulary: of the world.
        parts: the holdouts with the number of scenes of each split; no part may be the grid.
        seed: of the plan.
        objects: the fewest and the most objects of a scene.
        exchange: one of EXCHANGES.
        even_bindings: as of `plan_parts`.

    Returns:
        The scenes in order; a twin comes right after its scene.

    Raises:
        UserError: as `plan_parts`.
    """
    rules = [design_of(part.holdout).rule(vocabulary, part.holdout) for part in parts]
    requested: Sizes = Counter()
    for number, part in enumerate(parts):
        for split, n in (part.counts or {}).items():
            requested[number, split] = n
    n_originals: Sizes = Counter()
    for (number, split), n in requested.items():
        n_originals[number, split] = ceil(n / 2) if _has_twins(split) else n

    # Until every split is full: how many scenes can have a twin is known only after they are drawn.
    while True:
        most_twins = requested - n_originals
        originals = plan_parts(
            vocabulary,
            with_counts(parts, n_originals),
            seed,
            objects,
            most_twins.keys(),
            even_bindings=even_bindings,
        )
        plan = with_twins(originals, rules, seed, exchange, most_twins)
        planned = Counter((scene.part, str(scene.split)) for scene in plan)
        # A split without any scene may be lacking (`Design.may_lack`); more scenes cannot be drawn
        # for it.
        missing = {key: n - planned[key] for key, n in requested.items() if 0 < planned[key] < n}
        if not missing:
            return plan
        for key, n in missing.items():
            # As many originals as will fill the split if as large a share of them as now has a
            # twin.
            n_originals[key] += ceil(n * n_originals[key] / planned[key])


def with_twins(
    originals: Sequence[Planned],
    rules: Sequence[Rule],
    seed: int,
    exchange: str,
    most: Sizes,
) -> list[Planned]:
    """Insert a twin after scenes of evaluation splits that can have one, and renumber all scenes.

    Each of the two exchanged objects is the only one of its category, so that captions can name it,
    and is in no stack; in `partial` one of them has a held-out binding. A twin has the split of its
    scene and the same number of held-out bindings. Training and asymmetric scenes get no twins: a
    twin of a training scene could show a held-out binding.

    Args:
        originals: the scenes without twins.
        rules: the rule of each part of the world.
        seed: of the plan; it draws the two objects.
        exchange: one of EXCHANGES.
        most: the most twins of each split of each part.
    """
    n_twins: Sizes = Counter()
    n_pairs_of_kind: Counter[tuple[int, str, str | None]] = Counter()
    plan: list[Planned] = []
    for original in originals:
        scene = original._replace(scene_id=scene_id(len(plan)))
        part, split = original.part, str(original.split)
        exchanges = {}
        if _has_twins(split) and n_twins[part, split] < most[part, split]:
            exchanges = _exchanges(original, rules[part], exchange)
        if exchanges:
            # Of two kinds of exchange, the one with fewer pairs in this split so far.
            kind = min(exchanges, key=lambda kind: n_pairs_of_kind[part, split, kind])
            n_pairs_of_kind[part, split, kind] += 1
            n_twins[part, split] += 1
            options = exchanges[kind]
            # A stream for each scene: its twin does not depend on which others have one.
            stream = Stream("twin", seed, original.scene_id)
            chosen = options[stream.below(len(options))]
            scene = scene._replace(exchange=chosen)
            plan.append(scene)
            scene = scene._replace(scene_id=scene_id(len(plan)), twin_of=scene.scene_id)
        plan.append(scene)
    return plan


def _has_twins(split: str) -> bool:
    """Whether scenes of a split get twins."""
    return split not in ("train", *ASYMMETRIC)


def with_counts(parts: Sequence[WorldPart], counts: Sizes) -> list[WorldPart]:
    """The parts with other numbers of scenes."""
    return [
        replace(part, counts={split: counts[number, split] for split in part.counts or {}})
        for number, part in enumerate(parts)
    ]


def _placing(scene: Planned, arrangement: Arrangement, rule: Rule) -> Placing:
    """What a rule says of a scene with another arrangement at the same places."""
    relations = certain_relations(scene, rule.vocabulary) if rule.holdout.triples else ()
    return rule.place(arrangement, relations)


def _exchanges(scene: Planned, rule: Rule, exchange: str) -> dict[str | None, list[Exchange]]:
    """The exchanges that give a scene a twin, by kind: the tested kind, or None for places."""
    placing = _placing(scene, scene.arrangement(rule.holdout.kind), rule)
    categories = [category for category, _ in scene.objects]
    in_stack: set[int] = set()
    for upper, lower in enumerate(scene.rests_on):
        if lower is not None:
            in_stack |= {upper, lower}
    lone = []
    for i, category in enumerate(categories):
        if categories.count(category) == 1 and i not in in_stack:
            lone.append(i)

    tested = rule.holdout.kind
    kinds = {VALUES: (tested,), PLACES: (None,), BOTH: (tested, None)}[exchange]
    exchanges: dict[str | None, list[Exchange]] = {}
    for kind in kinds:
        options = [Exchange(kind, i, j) for i, j in combinations(lone, 2)]
        suitable = [
            option for option in options if _gives_twin(scene, placing, exchange=option, rule=rule)
        ]
        if suitable:
            exchanges[kind] = suitable
    return exchanges


def _gives_twin(scene: Planned, placing: Placing, *, exchange: Exchange, rule: Rule) -> bool:
    """Whether an exchange changes the arrangement, but not its split, its number of held-out
    bindings or its triples.

    In `partial` exactly one of the two objects has to be held out, if any binding of the scene is.
    """
    before = scene.arrangement(rule.holdout.kind)
    values = swapped([value for value, _ in before], exchange)
    categories = [category for _, category in before]
    if exchange.kind is None:
        # Objects are listed from left to right, so places exchange values and categories.
        categories = swapped(categories, exchange)
    after = tuple(zip(values, categories, strict=True))
    if before == after:
        return False
    twin_placing = _placing(scene, after, rule)
    if placing.split != twin_placing.split or placing.triples != twin_placing.triples:
        return False
    if len(placing.held_out) != len(twin_placing.held_out):
        return False
    if placing.split == "partial" and placing.held_out:
        first, second = before[exchange.first], before[exchange.second]
        return rule.holdout.holds_out(*first) != rule.holdout.holds_out(*second)
    return True
