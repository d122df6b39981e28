import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from generator.base.streams import Stream
from generator.holdout.blocks import draw_block
from generator.holdout.membership import SplitPlan
from generator.inspection.object_masks import object_masks
from generator.placement.ground import Ground
from generator.placement.scenes import _draw_zoom, _height_in_image, place_scene
from generator.plan.options import WorldOptions
from generator.plan.plan import plan_scenes
from generator.plan.prepare import prepare
from generator.scene.planned import Planned
from generator.scene.relations import scene_graph
from generator.vocabulary.schema import read_vocabulary

VOCABULARY = read_vocabulary("clevr")
SPLITS = SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, 0))
COUNTS = {"train": 400, "val": 50, "seen": 90, "partial": 90, "unseen": 45}
MANY = read_vocabulary("clevr-many")


@cache
def pairs() -> list[Planned]:
    """Planned scenes of two objects."""
    return plan_scenes(VOCABULARY, SPLITS, COUNTS, 0)


@cache
def many() -> list[Planned]:
    """Planned scenes of three to ten objects."""
    return plan_scenes(MANY, SPLITS, COUNTS, 0, (3, 10))


def split_of(planned: Planned) -> str | None:
    return SPLITS.place(
        tuple((attributes["color"], category) for category, attributes in planned.objects)
    ).split


@pytest.mark.parametrize("plan_of", [pairs, many])
def test_every_split_gets_its_number(plan_of: Callable[[], list[Planned]]) -> None:
    plan = plan_of()
    assert Counter(split_of(planned) for planned in plan) == COUNTS
    assert len({planned.scene_id for planned in plan}) == len(plan)


def test_numbers_of_objects_are_balanced_in_every_split() -> None:
    for split in COUNTS:
        counts = Counter(len(planned.objects) for planned in many() if split_of(planned) == split)
        assert set(counts) == set(range(3, 11))
        assert max(counts.values()) - min(counts.values()) <= 1


def test_scenes_of_one_object_only_train() -> None:
    counts = {"train": 60, "val": 3, "seen": 30, "partial": 30, "unseen": 30}
    plan = plan_scenes(VOCABULARY, SPLITS, counts, 0, (1, 3))
    assert Counter(split_of(planned) for planned in plan) == counts
    assert {split_of(planned) for planned in plan if len(planned.objects) == 1} == {"train"}


