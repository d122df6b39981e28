import math
import os
import subprocess
import sys
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.dataset.errors import UserError
from generator.holdout import draw_block
from generator.projection import project
from generator.sampling import Planned, place_scene, plan_scenes
from generator.splits import SplitPlan
from generator.vocabulary import read_vocabulary

VOCABULARY = read_vocabulary("clevr")
SPLITS = SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, 0))
COUNTS = {"train": 400, "val": 50, "seen": 90, "partial": 90, "unseen": 45}
PLAN = plan_scenes(VOCABULARY, SPLITS, COUNTS, 0)


def split_of(planned: Planned) -> str | None:
    (first, a), (second, b) = planned.objects
    return SPLITS.place(((a["color"], first), (b["color"], second))).split


def test_every_split_gets_its_number() -> None:
    assert Counter(split_of(planned) for planned in PLAN) == COUNTS
    assert len({planned.scene_id for planned in PLAN}) == len(PLAN)


def test_a_scene_number_says_nothing_of_its_split() -> None:
    first_half = Counter(split_of(planned) for planned in PLAN[: len(PLAN) // 2])
    assert set(first_half) == set(COUNTS)


@pytest.mark.parametrize("split", ["train", "seen", "partial", "unseen"])
def test_what_is_not_tested_is_balanced(split: str) -> None:
    chosen = [planned for planned in PLAN if split_of(planned) == split]
    for slot in range(2):
        for kind in ("material", "size"):
            counts = Counter(planned.objects[slot][1][kind] for planned in chosen)
            assert abs(counts.most_common()[0][1] - counts.most_common()[-1][1]) <= 1
            assert len(counts) == 2


def test_groups_and_orders_are_as_frequent_as_one_another() -> None:
    unseen = [planned for planned in PLAN if split_of(planned) == "unseen"]
    assert set(Counter(planned.cluster_id for planned in unseen).values()) == {5}
    partial = Counter(planned.cluster_id for planned in PLAN if split_of(planned) == "partial")
    assert set(partial.values()) == {1}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(PLAN), st.integers(0, 99), st.sampled_from([(320, 240), (96, 96), (240, 320)]))
def test_placements_keep_the_rules(planned: Planned, seed: int, size: tuple[int, int]) -> None:
    scene = place_scene(planned, VOCABULARY, seed, 0, *size)
    rules = VOCABULARY.placement
    assert [(o.category, o.attributes) for o in scene.objects] == list(planned.objects)
    radii = [VOCABULARY.attributes["size"][o.attributes["size"]].scale or 0 for o in scene.objects]
    for (a, r), (b, s) in combinations(zip(scene.objects, radii, strict=True), 2):
        assert math.dist(a.position, b.position) - r - s >= rules.gap
    columns = [project(scene.camera, *o.position, *size)[0] for o in scene.objects]
    graph = scene.graph(VOCABULARY.relations)
    assert graph.edges[0, 1, "left"]["holds"] is True
    assert all(edge["holds"] is not None for *_, edge in graph.edges(data=True))
    middle, half = size[0] / 2, min(size) / 2
    assert all(middle - half <= column <= middle + half for column in columns)
    for thing in scene.objects:
        facing = math.atan2(scene.camera.position[1] - thing.position[1], scene.camera.position[0] - thing.position[0])
        off = (thing.heading - facing + math.pi) % (2 * math.pi) - math.pi
        assert abs(off) <= math.radians(VOCABULARY.objects[thing.category].turn / 2) + 1e-5


def test_attempts_and_seeds_change_the_place_never_the_content() -> None:
    scenes = [place_scene(PLAN[0], VOCABULARY, seed, attempt, 96, 96) for seed in range(3) for attempt in range(3)]
    assert len({scene.objects[0].position for scene in scenes}) == 9
    assert len({scene.camera.position for scene in scenes}) == 9
    assert len({str([(o.category, o.attributes) for o in scene.objects]) for scene in scenes}) == 1


def test_a_stage_too_small_is_refused() -> None:
    cramped = VOCABULARY.model_copy(update={"placement": VOCABULARY.placement.model_copy(update={"extent": 0.2})})
    with pytest.raises(UserError, match="No room for 2 objects"):
        place_scene(PLAN[0], cramped, 0, 0, 96, 96)


def test_plans_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "from generator.vocabulary import *; from generator.holdout import *; from generator.splits import *; from generator.sampling import *\n"
        "v = read_vocabulary('clevr'); p = plan_scenes(v, SplitPlan(v, draw_block('3x3', v, 0)), {'train': 50, 'unseen': 9}, 0)\n"
        "print([place_scene(q, v, 0, 0, 96, 96).to_json() for q in p])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert len(printed) == 1


def test_positions_are_spread_over_the_stage() -> None:
    places = np.array(
        [o.position[:2] for planned in PLAN[:300] for o in place_scene(planned, VOCABULARY, 0, 0, 96, 96).objects]
    )
    assert np.all(places.min(0) < -1.2)
    assert np.all(places.max(0) > 1.2)
