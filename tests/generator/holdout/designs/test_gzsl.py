import pytest

from generator.base.errors import UserError
from generator.holdout.designs.gzsl import DESIGN
from generator.vocabulary.schema import read_vocabulary

WORLD = read_vocabulary("pearson2025")


def test_a_number_of_scenes_is_shared_out_and_too_few_are_refused() -> None:
    holdouts = DESIGN.draw(("classes",), WORLD, 3, False)
    counts = DESIGN.scene_counts(holdouts, WORLD, "6000")
    assert 5900 < sum(sum(each.values()) for each in counts) <= 6000
    three = DESIGN.draw(("classes", "objects=3"), read_vocabulary("clevr"), 3, False)
    shared = DESIGN.scene_counts(three, read_vocabulary("clevr"), "6000")
    assert len(shared) == 4
    assert shared[3] == shared[1]
    with pytest.raises(UserError, match="to be a number for its 4 datasets together"):
        DESIGN.scene_counts(three, read_vocabulary("clevr"), "train=5")
    with pytest.raises(UserError, match="leaves no scene for"):
        DESIGN.scene_counts(holdouts, WORLD, "20")
    with pytest.raises(UserError, match="to be a number for its 3 datasets together"):
        DESIGN.scene_counts(holdouts, WORLD, "train=5")
