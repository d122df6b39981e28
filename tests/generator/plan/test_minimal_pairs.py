"""Minimal pairs: what is planned, placed, rendered and asked; nothing differs but what was
exchanged."""

import math
import shutil
from collections import Counter
from itertools import combinations, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.holdout.blocks import draw_block
from generator.holdout.holdout import Holdout
from generator.holdout.membership import SplitPlan
from generator.holdout.request import WorldPart
from generator.placement.scenes import place_scenes
from generator.plan.minimal_pairs import plan_with_twins
from generator.plan.options import WorldOptions
from generator.plan.plan import plan_parts
from generator.plan.prepare import prepare
from generator.scene.exchange import BOTH, PLACES, VALUES, exchanged
from generator.scene.planned import Planned
from generator.scene.relations import along, ground_directions, scene_graph
from generator.scene.scene import Scene
from generator.vocabulary.schema import read_vocabulary
from tests.conftest import succeed
from tests.generator.relations import VOCABULARY as RELATIONS
from tests.generator.relations import prepared as related_scenes
from tests.generator.unrendered import write_planned

COUNTS = {"train": 100, "val": 19, "seen": 60, "partial": 60, "unseen": 61}
WORLDS = [("clevr", (2, 2)), pytest.param("clevr-many", (3, 6), marks=pytest.mark.full)]


def plan(
    family: str, objects: tuple[int, int], seed: int = 0, exchange: str = BOTH
) -> tuple[SplitPlan, list[Planned]]:
    vocabulary = read_vocabulary(family)
    splits = SplitPlan(vocabulary, draw_block("3x3", vocabulary, 0))
    return splits, plan_with_twins(
        vocabulary, [WorldPart(splits.holdout, COUNTS)], seed, objects, exchange
    )


def arrangement(objects: Any, kind: str) -> tuple[tuple[str, str], ...]:
    return tuple((attributes[kind], category) for category, attributes in objects)


@pytest.mark.parametrize("exchange", [BOTH, VALUES, pytest.param(PLACES, marks=pytest.mark.full)])
@pytest.mark.parametrize(("family", "objects"), WORLDS)
def test_half_of_the_scenes_of_an_evaluation_split_are_twins_of_the_scenes_before_them(
    family: str, objects: tuple[int, int], exchange: str
) -> None:
    splits, scenes = plan(family, objects, exchange=exchange)
    assert [scene.scene_id for scene in scenes] == [f"{n:06d}" for n in range(len(scenes))]
    assert Counter(scene.split for scene in scenes) == COUNTS  # twins are counted
    if objects == (2, 2):
        n_originals = {
            split: n if split == "train" else (n + 1) // 2 for split, n in COUNTS.items()
        }
        alone = plan_parts(
            splits.vocabulary,
            [WorldPart(splits.holdout, n_originals)],
            0,
            objects,
            {(0, split) for split in n_originals},
        )
        assert [scene.objects for scene in scenes if scene.twin_of is None] == [
            scene.objects for scene in alone
        ]
    for before, scene in pairwise(scenes):
        if scene.twin_of is not None:
            assert (scene.twin_of, scene.exchange) == (before.scene_id, before.exchange)
            same = attrgetter("objects", "depth_order", "cluster_id")
            assert same(scene) == same(before)
    split_of = {s.scene_id: splits.place(arrangement(s.objects, "color")).split for s in scenes}
    twins = Counter(split_of[scene.scene_id] for scene in scenes if scene.twin_of)
    kinds = Counter(
        (split_of[s.scene_id], s.exchange.kind) for s in scenes if s.twin_of and s.exchange
    )
    assert "train" not in twins
    for split in ("val", "seen", "partial", "unseen"):
        # of many objects, and in `unseen` of three categories, seldom two are the only ones of
        # their categories
        assert twins[split] == COUNTS[split] // 2 or (objects != (2, 2) and twins[split] >= 7)
        if exchange == BOTH:
            assert abs(kinds[split, "color"] - kinds[split, None]) <= 1
        else:
            assert kinds[split, "color" if exchange == VALUES else None] == twins[split]


