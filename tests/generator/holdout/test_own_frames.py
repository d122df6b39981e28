"""Directions in an object's own frame, held out by size or by name."""

import json
from itertools import product
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.dataset.own_frames import describe_own_frames
from generator.holdout.blocks import draw_block
from generator.holdout.designs import find_design
from generator.holdout.files import read_holdout
from generator.holdout.holdout import Holdout
from generator.vocabulary.schema import read_vocabulary

CLEVR, FRAMES = read_vocabulary("clevr"), read_vocabulary("pug-frames")
SIDES, DEPTHS = ("own-left", "own-right"), ("own-behind", "own-front")


def test_a_named_direction_is_held_out_with_its_opposite_and_every_subject() -> None:
    holdout = draw_block(" own-left : lion", FRAMES, 0)
    assert set(holdout.triples) == set(product(FRAMES.objects, SIDES, ["lion"]))
    assert holdout.own_frames == {"lion": SIDES}
    one_way = draw_block("own-left: lion", FRAMES, 0, opposites=False)
    assert set(one_way.triples) == set(product(FRAMES.objects, ["own-left"], ["lion"]))


def test_objects_may_differ_in_their_axis() -> None:
    holdout = draw_block(["own-left: lion", "own-front: fox"], FRAMES, 0)
    assert holdout.own_frames == {"fox": DEPTHS, "lion": SIDES}
    assert describe_own_frames(holdout.own_frames) == (
        "own-behind/own-front of: fox; own-left/own-right of: lion"
    )
    summary = find_design("bindsplit").summary(holdout)
    assert summary == describe_own_frames(holdout.own_frames)


def test_a_block_is_one_axis_and_as_many_objects() -> None:
    axes = set()
    for seed in range(12):
        holdout = draw_block("relation:object=2x3", FRAMES, seed)
        assert len(holdout.own_frames) == 3
        (axis,) = set(holdout.own_frames.values())
        axes.add(axis)
        assert draw_block("relation:object=2x3", FRAMES, seed) == holdout
    assert axes == {SIDES, DEPTHS}


def test_a_block_prefers_the_objects_of_held_out_bindings() -> None:
    for seed in range(4):
        holdout = draw_block(["3x3", "relation:object=2x3"], FRAMES, seed)
        assert set(holdout.own_frames) == set(holdout.objects)


def test_a_holdout_json_is_completed_by_what_follows(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(
        json.dumps(
            {"kind": "color", "category": "animal", "triples": [["fox", "own-left", "lion"]]}
        )
    )
    holdout = read_holdout(path, FRAMES)
    assert set(holdout.triples) == set(draw_block("own-left: lion", FRAMES, 0).triples)
    assert holdout.asked == ("own-left: lion", "own-right: lion")
    assert Holdout.from_dict(holdout.to_dict()) == holdout


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        (["own-left: lino"], "unknown animal 'lino'; did you mean 'lion'?"),
        (["own-left: lion, fox"], 'name that object alone, such as "own-left: lion"'),
        (["left: lion"], "the relation 'left' needs two objects"),
        (["seen-left: lion"], "the relation 'seen-left' needs two objects"),
        (["seen-left: lion, fox"], "positions and headings decide 'seen-left'"),
        (["own-left: lion", "own-front: lion"], "holds out both axes of lion"),
        (["relation:object=3x2"], "hold out 1 or 2 directions"),
        (["relation:object=0x2"], "hold out 1 or 2 directions"),
        (["relation:object=2x0"], "hold out those of 1 to 11"),
        (["relation:object=2x12"], "hold out those of 1 to 11"),
        (["relation:object=2by3"], "relation:pair=2x3 or relation:object=2x3, got"),
        (["relation:object=2x3", "relation:object=2x2"], "give one block, or only names"),
        (["relation:object=2x3", "own-left: lion"], "give one block, or only names"),
        ([f"own-left: {animal}" for animal in FRAMES.objects], "at least one animal in training"),
    ],
)
def test_an_impossible_direction_is_refused(specs: list[str], expected: str) -> None:
    with pytest.raises(UserError) as refused:
        draw_block(specs, FRAMES, 0)
    assert expected in str(refused.value)


@pytest.mark.parametrize("spec", ["relation:object=2x3", "own-left: cube"])
def test_a_family_without_own_frames_is_refused(spec: str) -> None:
    with pytest.raises(UserError, match="has no relations in an object's own frame"):
        draw_block(spec, CLEVR, 0)
