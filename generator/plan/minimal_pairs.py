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

    Returns:
        The scenes in order; a twin comes right after its scene.

    Raises:
        UserError: as `plan_parts`.
    """
    rules = [design_of(part.holdout).rule(vocabulary, part.holdout) for part in parts]
    asked: Sizes = Counter()
    for number, part in enumerate(parts):
        asked.update({(number, split): n for split, n in (part.counts or {}).items()})
    drawn = Counter({key: ceil(n / 2) if _has_twins(key[1]) else n for key, n in asked.items()})
    while True:
        most_twins = asked - drawn
        originals = plan_parts(
            vocabulary, _with_counts(parts, drawn), seed, objects, most_twins.keys()
        )
        plan = with_twins(originals, rules, seed, exchange, most_twins)
        found = Counter((planned.part, str(planned.split)) for planned in plan)
        # A split without any scene may be lacking (`Design.may_lack`); more scenes cannot be drawn
        # for it.
        missing = {key: n - found[key] for key, n in asked.items() if 0 < found[key] < n}
        if not missing:
            return plan
        for key, n in missing.items():
            # As many originals as will fill the split if as large a share of them as now has a
            # twin.
            drawn[key] += ceil(n * drawn[key] / found[key])


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
    twins: Sizes = Counter()
    pairs_of_kind: Counter[tuple[int, str, str | None]] = Counter()
    plan: list[Planned] = []
    for planned in originals:
        scene = planned._replace(scene_id=scene_id(len(plan)))
        part, split = planned.part, str(planned.split)
        exchanges = {}
        if _has_twins(split) and twins[part, split] < most[part, split]:
            exchanges = _exchanges(planned, rules[part], exchange)
        if exchanges:
            kind = min(exchanges, key=lambda kind: pairs_of_kind[part, split, kind])
            pairs_of_kind[part, split, kind] += 1
            twins[part, split] += 1
            options = exchanges[kind]
            chosen = options[Stream("twin", seed, planned.scene_id).below(len(options))]
            scene = scene._replace(exchange=chosen)
            plan.append(scene)
            scene = scene._replace(scene_id=scene_id(len(plan)), twin_of=scene.scene_id)
        plan.append(scene)
    return plan


def _has_twins(split: str) -> bool:
    """Whether scenes of a split get twins."""
    return split not in ("train", *ASYMMETRIC)


def _with_counts(parts: Sequence[WorldPart], drawn: Sizes) -> list[WorldPart]:
    """The parts with other numbers of scenes."""
    return [
        replace(part, counts={split: drawn[number, split] for split in part.counts or {}})
        for number, part in enumerate(parts)
    ]


def _placing(planned: Planned, arrangement: Arrangement, rule: Rule) -> Placing:
    return rule.place(
        arrangement, certain_relations(planned, rule.vocabulary) if rule.holdout.triples else ()
    )


def _exchanges(planned: Planned, rule: Rule, exchange: str) -> dict[str | None, list[Exchange]]:
    """The exchanges that give a scene a twin, by kind: the tested kind, or None for places."""
    own = _placing(planned, planned.arrangement(rule.holdout.kind), rule)
    categories = [category for category, _ in planned.objects]
    stacked = {i for pair in enumerate(planned.rests_on) if pair[1] is not None for i in pair}
    lone = [
        i
        for i, category in enumerate(categories)
        if categories.count(category) == 1 and i not in stacked
    ]
    kinds = {VALUES: (rule.holdout.kind,), PLACES: (None,), BOTH: (rule.holdout.kind, None)}[
        exchange
    ]
    possible: dict[str | None, list[Exchange]] = {}
    for kind in kinds:
        options = [Exchange(kind, i, j) for i, j in combinations(lone, 2)]
        suitable = [option for option in options if _suits(planned, own, option, rule)]
        if suitable:
            possible[kind] = suitable
    return possible


def _suits(planned: Planned, own: Placing, exchange: Exchange, rule: Rule) -> bool:
    """Whether an exchange changes the arrangement, but not its split, its number of held-out
    bindings or its triples.

    In `partial` just one of the two objects has to be held out, if any binding of the scene is."""
    before = planned.arrangement(rule.holdout.kind)
    values, categories = [value for value, _ in before], [category for _, category in before]
    if exchange.kind is None:
        categories = swapped(categories, exchange)
    after = tuple(zip(swapped(values, exchange), categories, strict=True))
    if before == after:
        return False
    twins = _placing(planned, after, rule)
    held_out = sum(rule.holdout.holds_out(*before[i]) for i in (exchange.first, exchange.second))
    return (
        own.split == twins.split
        and len(own.held_out) == len(twins.held_out)
        and own.triples == twins.triples
        and (own.split != "partial" or held_out == 1 or not own.held_out)
    )
