"""Adds minimal pairs to a plan: each scene of an evaluation split is followed by its twin."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from generator.base.streams import Stream
from generator.holdout.membership import ASYMMETRIC, Arrangement, Placing, Rule
from generator.scene.exchange import Exchange, swapped
from generator.scene.layouts import facts
from generator.scene.planned import Planned, scene_id


def with_twins(plan: Sequence[Planned], rules: Sequence[Rule], seed: int) -> list[Planned]:
    """Insert a twin after each scene of an evaluation split that can have one, and renumber all scenes.

    rules: the rule of each part of the world. A twin has its scene's split in the part that the scene is planned for.
    In a rotation it then has the same split in every turn, since it shows the same values and objects.

    In half of a split's pairs two objects exchange their values of the tested kind, in the other half their places.
    Each of the two is the only object of its category, so that captions can name it, and is in no stack; in `partial`
    one of them has a held-out binding. A twin has the split of its scene and the same number of held-out bindings.
    Training and asymmetric scenes get no twins: a twin of a training scene could show a held-out binding.
    """
    counts: Counter[tuple[str | None, str | None]] = Counter()
    made: list[Planned] = []
    for planned in plan:
        rule = rules[planned.part]
        scene = planned._replace(scene_id=scene_id(len(made)))
        placing = _placing(planned, planned.arrangement(rule.holdout.kind), rule)
        split = placing.split
        if split not in (None, "train", *ASYMMETRIC) and (exchanges := _exchanges(planned, placing, rule)):
            kind = min(exchanges, key=lambda each: counts[split, each])
            counts[split, kind] += 1
            options = exchanges[kind]
            chosen = options[Stream("twin", seed, planned.scene_id).below(len(options))]
            scene = scene._replace(exchange=chosen)
            made.append(scene)
            scene = scene._replace(scene_id=scene_id(len(made)), twin_of=scene.scene_id)
        made.append(scene)
    return made


def _placing(planned: Planned, arrangement: Arrangement, rule: Rule) -> Placing:
    return rule.place(arrangement, facts(planned, rule.vocabulary) if rule.holdout.triples else ())


def _exchanges(planned: Planned, own: Placing, rule: Rule) -> dict[str | None, list[Exchange]]:
    """The exchanges that give a scene a twin, by kind: the tested kind, or None for places."""
    categories = [category for category, _ in planned.objects]
    stacked = {i for pair in enumerate(planned.rests_on) if pair[1] is not None for i in pair}
    lone = [i for i, category in enumerate(categories) if categories.count(category) == 1 and i not in stacked]
    found = {
        kind: [each for i, j in combinations(lone, 2) if _suits(planned, own, each := Exchange(kind, i, j), rule)]
        for kind in (rule.holdout.kind, None)
    }
    return {kind: options for kind, options in found.items() if options}


def _suits(planned: Planned, own: Placing, exchange: Exchange, rule: Rule) -> bool:
    """Whether an exchange changes the arrangement, but not its split, its number of held-out bindings or its triples.

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