def test_a_scene_number_says_nothing_of_its_split() -> None:
    first_half = Counter(split_of(planned) for planned in pairs()[: len(pairs()) // 2])
    assert set(first_half) == set(COUNTS)


@pytest.mark.parametrize("plan_of", [pairs, many])
@pytest.mark.parametrize("split", ["train", "seen", "partial", "unseen"])
def test_attributes_that_are_not_tested_are_balanced(
    split: str, plan_of: Callable[[], list[Planned]]
) -> None:
    chosen = [planned for planned in plan_of() if split_of(planned) == split]
    for slot in range(max(len(planned.objects) for planned in chosen)):
        for kind in ("material", "size"):
            counts = Counter(
                planned.objects[slot][1][kind] for planned in chosen if slot < len(planned.objects)
            )
            assert (
                abs(counts.most_common()[0][1] - counts.most_common()[-1][1]) <= 2
            )  # docs/splits.md, Balance
            assert len(counts) == 2


def test_environments_are_balanced() -> None:
    places = dict.fromkeys(("studio", "desert", "meadow"), VOCABULARY.environments["studio"])
    vocabulary = VOCABULARY.model_copy(update={"environments": places})
    plan = plan_scenes(vocabulary, SPLITS, COUNTS, 0)
    for split, n in COUNTS.items():
        counts = Counter(planned.environment for planned in plan if split_of(planned) == split)
        assert set(counts) == set(places)
        assert max(counts.values()) - min(counts.values()) <= 1
        assert sum(counts.values()) == n
    assert place_scene(plan[0], vocabulary, 0, 0, 96, 96).environment == plan[0].environment


def test_every_order_in_depth_is_as_likely_as_every_other() -> None:
    plan = plan_scenes(MANY, SPLITS, {"train": 3000}, 0, (3, 3))
    counts = Counter(planned.depth_order for planned in plan)
    assert set(counts) == set(permutations(range(3)))
    assert chisquare(list(counts.values())).pvalue > 0.001


@pytest.mark.parametrize("block_seed", range(3))
@pytest.mark.parametrize(
    ("split", "n"), [("unseen", 1), ("unseen", 50), ("unseen", 301), ("partial", 200)]
)
def test_groups_differ_by_one_at_most_in_any_number_of_scenes(
    block_seed: int, split: str, n: int
) -> None:
    """Nine groups in unseen: two of three values with two of three objects."""
    rule = SplitPlan(VOCABULARY, draw_block("3x3", VOCABULARY, block_seed))
    plan = plan_scenes(VOCABULARY, rule, {split: n}, 0)
    groups = Counter(planned.cluster_id for planned in plan)
    assert len(groups) == min(n, 9 if split == "unseen" else 126)
    assert max(groups.values()) - min(groups.values()) <= 1


@pytest.mark.parametrize("examples", [50, pytest.param(150, marks=pytest.mark.full)])
def test_scenes_are_as_planned_and_nothing_is_in_doubt(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        st.sampled_from([*pairs(), *many()]),
        st.integers(0, 99),
        st.sampled_from([(320, 240), (96, 96), (240, 320)]),
    )
    def check(planned: Planned, seed: int, size: tuple[int, int]) -> None:
        vocabulary = VOCABULARY if len(planned.objects) == 2 else MANY
        scene = place_scene(planned, vocabulary, seed, 0, *size)
        assert [(o.category, o.attributes) for o in scene.objects] == list(planned.objects)
        assert scene.environment == planned.environment
        graph = scene_graph(scene, vocabulary)
        for i, j in combinations(range(len(scene.objects)), 2):
            assert graph.edges[i, j, "left"]["holds"] is True
            assert graph.edges[i, j, "front"]["holds"] is (
                planned.depth_order[i] < planned.depth_order[j]
            )
        assert all(edge["holds"] is not None for *_, edge in graph.edges(data=True))
        for obj in scene.objects:
            facing = math.atan2(
                scene.camera.position[1] - obj.position[1],
                scene.camera.position[0] - obj.position[0],
            )
            off = (obj.heading - facing + math.pi) % (2 * math.pi) - math.pi
            assert abs(off) <= math.radians(vocabulary.objects[obj.category].turn / 2) + 1e-5

    check()


@pytest.mark.parametrize(
    ("family", "most"), [("clevr", 2), ("clevr-many", 10), ("clevr-relations", 4)]
)
def test_the_tallest_object_has_a_sixth_of_the_height(family: str, most: int) -> None:
    """All but the smallest objects and the flattest: outlines, of meshes, tell what each scene
    shows."""
    prepared = prepare(
        WorldOptions(
            family=family, holdout="none", scenes="60", resolution="320x240", objects=(2, most)
        )
    )
    tallest, least = [], []
    for planned in prepared.planned:
        scene = place_scene(planned, prepared.vocabulary, 0, 0, 320, 240)
        whole = [
            mask.whole.any(axis=1) for mask in object_masks(scene, prepared.vocabulary, (320, 240))
        ]
        heights = [(rows.nonzero()[0].max() - rows.nonzero()[0].min() + 1) / 240 for rows in whole]
        if any(attributes["size"] == "large" for _, attributes in planned.objects):
            tallest.append(max(heights))
        least.append(min(heights))
    assert np.mean(np.array(tallest) >= 1 / 6) > 0.93
    assert min(tallest) > 0.14
    assert min(least) > 0.02


@given(st.floats(0.05, 0.4), st.floats(0.2, 1.1), st.integers(0, 99))
def test_the_lens_makes_the_tallest_object_tall_enough_where_one_does(
    tallest: float, fill: float, seed: int
) -> None:
    zoom = _draw_zoom(tallest, fill, MANY, Stream("zoom", seed))
    longest = max(1.0, min(MANY.closest, 0.96 / fill))
    assert 1 <= zoom <= longest
    assert zoom * tallest >= min(MANY.placement.tallest, longest * tallest) - 1e-9


def test_no_object_is_taller_than_its_box() -> None:
    for planned in many()[:60]:
        scene = place_scene(planned, MANY, 0, 0, 320, 240)
        ground = Ground(scene.camera, MANY, 320, 240)
        boxes = ground.image_heights(planned.objects, [obj.position for obj in scene.objects])
        heights = [_height_in_image(obj, scene.camera, ground) for obj in scene.objects]
        assert (np.array(heights) <= np.add(boxes, 1e-4)).all()


def test_attempts_and_seeds_change_the_place_never_the_content() -> None:
    scenes = [
        place_scene(pairs()[0], VOCABULARY, seed, attempt, 96, 96)
        for seed in range(3)
        for attempt in range(3)
    ]
    assert len({scene.objects[0].position for scene in scenes}) == 9
    assert len({scene.camera.position for scene in scenes}) == 9
    assert len({str([(o.category, o.attributes) for o in scene.objects]) for scene in scenes}) == 1


@pytest.mark.full
@pytest.mark.parametrize("size", [(64, 64), (320, 240), (240, 320)])
def test_four_animals_have_room_in_images_of_any_shape(size: tuple[int, int]) -> None:
    prepared = prepare(
        WorldOptions(
            family="pug",
            holdout="none",
            scenes={"all": 8},
            resolution="{}x{}".format(*size),
            objects=(4, 4),
        )
    )
    for planned in prepared.planned:
        place_scene(planned, prepared.vocabulary, 0, 0, *size)


SHORT = "{'train': 12, 'seen': 2, 'partial': 2, 'unseen': 2}", 4
LONG = "{'train': 30, 'seen': 9, 'partial': 9, 'unseen': 9}", 10


@pytest.mark.parametrize(("counts", "most"), [SHORT, pytest.param(*LONG, marks=pytest.mark.full)])
def test_plans_do_not_depend_on_the_hash_seed(counts: str, most: int) -> None:
    code = (
        "from generator.vocabulary.schema import *; from generator.holdout.blocks import *; from "
        "generator.holdout.membership import *; from generator.placement.scenes import *; from "
        "generator.plan.plan "
        "import *\n"
        "v = read_vocabulary('clevr'); s = SplitPlan(v, draw_block('3x3', v, 0)); m = "
        "read_vocabulary('clevr-many')\n"
        f"print([place_scene(q, w, 0, 0, 96, 96).to_json() for w, n in ((v, (2, 2)), (m, (3, "
        f"{most}))) "
        f"for q in plan_scenes(w, s, {counts}, 0, n)])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert len(printed) == 1
