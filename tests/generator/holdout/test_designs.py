"""What designs hold out and plan: the published numbers, closure, coverage, balance, and what is impossible."""

import csv
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from generator.dataset.errors import UserError
from generator.holdout.blocks import draw_block, draw_holdouts
from generator.holdout.class_lists import ClassRule, shared_labels
from generator.holdout.membership import SplitPlan, arrangements
from generator.holdout.presets import preset_names, read_preset
from generator.plan.class_scenes import ClassContents
from generator.plan.plan import GRID, Part, plan_parts
from generator.vocabulary.schema import read_vocabulary
from tests.paths import SHARED

CLEVR = read_vocabulary("clevr")


@pytest.mark.parametrize("name", preset_names())
def test_presets_fit_their_family(name: str) -> None:
    preset = read_preset(name)
    assert draw_holdouts(preset.holdout, preset.design, read_vocabulary(preset.family), 0)


def test_a_plan_does_not_depend_on_the_order_of_its_counts() -> None:
    """A manifest lists splits by name, and the benchmarks of several holdouts are made from the plan that it describes."""
    counts = {"train": 9, "val": 2, "seen": 3, "partial": 3, "unseen": 3}
    plans = [
        plan_parts(
            CLEVR, [Part(holdout, dict(order)) for holdout in draw_holdouts(("k4..5",), "coverage", CLEVR, 0)], 0
        )
        for order in (counts.items(), sorted(counts.items()))
    ]
    assert list(plans[0]) == list(plans[1])


def _of(bindings: list[tuple[str, str]], sort: int) -> Counter[str]:
    return Counter(binding[sort] for binding in bindings)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.booleans(), st.integers(0, 999))
def test_held_out_triples_are_closed(rows: int, columns: int, opposites: bool, seed: int) -> None:
    """(cube, left, sphere) and (sphere, right, cube) are one fact: held out together or not at all."""
    block = draw_block(f"relation:pair={rows}x{columns}", CLEVR, seed, opposites=opposites)
    held = {*block.triples}
    assert len(held) == len(block.triples) >= rows * columns
    for subject, name, thing in held:
        relation = CLEVR.relations[name]
        assert (thing, relation.converse, subject) in held
        assert not opposites or (subject, relation.opposite, thing) in held


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5), st.integers(2, 8), st.integers(1, 2), st.integers(1, 3), st.integers(0, 999))
def test_every_value_and_object_keeps_a_seen_binding(r: int, c: int, values: int, things: int, seed: int) -> None:
    """Those that are absent from training as a whole aside."""
    holdout = draw_block((f"{r}x{c}", f"atoms={values}x{things}"), CLEVR, seed, "systematicity")
    seen = [
        (value, thing) for value in CLEVR.values("color") for thing in CLEVR.objects
        if not holdout.holds_out(value, thing) and not holdout.absent(value, thing)
    ]  # fmt: skip
    assert (len(holdout.absent_values), len(holdout.absent_objects)) == (values, things)
    assert {value for value, _ in seen} == {*CLEVR.values("color")} - {*holdout.absent_values}
    assert {thing for _, thing in seen} == {*CLEVR.objects} - {*holdout.absent_objects}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_coverage_is_even_and_nested_in_k(seed: int) -> None:
    """Protocols, section 1: each object is seen with k of its n values."""
    grid = [(value, thing) for value in CLEVR.values("color") for thing in CLEVR.objects]
    before: set[tuple[str, str]] = set()
    for k, holdout in enumerate(draw_holdouts(("k1..7",), "coverage", CLEVR, seed), 1):
        seen = [binding for binding in grid if not holdout.holds_out(*binding)]
        assert {*_of(seen, 1).values()} == {k}
        assert {*_of(seen, 1)} == {*CLEVR.objects}
        counts = [_of(seen, 0)[value] for value in CLEVR.values("color")]
        assert max(counts) - min(counts) <= 1
        assert before < {*seen}
        before = {*seen}


@settings(max_examples=30, deadline=None)
@example(215, "clevr")
@given(st.integers(0, 10**6), st.sampled_from(["clevr", "pearson2025"]))
def test_class_lists_are_disjoint_and_training_has_every_name(seed: int, family: str) -> None:
    vocabulary = read_vocabulary(family)
    for holdout in draw_holdouts((), "gzsl", vocabulary, seed):
        labels = [each.triple or each.bindings for each in holdout.classes]
        assert len({*labels}) == len(labels)
        train = [each for each in holdout.classes if each.split == "train"]
        objects = {
            thing for each in train for thing in (each.triple[::2] if each.triple else [o for _, o in each.bindings])
        }
        assert objects == {*vocabulary.objects}
        if holdout.task != "relational":
            assert {value for each in train for value, _ in each.bindings} == {*vocabulary.values("color")}
            assert len(labels) == len(vocabulary.objects) * len(vocabulary.values("color"))
        assert shared_labels(holdout) == []


PUBLISHED = {"single": [1360, 340, 340, 400, 1100], "two-object": [7440, 1860, 1860, 600, 3700]}


@pytest.mark.parametrize(
    ("preset", "relational"),
    [("pearson2025", [440, 110, 110, 250, 400]), ("pearson2025-clean", [480, 120, 120, 200, 400])],
)
def test_published_numbers_of_images(preset: str, relational: list[int]) -> None:
    """Protocols, section 2; Pearson et al. 2025, table 1."""
    vocabulary = read_vocabulary("pearson2025")
    found = {
        holdout.task: ClassContents(ClassRule(vocabulary, holdout)).counts()
        for holdout in draw_holdouts((preset,), "gzsl", vocabulary, 0)
    }
    for task, numbers in {**PUBLISHED, "relational": relational}.items():
        assert found[task] == dict(zip(["train", "id_val", "id_test", "ood_val", "ood_test"], numbers, strict=True))


