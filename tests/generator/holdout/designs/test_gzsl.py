import pytest

from generator.base.errors import UserError
from generator.holdout.designs.gzsl import DESIGN
from generator.vocabulary.schema import read_vocabulary

WORLD = read_vocabulary("pearson2025")


def test_a_preset_has_the_published_numbers_of_images() -> None:
    """Protocols, section 2 (Pearson et al. 2025, table 1)."""
    holdouts = DESIGN.draw(("pearson2025",), WORLD, 0, False)
    counts = DESIGN.scene_counts(holdouts, WORLD, None)
    assert [list(each.values()) for each in counts] == [
        [1360, 340, 340, 400, 1100],
        [7440, 1860, 1860, 600, 3700],
        [440, 110, 110, 250, 400],
    ]
    assert [DESIGN.benchmark_name(each) for each in holdouts] == [
        "pearson2025-single",
        "pearson2025-two-object",
        "pearson2025-relational",
    ]


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
