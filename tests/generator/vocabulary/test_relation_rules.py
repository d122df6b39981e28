"""The table of rules: its axes agree with space, and a rule is added by one entry."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.dataset import relations as relation_rules
from generator.dataset.reader import Dataset
from generator.dataset.relations import AXES, AXIS_OF, CONTACT, Axis, Pose
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.holdout.blocks import draw_block
from generator.judge import geometry
from generator.judge.verify import verify_dataset
from generator.language.form import Form, Link, Mention
from generator.language.grammar import Grammar
from generator.language.truth import Facts, decide
from generator.placement.scenes import place_scene
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.scene.layouts import certain_relations, open_relations
from generator.scene.relations import along, ground_directions, scene_graph
from generator.vocabulary.schema import read_vocabulary
from tests.generator.scenes import scene_of
from tests.generator.unrendered import write_planned

LEVEL = Axis(
    ("level", "staggered"),
    lambda one, other, distance: distance - abs(one.behind - other.behind),
    symmetric=True,
    needs_distance=True,
)
FAMILY = """
extends = "clevr-many"

[relations]
level = { phrase = "about as far away as", distance = 1.0, margin = 0.05 }
staggered = { phrase = "nearer or farther than", distance = 1.0, margin = 0.05 }
"""
COUNTS = {"train": 40, "val": 2, "seen": 15, "partial": 15, "unseen": 15}
metres = st.floats(-5, 5)
tops = st.sampled_from([(0.0, 0.0), (0.8, 0.5)])
feet = st.sampled_from([0.0, 0.8, 0.8 + CONTACT / 2])
facings = st.one_of(
    st.just((0.0, 0.0)),
    st.floats(0, 2 * math.pi).map(lambda angle: (math.cos(angle), math.sin(angle))),
)
poses = st.builds(
    lambda right, behind, foot, top, facing: Pose(right, behind, foot, *top, *facing),
    metres,
    metres,
    feet,
    tops,
    facings,
)


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A family with a rule of its own: an entry of the table, a phrase each, and an entry of the
    judge."""
    for rule in LEVEL.rules:
        monkeypatch.setitem(relation_rules.AXIS_OF, rule, LEVEL)
    apart = lambda one, other: np.abs(one.away - other.away)  # noqa: E731
    level = geometry.Rule(
        lambda one, other, distance: distance - apart(one, other), "staggered", "level"
    )
    staggered = geometry.Rule(
        lambda one, other, distance: apart(one, other) - distance, "level", "staggered"
    )
    monkeypatch.setitem(geometry.RULES, "level", level)
    monkeypatch.setitem(geometry.RULES, "staggered", staggered)
    (tmp_path / "mine.toml").write_text(FAMILY, encoding="utf-8")
    return str(tmp_path / "mine.toml")


@given(st.sampled_from(sorted(AXIS_OF)), poses, poses, poses)
def test_converses_and_opposites_are_what_the_margins_say(
    rule: str, one: Pose, other: Pose, third: Pose
) -> None:
    axis = AXIS_OF[rule]
    joined = (one, other, third)[: axis.arity]
    margin = axis.margin(rule, joined, 2.0)
    converse = axis.converse(rule)
    if converse is not None:
        assert axis.margin(converse, (other, one), 2.0) == margin
        assert axis.converse(converse) == rule
    if margin > 0:
        assert axis.margin(axis.opposite(rule), joined, 2.0) <= 0
    assert axis.opposite(axis.opposite(rule)) == rule
    first, second, negated = axis.in_terms_of_first_rule(rule, one, other)
    if axis.arity == 2:
        by_first_rule = axis.margin(axis.rules[0], (first, second), 2.0)
        assert margin == (-by_first_rule if negated else by_first_rule)


@given(st.sampled_from(sorted(AXIS_OF)), poses, poses, poses)
def test_the_judge_s_own_table_gives_the_same_metres(
    rule: str, one: Pose, other: Pose, third: Pose
) -> None:
    joined = (one, other, third)[: AXIS_OF[rule].arity]
    assert geometry.RULES[rule].arity == len(joined)
    standing = [geometry.StandingObject(*pose) for pose in joined]
    read = geometry.RULES[rule].margin(*standing, 2.0)
    assert AXIS_OF[rule].margin(rule, joined, 2.0) == pytest.approx(float(read), abs=1e-6)
    assert geometry.RULES[rule].opposite == AXIS_OF[rule].opposite(rule)
    assert (geometry.RULES[rule].converse or None) == AXIS_OF[rule].converse(rule)


