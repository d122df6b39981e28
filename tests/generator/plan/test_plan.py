"""Plans of whole worlds: order, the grid, and how even they are."""

import math
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache

import pytest
from scipy.stats import chi2
from scipy.stats.contingency import crosstab, expected_freq

from generator.holdout.blocks import draw_block
from generator.holdout.membership import arrangements
from generator.holdout.request import WorldPart, draw_holdouts
from generator.plan.options import WorldOptions
from generator.plan.plan import plan_parts
from generator.plan.prepare import prepare
from generator.vocabulary.schema import read_vocabulary

CLEVR = read_vocabulary("clevr")


def test_a_plan_does_not_depend_on_the_order_of_its_counts() -> None:
    """A manifest lists splits by name, and the benchmarks of several holdouts are made from the
    plan that it describes."""
    counts = {"train": 9, "val": 2, "seen": 3, "partial": 3, "unseen": 3}
    plans = [
        plan_parts(
            CLEVR,
            [
                WorldPart(holdout, dict(order))
                for holdout in draw_holdouts(("k4..5",), "coverage", vocabulary=CLEVR, block_seed=0)
            ],
            0,
        )
        for order in (counts.items(), sorted(counts.items()))
    ]
    assert list(plans[0]) == list(plans[1])


@pytest.mark.full
def test_a_grid_is_planned_in_the_order_of_its_arrangements() -> None:
    plan = plan_parts(CLEVR, [WorldPart(draw_block("3x3", CLEVR, 0), None)], 0)
    planned = [
        tuple((values["color"], category) for category, values in scene.objects) for scene in plan
    ]
    assert planned == list(arrangements(CLEVR, "color"))


SEEDS = 20
SCENES = {"train": 40, "seen": 20, "unseen": 14}
Seen = tuple[str, str, dict[str, object]]


@cache
def plans(split: str) -> list[list[Seen]]:
    """For each seed the objects of a plan of two: value, category, and what might tell on them."""
    vocabulary = read_vocabulary("pearson2025")
    plans_of_seeds = []
    for seed in range(SEEDS):
        plan = plan_parts(
            vocabulary,
            [WorldPart(draw_block("3x2", vocabulary, seed), {split: SCENES[split]})],
            seed,
        )
        plans_of_seeds.append(
            [
                (
                    values["color"],
                    category,
                    {"place": place, "depth": scene.depth_order[place], "size": values["size"]},
                )
                for scene in plan
                for place, (category, values) in enumerate(scene.objects)
            ]
        )
    return plans_of_seeds


def told(samples: list[tuple[list[object], list[object]]]) -> float:
    """How likely chance is to make the second of two lists say as much about the first as it does,
    over all samples."""
    strength = freedom = 0.0
    for names, marks in samples:
        table = crosstab(names, marks).count
        expected = expected_freq(table)
        strength += float(((table - expected) ** 2 / expected).sum())
        # what shuffling gives on average: more than the limit of many objects
        freedom += math.prod(n - 1 for n in table.shape) * len(names) / (len(names) - 1)
    return float(chi2.sf(strength, freedom))


@pytest.mark.parametrize(
    "split",
    [*(pytest.param(split, marks=pytest.mark.full) for split in ("train", "seen")), "unseen"],
)
def test_places_and_sizes_say_nothing_about_values(split: str) -> None:
    """Twenty block seeds together; Bonferroni over the splits and what is asked."""
    questions = [(name, mark) for name in (0, 1) for mark in ("place", "depth", "size")]
    for name, mark in questions:
        samples = [
            (
                [seen_object[name] for seen_object in plan],
                [seen_object[2][mark] for seen_object in plan],
            )
            for plan in plans(split)
        ]
        assert told(samples) * len(questions) * len(SCENES) > 0.01, (name, mark)


def test_a_place_that_says_something_is_noticed() -> None:
    names = ["red", "blue"] * 40
    biased: list[object] = [int(name == "red") if i % 4 else 0 for i, name in enumerate(names)]
    assert told([([*names], biased)]) * 18 < 0.01


@pytest.mark.full
def test_objects_of_the_ground_colour_are_put_elsewhere_in_all_splits_alike() -> None:
    counts = {"train": 960, "val": 8, "seen": 480, "partial": 8, "unseen": 8}
    environments_of = defaultdict[tuple[str, str], list[str]](list)
    job = WorldOptions(family="pug", holdout="3x3", scenes=counts, resolution="64x64")
    for scene in prepare(job).planned:
        for _, attributes in scene.objects:
            environments_of[str(scene.split), attributes["color"]].append(scene.environment)
    places = set(read_vocabulary("pug").environments)
    hidden = {
        "gray": {"mountains", "spaceship", "city"},
        "yellow": {"desert", "island"},
        "brown": {"forest"},
        "green": {"meadow"},
    }
    for color in read_vocabulary("pug").values("color"):
        for split in ("train", "seen"):
            counted = Counter(environments_of[split, color])
            assert counted.keys() == places - hidden.get(color, set()), (split, color)
            assert max(counted.values()) <= 1.6 * min(counted.values()), (split, color)
        train, seen = (Counter(environments_of[split, color]) for split in ("train", "seen"))
        for place in train:
            assert abs(train[place] / train.total() - seen[place] / seen.total()) < 0.025
    alone = prepare(replace(job, environments=("city",))).planned
    assert {scene.environment for scene in alone} == {"city"}
