import pytest

from generator.base.errors import UserError
from generator.holdout.blocks import draw_block
from generator.vocabulary.schema import read_vocabulary

VOCABULARY = read_vocabulary("clevr")


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
