import random
from collections import Counter

import pytest

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.language.complexity import LEVELS, Cell, list_cells, parse_complexity, parse_counts
from generator.language.truth import decide
from generator.language.walk import Walker
from generator.scene.scene import Camera, Scene, SceneObject
from generator.vocabulary.schema import read_vocabulary
from tests.generator.scenes import CATEGORIES, VOCABULARY, facts_of, random_scene, scene_of

CELLS = list_cells(tuple(LEVELS), (1, 12), {}, vocabulary=VOCABULARY, most_objects=10)
WALKER = Walker(VOCABULARY)


def test_captions_are_true_and_have_exactly_the_atoms_of_their_cell() -> None:
    draw = random.Random(9)
    walks = Counter[str]()
    stream = Stream("cells")
    for number in range(60):
        scene = random_scene(draw, 3, 10, CATEGORIES[:5] if number % 3 == 0 else None)
        facts = facts_of(scene)
        for cell in stream.shuffled(CELLS)[:40]:
            subgraph = WALKER.walk(facts, cell, range(len(scene.objects)), stream)
            if subgraph is None:
                continue
            form = subgraph.form
            assert Cell(form.level, form.n_objects, form.n_attributes, form.n_relations) == cell
            assert decide(form, facts) is True
            assert [facts.categories[i] for i in subgraph.objects] == [
                mention.category for mention in form.objects
            ]
            ends = [
                (link.relation in ("left", "right"), end)
                for link in form.relations
                for end in (link.subject, link.object)
            ]
            assert len(set(ends)) == len(ends)
            walks[cell.level] += 1
    assert min(walks.values()) > 30
    assert set(walks) == set(LEVELS)


def test_only_eligible_objects_and_sayable_kinds_are_named() -> None:
    facts = facts_of(scene_of(("cube", {}), ("cone", {}), ("torus", {}), ("star", {})))
    for n in range(20):
        subgraph = WALKER.walk(
            facts, Cell("OA", 2, 2, 0), (0, 2), Stream("walk", n), sayable=lambda i: ["color"]
        )
        assert subgraph is not None
        assert set(subgraph.objects) == {0, 2}
        assert all(set(mention.values) == {"color"} for mention in subgraph.form.objects)


def test_values_that_all_objects_share_are_not_named() -> None:
    """Every animal of pug is matt: "a matt wolf textured with marble" says nothing more."""
    pug = read_vocabulary("pug").painted_with("texture")
    wolf = SceneObject("wolf", {"texture": "marble", "coat": "matt"}, (0.0, 0.0, 0.0), 0.0)
    camera = Camera((0.0, -9.0, 3.0), (0.0, 0.0, 0.0), 50.0, 36.0)
    facts = facts_of(Scene((wolf,), camera, {}, "snow"), pug)
    walker = Walker(pug)
    named = walker.walk(facts, Cell("OA", 1, 1, 0), (0,), Stream("walk"))
    assert named is not None
    assert dict(named.form.objects[0].values) == {"texture": "marble"}
    assert walker.walk(facts, Cell("OA", 1, 2, 0), (0,), Stream("walk")) is None


def test_a_scene_without_enough_objects_or_attributes_has_no_walk() -> None:
    facts = facts_of(scene_of(("cube", {}), ("cone", {})))
    assert WALKER.walk(facts, Cell("L1", 2, 0, 0), (0,), Stream(0)) is None
    assert (
        WALKER.walk(facts, Cell("OA", 1, 2, 0), (0, 1), Stream(0), sayable=lambda i: ["color"])
        is None
    )


def test_apart_walks_join_a_different_pair_with_every_relation() -> None:
    facts = facts_of(scene_of(("cube", {}), ("cone", {}), ("torus", {}), ("star", {})))
    numbers = {True: set[int](), False: set[int]()}
    for n in range(60):
        for apart in numbers:
            subgraph = WALKER.walk(
                facts, Cell("OR", 4, 0, 2), range(4), Stream("walk", n), apart=apart
            )
            assert subgraph is not None
            numbers[apart].add(
                len({frozenset((link.subject, link.object)) for link in subgraph.form.relations})
            )
    assert numbers == {True: {2}, False: {1, 2}}


def test_parts_of_a_subgraph_have_its_relations_and_no_others() -> None:
    draw = random.Random(4)
    parts = Counter[str]()
    for number in range(25):
        facts = facts_of(random_scene(draw, 3, 9))
        stream = Stream("part", number)
        objects = range(len(facts))
        whole = WALKER.subgraph(facts, objects, stream)
        assert decide(whole.form, facts) is True
        assert sorted(whole.objects) == list(objects)
        assert 0 < len(whole.form.relations) <= 10
        known = {
            (whole.objects[r.subject], r.relation, whole.objects[r.object])
            for r in whole.form.relations
        }
        for cell in stream.shuffled(CELLS)[:40]:
            part = WALKER.walk(facts, cell, objects, stream, within=whole)
            if part is None:
                continue
            form = part.form
            assert Cell(form.level, form.n_objects, form.n_attributes, form.n_relations) == cell
            assert decide(form, facts) is True
            assert {
                (part.objects[r.subject], r.relation, part.objects[r.object])
                for r in form.relations
            } <= known
            parts[cell.level] += 1
    assert set(parts) == set(LEVELS)
    assert min(parts.values()) > 10


def test_cells_have_the_requested_counts() -> None:
    exact = {"O": 3, "A": 5, "R": 2}
    cells = list_cells(["OAR"], (4, 12), exact, vocabulary=VOCABULARY, most_objects=10)
    assert cells == [Cell("OAR", 3, 5, 2)]
    assert Cell("OAR", 3, 5, 2).complexity == 10
    ranges = {level: {cell.complexity for cell in CELLS if cell.level == level} for level in LEVELS}
    assert {level: (min(n), max(n)) for level, n in ranges.items()} == LEVELS


def test_an_object_is_in_one_relation_of_each_slot() -> None:
    cells = list_cells(["OR"], (3, 12), {"O": 2}, vocabulary=VOCABULARY, most_objects=10)
    assert {cell.n_relations for cell in cells} == {1, 2}  # left or right, in front or behind


@pytest.mark.parametrize(
    ("levels", "complexity", "counts", "most", "says"),
    [
        (["OAR"], "4..12", "O=1,R=1", 10, "O=1, R=1"),
        (["L1"], "11..12", None, 10, "11 to 12"),
        (["OR"], "12", None, 2, "up to 2 objects"),
        (["XY"], "4", None, 3, "Unknown level 'XY'"),
    ],
)
def test_impossible_complexities_are_refused_with_the_limits(
    levels: list[str], complexity: str, counts: str | None, most: int, says: str
) -> None:
    with pytest.raises(UserError, match=says):
        list_cells(
            levels,
            parse_complexity(complexity),
            parse_counts(counts),
            vocabulary=VOCABULARY,
            most_objects=most,
        )


@pytest.mark.parametrize(
    ("spec", "parse"),
    [
        ("4-12", parse_complexity),
        ("12..4", parse_complexity),
        ("0", parse_complexity),
        ("13", parse_complexity),
        ("O3", parse_counts),
        ("X=3", parse_counts),
    ],
)
def test_malformed_complexities_are_refused(spec: str, parse) -> None:
    with pytest.raises(UserError, match="Expected --"):
        parse(spec)


def test_a_number_is_a_range_of_one_and_no_counts_are_none() -> None:
    assert parse_complexity("6") == (6, 6)
    assert parse_counts(None) == {}
