"""Texts are true, false or undecided of a scene, as trying every assignment of objects says."""

import gc
import itertools
import json
import math
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.judge.decide import _matching, decide
from generator.judge.geometry import SceneGeometry, read_scene
from generator.judge.meaning import Meaning, Thing
from tests.generator.judge.hand_made_scenes import TERMS, decided, scene

TWO = scene("red metal cube -1 0", "blue rubber sphere 1 0.1", environment="studio")

CROWD = scene("red cube -1 0", "red sphere 1 0", "blue cube 2 1", "red cone 0 -1")


@pytest.mark.parametrize(
    ("text", "shown", "truth"),
    [
        # 1: fitting.
        ("a red cube", TWO, True),
        ("an object that is not red", TWO, True),
        ("a blue object that is not a cube", TWO, True),
        # Different objects.
        ("a red cube and a red object", TWO, False),
        # 2 and 3: relations and their margin.
        ("A cube is to the left of a sphere.", TWO, True),
        ("A cube is to the right of a sphere.", TWO, False),
        ("A cube is in front of a sphere.", TWO, None),
        ("A cube is to the left of a sphere.", scene("red cube 0 0", "red sphere 0.1999996 0"), True),  # micrometres
        ("A cube is to the right of a sphere and behind it.", TWO, False),
        # 4: the two readings of "not".
        ("A cube is not to the right of a sphere.", TWO, True),
        ("A cube is not to the left of a sphere.", TWO, False),
        ("A cube is not to the left of a cone.", TWO, None),  # there is no cone: false, and left of none: true
        ("A sphere is not to the left of a cube.", CROWD, None),  # not of the red one, but of the blue one
        ("A cube is not to the left of a cube.", CROWD, True),  # the blue one, of the red one and of no other
        # The cone is in another relation, so there is one reading.
        ("A sphere is not to the left of a cube. The cube is to the left of a cone.", CROWD, True),
        # 5: counts.
        ("two red objects", CROWD, None),
        ("three red objects", CROWD, True),
        ("four red objects", CROWD, False),
        ("two cubes and a blue object", CROWD, None),
        ("no red sphere", CROWD, False),
        ("A red cube is to the left of a sphere. There is also no cone.", CROWD, False),
        # 6: environments.
        ("a cube in a bright studio with a plain floor", TWO, True),
        ("a cube in a bright studio with a plain floor", CROWD, None),
        ("a cube in a bright studio with a plain floor", scene("red cube 0 0", environment="desert"), False),
        # 7: denial of the whole.
        ("It is not true that there is a red cube.", TWO, False),
        ("It is not true that there is a cube and a sphere and that the cube is behind the sphere.", TWO, None),
    ],
)
def test_truth(text: str, shown: SceneGeometry, truth: bool | None) -> None:
    assert decided(text, shown) is truth


def naive(said: Meaning, shown: SceneGeometry) -> bool | None:
    """Rules 1 to 7 as they are written, without any thought of speed."""
    objects = range(len(shown.objects))

    def fits(thing: Thing, i: int) -> bool:
        category, values = shown.objects[i]
        has = {("shape", category), *values.items()}
        named = thing.category is None or ("shape", thing.category) in has
        return named and set(thing.attributes) <= has and thing.without not in has

    def relation(name: str, i: int, j: int) -> bool | None:
        (x, y), (other_x, other_y) = shown.along[i], shown.along[j]
        step = {"left": other_x - x, "right": x - other_x, "behind": y - other_y, "front": other_y - y}[name]
        return None if abs(step) < 0.2 else step > 0

    def all_of(truths: list[bool | None]) -> bool | None:
        return False if False in truths else None if None in truths else True

    def denied(truth: bool | None) -> bool | None:
        return None if truth is None else not truth

    def reading(none_of: bool) -> bool | None:
        singles = [i for i, thing in enumerate(said.things) if thing.number == 1]
        uses = [place for s, _, o, _ in said.links for place in (s, o)]
        free = {o for _, _, o, holds in said.links if none_of and not holds and uses.count(o) == 1}
        singles = [i for i in singles if i not in free]
        truths = set()
        for chosen in itertools.permutations(objects, len(singles)):
            given = dict(zip(singles, chosen, strict=True))
            if not all(fits(said.things[i], j) for i, j in given.items()):
                continue
            parts = []
            for s, name, o, holds in said.links:
                if o in free:
                    others = [j for j in objects if fits(said.things[o], j) and j != given[s]]
                    parts.append(all_of([denied(relation(name, given[s], j)) for j in others]))
                else:
                    truth = relation(name, given[s], given[o])
                    parts.append(truth if holds else denied(truth))
            truths.add(all_of(parts))
        return True if True in truths else None if None in truths else False

    first, second = reading(False), reading(True)
    parts: list[bool | None] = [first if first is second else None]
    overlap = False
    for i, thing in enumerate(said.things):
        fitting = [j for j in objects if fits(thing, j)]
        if thing.number == 0:
            parts.append(not fitting)
        elif thing.number > 1:
            parts.append(True if len(fitting) == thing.number else False if len(fitting) < thing.number else None)
            overlap |= any(fits(other, j) for j in fitting for k, other in enumerate(said.things) if k != i)
    truth = None if overlap else all_of(parts)
    if said.environment is not None:
        truth = all_of([truth, None if shown.environment is None else shown.environment == said.environment])
    return denied(truth) if said.denied else truth


