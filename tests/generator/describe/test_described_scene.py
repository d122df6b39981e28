from unittest.mock import patch

from generator.describe import scenes as described_scene
from generator.language.form import Form, Mention
from tests.generator.scenes import CATEGORIES, HOLDOUT, described, scene_of


def test_partial_captions_are_partly_held_out() -> None:
    value, category = HOLDOUT.values[0], HOLDOUT.objects[0]
    free = [name for name in CATEGORIES if name not in HOLDOUT.objects]
    scene = scene_of(
        (category, {HOLDOUT.kind: value}),
        (free[0], {HOLDOUT.kind: HOLDOUT.values[1]}),
        (free[1], {HOLDOUT.kind: HOLDOUT.values[2]}),
    )
    partial = described(scene, "partial")
    assert partial.held_out == (True, False, False)
    assert not partial.objects_fit_split((1, 2))
    assert not partial.objects_fit_split((0,))
    assert partial.objects_fit_split((0, 1))
    assert described(scene, "seen").objects_fit_split((1, 2))


def test_unique_objects_are_the_only_ones_of_their_category() -> None:
    assert described(scene_of(("cube", {}), ("cone", {}), ("cube", {}))).unique_objects == (1,)


def test_relations_fit_the_split_if_they_are_among_the_held_out_ones() -> None:
    scene = described(scene_of(("cube", {}), ("cone", {})))
    assert scene.relation_fits_split(0, "left", 1)
    scene.held_out_relations = frozenset({(0, "left", 1)})
    assert scene.relation_fits_split(0, "left", 1)
    assert not scene.relation_fits_split(1, "right", 0)


def test_a_form_is_decided_once() -> None:
    scene, form = described(scene_of(("cube", {}))), Form((Mention("cube"),))
    with patch.object(described_scene, "decide", wraps=described_scene.decide) as decide:
        assert scene.decide(form) is scene.decide(form) is True
    assert decide.call_count == 1