def test_both_tables_have_the_same_rules() -> None:
    assert geometry.RULES.keys() == AXIS_OF.keys()
    assert len(AXIS_OF) == 2 * len(AXES)


@pytest.mark.full
def test_a_rule_of_one_entry_is_planned_placed_described_and_verified(
    family: str, tmp_path: Path
) -> None:
    prepared = prepare(
        WorldOptions(
            family=family, holdout="3x3", scenes=COUNTS, resolution="64x48", objects=(2, 4)
        )
    )
    vocabulary, seen = prepared.vocabulary, Counter()
    for planned in [prepared.planned[n] for n in range(30)]:
        scene = place_scene(planned, vocabulary, 0, 0, 64, 48)
        pairs = len(scene.objects) * (len(scene.objects) - 1)
        assert (
            sum(name in LEVEL.rules for _, name, _ in open_relations(planned, vocabulary))
            == 2 * pairs
        )
        assert not any(name in LEVEL.rules for _, name, _ in certain_relations(planned, vocabulary))
        behind = ground_directions(scene.camera)["behind"]
        away = [along(behind, obj.position) for obj in scene.objects]
        for i, j, name, edge in scene_graph(scene, vocabulary).edges(keys=True, data=True):
            if name in LEVEL.rules:
                sign = 1 if name == "level" else -1
                assert edge["margin"] == pytest.approx(
                    sign * (1 - abs(away[i] - away[j])), abs=1e-6
                )
                seen[name, edge["holds"]] += 1
    assert all(seen[name, holds] for name in LEVEL.rules for holds in (True, False))

    root = tmp_path / "dataset"
    write_planned(root, prepared)
    describe_world(
        root,
        Dataset.open(root).world,
        holdout=prepared.holdout,
        name="b",
        request=TextRequest(strict=False),
    )
    forms = [
        json.loads(form)
        for form in pq.read_table(root / "benchmarks/b/texts.parquet")["form"].to_pylist()
    ]
    n_relations = Counter(link[1] for form in forms for link in form.get("relations", []))
    assert {*n_relations} == {*vocabulary.relations}
    certificate = verify_dataset(root, None)["b"]
    assert certificate["status"] == "clean", certificate["findings"][:5]


def test_a_relation_that_no_plan_decides_is_not_held_out(family: str) -> None:
    vocabulary = read_vocabulary(family)
    with pytest.raises(UserError, match="has 4 relations that can be held out"):
        draw_block("relation:pair=5x2", vocabulary, 0)
    for seed in range(20):
        held_out = draw_block("relation:pair=2x2", vocabulary, seed).triples
        assert not {name for _, name, _ in held_out} & {*LEVEL.rules}


def test_a_relation_of_three_objects_is_one_axis_and_a_phrase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def between(one: Pose, first: Pose, second: Pose, _: float) -> float:
        inside = abs(one.right - first.right), abs(one.right - second.right)
        return abs(first.right - second.right) - max(inside)

    monkeypatch.setitem(
        relation_rules.AXIS_OF, "between", Axis(("between",), between, symmetric=True, arity=3)
    )
    text = 'extends = "clevr"\n[relations]\nbetween = { phrase = "between", margin = 0.2 }\n'
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    vocabulary = read_vocabulary(str(tmp_path / "mine.toml"))
    objects = [("cube", {}), ("cone", {}), ("sphere", {})]
    scene = scene_of(*objects, positions=[(0, 0), (-2, -2), (2, 2)], vocabulary=vocabulary)
    form = Form(tuple(Mention(name) for name, _ in objects), (Link(0, "between", 1, True, (2,)),))
    assert Grammar(vocabulary).templates(form) == ("list-then-relate",)
    assert (
        Grammar(vocabulary).realise(form, "list-then-relate")
        == "There is a cube, a cone and a sphere. The cube is between the cone and the sphere."
    )
    facts_ = Facts(scene, vocabulary)
    for places, truth in (((0, 1, 2), True), ((0, 2, 1), True), ((1, 0, 2), False)):
        turned = form._replace(relations=(form.relations[0].moved(places.__getitem__),))
        assert decide(turned, facts_) is truth
        assert decide(turned._replace(negated=True), facts_) is not truth
    denied = form._replace(relations=(form.relations[0]._replace(holds=False),))
    assert decide(denied, facts_) is False
    assert form.to_dict()["relations"] == [[0, "between", 1, True, 2]]
