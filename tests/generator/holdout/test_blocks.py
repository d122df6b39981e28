"""Blocks: triples are closed, and every value and object keeps a seen binding."""

from dataclasses import replace
from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from generator.holdout.blocks import draw_block
from generator.vocabulary.schema import read_vocabulary

CLEVR = read_vocabulary("clevr")


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.booleans(), st.integers(0, 999))
def test_held_out_triples_are_closed(rows: int, columns: int, opposites: bool, seed: int) -> None:
    """(cube, left, sphere) and (sphere, right, cube) are one fact: held out together or not at
    all."""
    block = draw_block(f"relation:pair={rows}x{columns}", CLEVR, seed, opposites=opposites)
    held = {*block.triples}
    assert len(held) == len(block.triples) >= rows * columns
    for subject, name, other in held:
        relation = CLEVR.relations[name]
        assert (other, relation.converse, subject) in held
        assert not opposites or (subject, relation.opposite, other) in held


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 5), st.integers(2, 8), st.integers(1, 2), st.integers(1, 3), st.integers(0, 999)
)
def test_every_value_and_object_keeps_a_seen_binding(
    r: int, c: int, values: int, objects: int, seed: int
) -> None:
    """Those that are absent from training as a whole aside."""
    holdout = draw_block((f"{r}x{c}", f"atoms={values}x{objects}"), CLEVR, seed)
    seen = [
        (value, category)
        for value in CLEVR.values("color")
        for category in CLEVR.objects
        if not holdout.holds_out(value, category) and not holdout.absent(value, category)
    ]
    assert (len(holdout.absent_values), len(holdout.absent_objects)) == (values, objects)
    assert {value for value, _ in seen} == {*CLEVR.values("color")} - {*holdout.absent_values}
    assert {category for _, category in seen} == {*CLEVR.objects} - {*holdout.absent_objects}


def test_seeds_choose_different_blocks_and_a_plain_block_is_of_the_tested_kind() -> None:
    assert draw_block("3x3", CLEVR, 0) == draw_block("color:shape=3x3", CLEVR, 0)
    assert (
        len({(b.values, b.objects) for b in (draw_block("3x3", CLEVR, seed) for seed in range(40))})
        > 35
    )


def test_blocks_are_the_same_in_whatever_order_they_are_asked_for() -> None:
    """Unseen atoms once took values of the family's tested kind before a block of another kind was
    drawn."""
    holdout_options = "color:shape=3x3", "relation:pair=1x2", "atoms=1x1"
    holdouts = [
        replace(draw_block(options, CLEVR, 0), asked=())
        for options in permutations(holdout_options)
    ]
    assert holdouts == holdouts[:1] * 6