def test_three_published_arrangements_stand_in_two_lists_and_none_in_the_mended_ones() -> None:
    vocabulary = read_vocabulary("pearson2025")
    found = {
        preset: [leak for holdout in draw_holdouts((preset,), "gzsl", vocabulary, 0) for leak in shared_labels(holdout)]
        for preset in ("pearson2025", "pearson2025-clean")
    }
    assert found == {
        "pearson2025": [
            "cylinder left sphere (train) = sphere right cylinder (ood_val)",
            "sphere left cylinder (ood_val) = cylinder right sphere (ood_test)",
            "cube right cone (ood_val) = cone left cube (ood_test)",
        ],
        "pearson2025-clean": [],
    }


@pytest.mark.parametrize(
    ("asked", "design", "said"),
    [
        (["relation:pair=5x2"], "bindsplit", "has 4 relations"),
        (["relation:pair=1x999"], "bindsplit", "132 ordered pairs"),
        (["relation:pair=2by3"], "bindsplit", "like relation:pair=2x3"),
        (["3x3", "2x2"], "bindsplit", "a second block of bindings"),
        (["relation:pair=1x1", "relation:pair=1x2"], "bindsplit", "a second block of relations"),
        (["atoms=1x1"], "bindsplit", "belong to --design systematicity"),
        (["3x3"], "systematicity", "needs unseen atoms too"),
        (["3x3", "atoms=5x1"], "systematicity", "one must stay in training"),
        (["k8"], "coverage", "k runs from 1 to 7"),
        (["k0"], "coverage", "k runs from 1 to 7"),
        (["3x3"], "coverage", "like k4 or k1..7"),
        (["3x3"], "gzsl", "to be classes"),
        (["classes=90/4/4"], "gzsl", "96 labels"),
        (["3x3"], "bindplit", "did you mean 'bindsplit'"),
    ],
)
def test_impossible_designs_are_refused_in_one_sentence(asked: list[str], design: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        draw_holdouts(asked, design, CLEVR, 0)
    message = str(caught.value)
    assert said in message
    assert "\n" not in message
    assert message.rstrip()[-1] in ".?"


@pytest.mark.full
def test_the_grid_of_spare_is_split_as_published() -> None:
    """Protocols, section 1: 6,042 scenes without a held-out binding, of which 810 only train; 504 and 810 with one; 36 with two."""
    parts = [Part(draw_block("3x3", CLEVR, 0), None)]
    plan = plan_parts(CLEVR, parts, 0)
    for seed in range(3):
        rule = SplitPlan(CLEVR, draw_block("3x3", CLEVR, seed))
        counts: Counter[tuple[bool, int, bool]] = Counter()
        for planned in plan:
            placing = rule.place(tuple((values["color"], thing) for thing, values in planned.objects))
            counts[placing.split in ("train", "val", "seen"), len(placing.held_out), placing.symmetric] += 1
        assert counts == {
            (True, 0, True): 5232, (True, 0, False): 810, (False, 1, True): 504, (False, 1, False): 810, (False, 2, True): 36,
        }  # fmt: skip


SPARE = SHARED / "data/pug_spare/labels.csv"


@pytest.mark.skipif(not SPARE.exists(), reason="the labels of PUG:SPARE lie beside the project, and are not there")
def test_the_grid_stands_in_the_order_of_spare() -> None:
    """Row by row, in its own names, such as DeerStag and Red."""
    with SPARE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    preset = read_preset("spare")
    assert (preset.family, preset.scenes) == ("pug", GRID)
    grid = arrangements(read_vocabulary(preset.family).painted_with("color"), "color")
    assert [
        ((row["character_texture"], row["character_name"]), (row["character2_texture"], row["character2_name"]))
        for row in rows
    ] == [tuple((value.title(), thing.title().replace(" ", "")) for value, thing in scene) for scene in grid]


@pytest.mark.full
def test_a_grid_is_planned_in_the_order_of_its_arrangements() -> None:
    plan = plan_parts(CLEVR, [Part(draw_block("3x3", CLEVR, 0), None)], 0)
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
        plan = plan_parts(vocabulary, [Part(draw_block("3x2", vocabulary, seed), {split: SCENES[split]})], seed)
        found.append([
            (values["color"], thing, {"place": place, "depth": scene.depth_order[place], "size": values["size"]})
            for scene in plan for place, (thing, values) in enumerate(scene.objects)
        ])  # fmt: skip
    return found


def told(samples: list[tuple[list[object], list[object]]]) -> float:
    """How likely chance is to make the second of two lists say as much about the first as it does, over all samples: the
    permutation test of the sum of squared counts, each cell by its row's expectation."""
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
    """The unseen split has the names of the block alone. The seen one of so few objects has too few groups to be even."""
    assert max(max(spreads(plan)) for plan in plans(split)) <= 1


@pytest.mark.parametrize("seed", range(3))
def test_values_and_objects_of_the_seen_split_are_as_frequent_as_each_other(seed: int) -> None:
    plan = plan_parts(CLEVR, [Part(draw_block("3x3", CLEVR, seed), {"seen": 61})], seed)
    rows = [
        (values["color"], thing, {"place": place})
        for scene in plan
        for place, (thing, values) in enumerate(scene.objects)
    ]
    assert {value for value, _, _ in rows} == {*CLEVR.values("color")}
    assert max(spreads(rows)) <= 1