def test_all_parts_of_a_world_have_twins_in_their_own_splits() -> None:
    counts = {"train": 200, "val": 2, "seen": 9, "partial": 9, "unseen": 9}
    vocabulary = read_vocabulary("clevr")
    parts = [WorldPart(draw_block("3x3", vocabulary, seed), counts) for seed in (0, 1)]
    scenes = plan_with_twins(vocabulary, parts, 0)
    for number, part in enumerate(parts):
        rule = SplitPlan(vocabulary, part.holdout)
        of_part = [scene for scene in scenes if scene.part == number]
        assert Counter(scene.split for scene in of_part) == counts
        twins = [scene for scene in of_part if scene.twin_of]
        assert Counter(scene.split for scene in twins) == {
            "val": 1,
            "seen": 4,
            "partial": 4,
            "unseen": 4,
        }
        for scene in twins:
            assert scene.exchange is not None
            shown_by_twin = exchanged_values(scene, "color")
            assert rule.place(shown_by_twin).split == scene.split


def exchanged_values(scene: Planned, kind: str) -> tuple[tuple[str, str], ...]:
    """The arrangement of a twin of two objects that exchanges values."""
    (first, one), (second, other) = scene.arrangement(kind)
    return ((second, one), (first, other))


@pytest.mark.parametrize(
    ("options", "pairs", "exchange"),
    [
        ({}, True, VALUES),
        ({"holdout": "none", "scenes": "20"}, True, VALUES),
        ({"pairs": False}, False, None),
        ({"scenes": "grid"}, False, None),
        ({"holdout": (), "design": "gzsl", "scenes": "700"}, False, None),
        ({"exchange": BOTH}, True, BOTH),
        ({"family": "clevr-relations", "holdout": "relation:pair=2x3"}, True, BOTH),
        ({"block_seed": (0, 1)}, True, VALUES),
    ],
)
def test_there_are_twins_wherever_there_can_be(
    options: dict[str, Any], pairs: bool, exchange: str | None
) -> None:
    world_options = WorldOptions(
        **{
            "family": "clevr",
            "holdout": "3x3",
            "scenes": None,
            "resolution": "64x64",
            **options,
        }
    )
    request = prepare(world_options).request
    assert (request["pairs"], request["exchange"]) == (pairs, exchange)


def shown(scene: Scene) -> list[tuple[str, dict[str, str]]]:
    return [(obj.category, obj.attributes) for obj in scene.objects]


@pytest.mark.parametrize(("family", "objects"), WORLDS)
def test_placed_twins_differ_in_the_exchange_alone_and_keep_the_rules(
    family: str, objects: tuple[int, int]
) -> None:
    splits, paired = plan(family, objects, 3)
    vocabulary, checked = splits.vocabulary, Counter[str | None]()
    for planned in (*paired, *plan(family, objects, 4)[1]):
        if planned.twin_of is None or planned.exchange is None:
            continue
        first, twin = place_scenes(planned, vocabulary, 3, 0, 320, 240)
        assert (first.camera, first.lamps, first.environment) == (
            twin.camera,
            twin.lamps,
            twin.environment,
        )
        assert [t.position for t in first.objects] == [t.position for t in twin.objects]
        i, j = planned.exchange.first, planned.exchange.second
        others = [k for k in range(len(first.objects)) if k not in (i, j)]
        assert [first.objects[k] for k in others] == [twin.objects[k] for k in others]
        own, after = (splits.place(arrangement(shown(scene), "color")) for scene in (first, twin))
        assert (own.split, len(own.held_out)) == (after.split, len(after.held_out))
        graphs = [scene_graph(scene, vocabulary) for scene in (first, twin)]
        if planned.exchange.kind is None:
            assert shown(twin)[i] == shown(first)[j]
            for name in ("left", "front"):
                assert graphs[0][i][j][name]["holds"] is not None
            # the same object, wherever it stands in the list
            assert graphs[0][i][j]["left"]["holds"] is not graphs[1][j][i]["left"]["holds"]
        else:
            assert [t.category for t in twin.objects] == [t.category for t in first.objects]
            assert [t.heading for t in twin.objects] == [t.heading for t in first.objects]
            assert twin.objects[i].attributes == {
                **first.objects[i].attributes,
                "color": first.objects[j].attributes["color"],
            }
        directions = ground_directions(twin.camera)
        scales = [
            vocabulary.attributes["size"][obj.attributes["size"]].scale or 0 for obj in twin.objects
        ]
        for a, b in combinations(range(len(scales)), 2):
            one, two = twin.objects[a].position, twin.objects[b].position
            assert math.dist(one, two) - scales[a] - scales[b] >= vocabulary.placement.gap
            assert all(
                abs(round(along(directions[d], one) - along(directions[d], two), 6))
                >= vocabulary.placement.clearance
                for d in ("left", "front")
            )
        back = exchanged(twin, planned.exchange)
        assert shown(back) == shown(first)
        assert all(
            abs(a.heading - b.heading) < 1e-5
            for a, b in zip(back.objects, first.objects, strict=True)
        )
        checked[planned.exchange.kind] += 1
    assert min(checked.values()) > 25


