import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.holdout.blocks import draw_block
from generator.vocabulary.schema import read_vocabulary

VOCABULARY = read_vocabulary("clevr")


@given(st.integers(2, 7), st.integers(2, 11), st.integers(0, 10**9))
def test_every_value_and_object_keeps_a_seen_binding(rows: int, columns: int, seed: int) -> None:
    block = draw_block(f"{rows}x{columns}", VOCABULARY, seed)
    held = {(v, o) for v in VOCABULARY.values("color") for o in VOCABULARY.objects if block.holds_out(v, o)}
    assert len(held) == rows * columns
    for value in VOCABULARY.values("color"):
        assert any((value, thing) not in held for thing in VOCABULARY.objects)
    for thing in VOCABULARY.objects:
        assert any((value, thing) not in held for value in VOCABULARY.values("color"))


def test_seeds_choose_different_blocks_and_zero_is_one() -> None:
    assert draw_block("3x3", VOCABULARY, 0) == draw_block("color:shape=3x3", VOCABULARY, 0)
    assert len({(b.values, b.objects) for b in (draw_block("3x3", VOCABULARY, seed) for seed in range(40))}) > 35


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("3by3", "got '3by3'"),
        ("", "got ''"),
        ("-3x3", "got '-3x3'"),
        ("1x3", "unseen split would be empty"),
        ("3x1", "unseen split would be empty"),
        ("8x3", "without a seen binding; hold out at most 7"),
        ("3x12", "without a seen binding; hold out at most 11"),
        ("colour:shape=3x3", "did you mean 'color'"),
        ("color:animal=3x3", "called 'shape', not 'animal'"),
        ("size:shape=2x3", "size has only 2 values"),
    ],
)
def test_impossible_blocks_are_refused_with_the_reason(spec: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        draw_block(spec, VOCABULARY, 0)
    assert said in caught.value.message