def random_thing(draw: random.Random) -> Thing:
    attributes = tuple(sorted((kind, draw.choice(values)) for kind, values in CHOICES.items() if draw.random() < 0.3))
    without = None
    if draw.random() < 0.2:
        kind = draw.choice([kind for kind in (*CHOICES, "shape") if kind not in dict(attributes)])
        without = (kind, draw.choice(CHOICES.get(kind, CATEGORIES)))
    return Thing(draw.choice([*CATEGORIES, None, None]), attributes, without)


def random_said(draw: random.Random, most: int) -> Meaning:
    things = [random_thing(draw) for _ in range(draw.randint(1, most))]
    pairs = [(i, j) for i in range(len(things)) for j in range(len(things)) if i != j]
    links = [
        (i, draw.choice(list(TERMS.relations)), j, draw.random() < 0.6)
        for i, j in draw.sample(pairs, min(len(pairs), draw.randint(0, most)))
    ]
    linked = {place for i, _, j, _ in links for place in (i, j)}
    counts = [0, 1] if links else [0, 1, 1, 1, 2, 3]
    for i, thing in enumerate(things):
        if i not in linked and draw.random() < 0.4:
            number = draw.choice(counts)
            things[i] = thing._replace(number=number, without=thing.without if number == 1 else None)
    environment = draw.choice([None, None, "studio"])
    return Meaning(tuple(things), tuple(links), environment is None and draw.random() < 0.2, environment)


def random_scene(draw: random.Random, size: int) -> SceneGeometry:
    objects = [
        f"{' '.join(draw.choice(values) for values in CHOICES.values())} {draw.choice(CATEGORIES)} "
        f"{draw.uniform(-1, 1)} {draw.uniform(-1, 1)}"
        for _ in range(size)
    ]
    return scene(*objects, environment=draw.choice([None, "studio", "desert"]))


CHOICES = {"color": ["red", "blue"], "material": ["metal", "rubber"]}

CATEGORIES = ["cube", "sphere"]


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32))
def test_truth_is_what_trying_every_assignment_gives(seed: int) -> None:
    draw = random.Random(seed)
    said, shown = random_said(draw, 4), random_scene(draw, draw.randint(1, 5))
    assert decide(said, shown) is naive(said, shown)


def test_crowded_scenes_do_not_explode() -> None:
    draw = random.Random(0)
    begun = time.perf_counter()
    for _ in range(200):
        things = tuple(Thing(None) for _ in range(draw.choice([6, 9, 10])))
        pairs = list(itertools.permutations(range(len(things)), 2))
        links = tuple((i, draw.choice(list(TERMS.relations)), j, True) for i, j in draw.sample(pairs, 8))
        decide(Meaning(things, links), random_scene(draw, 10))
    assert time.perf_counter() - begun < 10


def test_matching_leaves_no_cycles_behind() -> None:
    """`gen verify` runs without the collector of cycles, so what is left would fill the memory."""
    gc.collect()
    gc.disable()
    try:
        assert _matching([0b001, 0b011, 0b111])
        assert not _matching([0b011, 0b011, 0b011])
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_relation_is_decided_from_its_margin_on() -> None:
    for gap, truth in ((0.1, None), (0.19999, None), (0.2, True), (-0.2, False), (-0.1, None)):
        assert decided("A cube is behind a sphere.", scene(f"red cube 0 {gap}", "red sphere 3 0")) is truth


def test_left_is_left_of_the_camera_wherever_it_stands() -> None:
    for turn in range(0, 360, 40):
        sin, cos = math.sin(math.radians(turn)), math.cos(math.radians(turn))

        def turned(x: float, y: float, sin: float = sin, cos: float = cos) -> list[float]:
            return [x * cos - y * sin, x * sin + y * cos, 0.0]

        record = {
            "objects": [
                {"category": "cube", "attributes": {}, "position": turned(-1, 0.5)},
                {"category": "sphere", "attributes": {}, "position": turned(1, 0)},
            ],
            "camera": {"position": [*turned(0, -9)[:2], 5], "target": [0, 0, 1]},
        }
        shown = read_scene(json.dumps(record), TERMS)
        assert decided("A cube is to the left of a sphere and behind it.", shown) is True
        assert decided("A sphere is to the right of a cube and in front of it.", shown) is True


def test_a_camera_that_looks_straight_down_is_refused() -> None:
    record = {"objects": [], "camera": {"position": [0, 0, 5], "target": [0, 0, 0]}}
    with pytest.raises(ValueError, match="straight down"):
        read_scene(json.dumps(record), TERMS)
