"""Plans of whole worlds: order, the grid, and how even they are."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan, arrangements
from generator.holdout.request import WorldPart, draw_holdouts
from generator.plan.plan import plan_parts
from generator.vocabulary.schema import read_vocabulary

CLEVR = read_vocabulary("clevr")


def test_a_plan_does_not_depend_on_the_order_of_its_counts() -> None:
    """A manifest lists splits by name, and the benchmarks of several holdouts are made from the plan that it
    describes."""
    counts = {"train": 9, "val": 2, "seen": 3, "partial": 3, "unseen": 3}
    plans = [
        plan_parts(
            CLEVR, [WorldPart(holdout, dict(order)) for holdout in draw_holdouts(("k4..5",), "coverage", CLEVR, 0)], 0
        )
        for order in (counts.items(), sorted(counts.items()))
    ]
    assert list(plans[0]) == list(plans[1])


@pytest.mark.full
def test_the_grid_of_spare_is_split_as_published() -> None:
    """Protocols, section 1: 6,042 scenes without a held-out binding, of which 810 only train; 504 and 810 with one;
    36 with two."""
    parts = [WorldPart(draw_block("3x3", CLEVR, 0), None)]
    plan = plan_parts(CLEVR, parts, 0)
    for seed in range(3):
        rule = SplitPlan(CLEVR, draw_block("3x3", CLEVR, seed))
        counts: Counter[tuple[bool, int, bool]] = Counter()
        for planned in plan:
            placing = rule.place(tuple((values["color"], thing) for thing, values in planned.objects))
            counts[placing.split in ("train", "val", "seen"), len(placing.held_out), placing.symmetric] += 1
        assert counts == {
            (True, 0, True): 5232,
            (True, 0, False): 810,
            (False, 1, True): 504,
            (False, 1, False): 810,
            (False, 2, True): 36,
        }


@pytest.mark.full
def test_a_grid_is_planned_in_the_order_of_its_arrangements() -> None:
    plan = plan_parts(CLEVR, [WorldPart(draw_block("3x3", CLEVR, 0), None)], 0)
    planned = [tuple((values["color"], thing) for thing, values in scene.objects) for scene in plan]
    assert planned == list(arrangements(CLEVR, "color"))


SEEDS, SHUFFLES = 20, 2000
SCENES = {"train": 40, "seen": 20, "unseen": 14}


Seen = tuple[str, str, dict[str, object]]


@cache
def plans(split: str) -> list[list[Seen]]:
    """For each seed the objects of a plan of two: value, category, and what might tell on them."""
    vocabulary = read_vocabulary("pearson2025")
    found = []
    for seed in range(SEEDS):
        plan = plan_parts(vocabulary, [WorldPart(draw_block("3x2", vocabulary, seed), {split: SCENES[split]})], seed)
        found.append(
            [
                (values["color"], thing, {"place": place, "depth": scene.depth_order[place], "size": values["size"]})
                for scene in plan
                for place, (thing, values) in enumerate(scene.objects)
            ]
        )
    return found


def told(samples: list[tuple[list[object], list[object]]]) -> float:
    """How likely chance is to make the second of two lists say as much about the first as it does, over all samples:
    the permutation test of the sum of squared counts, each cell by its row's expectation."""
    chance = np.random.default_rng(0)
    seen, shuffled = 0.0, np.zeros(SHUFFLES)
    for names, marks in samples:
        rows = np.unique(np.array(names, str), return_inverse=True)[1]
        columns = np.unique(np.array(marks, str), return_inverse=True)[1]
        width, size = columns.max() + 1, (rows.max() + 1) * (columns.max() + 1)
        expected = np.outer(np.bincount(rows), np.bincount(columns)).ravel() / len(rows)

        def strength(marks: np.ndarray) -> float:
            table = np.bincount(rows * width + marks, minlength=size)  # noqa: B023
            return float((((table - expected) ** 2) / expected).sum())  # noqa: B023

        seen += strength(columns)
        shuffled += [strength(chance.permutation(columns)) for _ in range(SHUFFLES)]
    return float((1 + (shuffled >= seen - 1e-9).sum()) / (1 + SHUFFLES))


@pytest.mark.parametrize("split", ["train", pytest.param("seen", marks=pytest.mark.full), "unseen"])
def test_places_and_sizes_say_nothing_about_values(split: str) -> None:
    """Twenty block seeds together; Bonferroni over the splits and what is asked."""
    asked = [(name, mark) for name in (0, 1) for mark in ("place", "depth", "size")]
    for name, mark in asked:
        samples = [([each[name] for each in plan], [each[2][mark] for each in plan]) for plan in plans(split)]
        assert told(samples) * len(asked) * len(SCENES) > 0.01, (name, mark)


def test_a_place_that_says_something_is_noticed() -> None:
    names = ["red", "blue"] * 40
    biased: list[object] = [int(name == "red") if i % 4 else 0 for i, name in enumerate(names)]
    assert told([([*names], biased)]) * 18 < 0.01


def spreads(plan: list[Seen]) -> list[int]:
    """By how much the most frequent value, and object, exceeds the least frequent one: in all, and on either side."""
    found = []
    for name in (0, 1):
        for places in ((0, 1), (0,), (1,)):
            counts = Counter(each[name] for each in plan if each[2]["place"] in places)
            missing = {each[name] for each in plan} - {*counts}
            found.append(max(counts.values()) - (0 if missing else min(counts.values())))
    return found


@pytest.mark.parametrize("split", ["train", "unseen"])
def test_values_and_objects_are_as_frequent_as_each_other(split: str) -> None:
    """The unseen split has the names of the block alone. The seen one of so few objects has too few groups to be
    even."""
    assert max(max(spreads(plan)) for plan in plans(split)) <= 1


@pytest.mark.parametrize("seed", range(3))
def test_values_and_objects_of_the_seen_split_are_as_frequent_as_each_other(seed: int) -> None:
    plan = plan_parts(CLEVR, [WorldPart(draw_block("3x3", CLEVR, seed), {"seen": 61})], seed)
    rows = [
        (values["color"], thing, {"place": place})
        for scene in plan
        for place, (thing, values) in enumerate(scene.objects)
    ]
    assert {value for value, _, _ in rows} == {*CLEVR.values("color")}
    assert max(spreads(rows)) <= 1
