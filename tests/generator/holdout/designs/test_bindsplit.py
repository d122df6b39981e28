from generator.holdout.designs.bindsplit import DESIGN
from generator.vocabulary.schema import read_vocabulary

CLEVR, ORIGINAL = read_vocabulary("clevr"), read_vocabulary("clevr-original")


def test_the_default_block_leaves_every_name_a_seen_binding() -> None:
    assert DESIGN.default_holdout(CLEVR) == ("3x3",)
    assert DESIGN.default_holdout(ORIGINAL) == ("3x2",)


def test_one_holdout_has_all_blocks() -> None:
    (holdout,) = DESIGN.draw(("2x3", "relation:pair=1x2"), read_vocabulary("clevr-many"), 5, True)
    assert (len(holdout.bindings), holdout.block_seed, holdout.design) == (6, 5, "bindsplit")
    assert len(holdout.triples) > 2
    assert DESIGN.benchmark_name(holdout) == "color-shape-2x3+relation-pair-1x2-b5"
