from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from generator.holdout.blocks import draw_block
from generator.holdout.membership import SPLITS, SplitPlan
from generator.plan.packed import Plan
from generator.plan.plan import plan_scenes
from generator.scene.exchange import Exchange
from generator.vocabulary.schema import read_vocabulary

RELATIONS = read_vocabulary("clevr-relations")
SCENES = dict.fromkeys(SPLITS, 8)


@cache
def plan() -> Plan:
    """Scenes of two to four objects."""
    return plan_scenes(RELATIONS, SplitPlan(RELATIONS, draw_block("3x3", RELATIONS, 0)), SCENES, 0, (2, 4))


def test_a_plan_is_a_sequence() -> None:
    assert len(plan()) == len(list(plan())) == 8 * len(SPLITS)
    assert plan()[-1] == list(plan())[-1]
    assert plan()[2:5] == list(plan())[2:5]
    assert [each.scene_id for each in plan()[:2]] == ["000000", "000001"]


@settings(deadline=None)
@given(st.integers(0, sum(SCENES.values()) - 1), st.sampled_from([None, "color", "size"]))
def test_a_pair_of_rows_is_a_scene_and_its_twin(number: int, kind: str | None) -> None:
    rows = plan().codec.paired(plan().rows[number], Exchange(kind, 0, 1))
    scene, twin = (plan().codec.planned(row, 10 + i) for i, row in enumerate(rows))
    assert (scene.exchange, scene.twin_of) == (Exchange(kind, 0, 1), None)
    assert (twin.exchange, twin.twin_of) == (Exchange(kind, 0, 1), scene.scene_id)
    assert scene.objects == twin.objects == plan()[number].objects


def test_a_row_takes_some_dozens_of_bytes() -> None:
    assert max(map(len, plan().rows)) < 100