def render(out: Path, *more: str | Path) -> Path:
    scenes = "train=16,val=4,seen=4,partial=4,unseen=4"
    command = (
        f"gen render --scenes {scenes} --resolution 64x64 --quality draft --exchange both --out"
    )
    succeed(command, out, *more)
    return out


@pytest.fixture(scope="module")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return render(tmp_path_factory.mktemp("pairs") / "dataset", "--workers", "1")


@pytest.fixture
def copy(paired: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(paired, tmp_path / "dataset"))


@pytest.mark.full
def test_rendered_pairs_differ_where_the_objects_are(paired: Path) -> None:
    world = Dataset.open(paired).world
    rows = {row["scene_id"]: row for row in world.scenes.to_pylist()}
    twins = [row for row in rows.values() if row["twin_of"]]
    assert (len(rows), len(twins)) == (32, 8)
    for row in twins:
        other = rows[row["twin_of"]]
        scene, before = Scene.from_json(row["scene"]), Scene.from_json(other["scene"])
        assert (scene.camera, scene.lamps) == (before.camera, before.lamps)
        assert all(obj["visible_fraction"] >= 0.8 for obj in (*row["objects"], *other["objects"]))
        images = [
            world.image(scene_id).convert("L") for scene_id in (row["scene_id"], row["twin_of"])
        ]
        changed = ImageChops.difference(*images).point(lambda value: 255 * (value > 40))
        area: Image.Image = Image.new("L", changed.size)
        for obj in (*row["objects"], *other["objects"]):
            left, top, right, bottom = obj["amodal_box"]
            area.paste(255, (left - 3, top - 3, right + 6, bottom + 3))  # and the shadow beside it
        inside = ImageChops.multiply(changed, area).histogram()[255]
        assert inside >= 0.8 * changed.histogram()[255]
    assert any(
        ImageChops.difference(world.image(row["scene_id"]), world.image(row["twin_of"])).getbbox()
        for row in twins
    )


@pytest.mark.full
def test_workers_change_nothing(paired: Path, tmp_path: Path) -> None:
    assert (
        Dataset.open(render(tmp_path / "two", "--workers", "2")).world.digest
        == Dataset.open(paired).world.digest
    )


def test_all_texts_of_a_world_with_twins_verify(paired: Path, copy: Path) -> None:
    world = Dataset.open(copy).world
    holdout = Holdout.from_dict(Dataset.open(copy).block())
    done = describe_world(copy, world, holdout=holdout, name="all", request=TextRequest())
    assert {name: n for name, n in done.items.items() if "pairs" in name} == {
        "pairs attribute": 4,
        "pairs relation": 4,
    }
    succeed("gen verify", copy)


def test_a_world_without_twins_gives_no_pairs(tmp_path: Path) -> None:
    options = WorldOptions(
        family="clevr",
        holdout="3x3",
        scenes={"train": 16, "val": 2, "seen": 2, "partial": 2, "unseen": 2},
        resolution="64x64",
        pairs=False,
    )
    prepared = prepare(options)
    write_planned(tmp_path, prepared)
    world = Dataset.open(tmp_path).world
    with pytest.raises(
        UserError, match=r"it needs scenes with a twin \(gen render --pairs or --turns\)"
    ):
        describe_world(
            tmp_path, world, holdout=prepared.holdout, name="none", request=TextRequest(("pairs",))
        )


@pytest.mark.full
def test_twins_leave_stacks_as_they_are() -> None:
    prepared = related_scenes(3)
    stacked = twins = 0
    for scene in plan_with_twins(RELATIONS, prepared.parts, 0, prepared.objects, BOTH):
        if scene.exchange is not None:
            stack = {i for pair in enumerate(scene.rests_on) if pair[1] is not None for i in pair}
            assert stack.isdisjoint((scene.exchange.first, scene.exchange.second))
            scenes = place_scenes(scene, RELATIONS, 0, 0, 96, 96)
            edges = [scene_graph(scene, RELATIONS).edges(keys=True, data=True) for scene in scenes]
            stacks = [
                {(i, j) for i, j, name, data in scene_edges if name == "on" and data["holds"]}
                for scene_edges in edges
            ]
            assert stacks[0] == stacks[1]
            stacked += bool(stack)
            twins += 1
    assert twins > 50
    assert stacked > 3
