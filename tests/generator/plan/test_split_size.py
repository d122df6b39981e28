"""The size of a planned split is counted from its scenes."""

import pytest

from generator.holdout.request import HoldoutRequest
from generator.plan.job import prepare_world
from generator.plan.plan import plan_parts
from generator.plan.power import SplitSize, planned_sizes, sizes_to_plan
from generator.vocabulary.schema import read_vocabulary


def sizes(family: str, request: HoldoutRequest, objects: tuple[int, int] = (2, 2)) -> list[SplitSize]:
    vocabulary = read_vocabulary(family)
    holdouts = request.holdouts(vocabulary)
    parts = request.parts(holdouts, vocabulary)
    found = planned_sizes(plan_parts(vocabulary, parts, 0, objects), holdouts, vocabulary)
    assert sizes_to_plan(holdouts, parts, vocabulary, 0, objects) == found
    assert sizes_to_plan(holdouts[:1], parts, vocabulary, 0, objects) == found[:1]
    return found


@pytest.mark.full
def test_a_block_of_3x3_has_nine_groups_and_nine_bindings() -> None:
    block = SplitSize("unseen", 30, 9, 9, 2.0, (3, 3))
    assert sizes("clevr", HoldoutRequest(holdout=("3x3",), scenes="train=60,unseen=30")) == [block]
    assert sizes("clevr", HoldoutRequest(block_seeds=(0, 4), scenes="train=60,unseen=30")) == [block, block]
    assert sizes("clevr", HoldoutRequest(holdout=("4x2",), scenes="train=60,unseen=30"))[0].clusters == 6


@pytest.mark.full
def test_over_the_grid_the_rule_says_which_scenes_are_unseen() -> None:
    found = sizes("clevr", HoldoutRequest(block_seeds=(0, 1), scenes="grid"))
    assert found == [SplitSize("unseen", 36, 9, 9, 2.0, (3, 3))] * 2  # 9 groups, 2 pairings, 2 orders


@pytest.mark.parametrize(
    ("family", "request_", "split"),
    [
        ("clevr", HoldoutRequest("gzsl", scenes="700"), "ood_test"),
        pytest.param(
            "clevr-relations",
            HoldoutRequest(holdout=("relation:pair=2x3",), scenes="train=60,unseen=40"),
            "unseen",
            marks=pytest.mark.full,
        ),
    ],
)
def test_other_designs_are_counted_too(family: str, request_: HoldoutRequest, split: str) -> None:
    for found in sizes(family, request_):
        assert found.split == split
        assert 0 < found.clusters <= found.scenes
        assert found.bindings > 5


def test_many_objects_count_in_the_mean() -> None:
    (found,) = sizes("clevr-many", HoldoutRequest(scenes="train=20,unseen=20"), (3, 6))
    assert found.objects == pytest.approx(4.5)


def test_twins_are_counted() -> None:
    prepared, _ = prepare_world(scenes="train=40,val=2,seen=2,partial=2,unseen=30", pairs=True)
    found = sizes_to_plan(prepared.holdouts, prepared.parts, prepared.vocabulary, 0, exchange=prepared.job.exchange)
    assert [each.scenes for each in found] == [30]
    assert found[0].scenes == planned_sizes(prepared.planned, prepared.holdouts, prepared.vocabulary)[0].scenes
