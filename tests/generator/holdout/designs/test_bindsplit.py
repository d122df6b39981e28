from generator.holdout.designs.bindsplit import BINDSPLIT, SYSTEMATICITY
from generator.vocabulary.schema import read_vocabulary

CLEVR, ORIGINAL = read_vocabulary("clevr"), read_vocabulary("clevr-original")


def test_the_default_block_leaves_every_name_a_seen_binding() -> None:
    assert BINDSPLIT.default_holdout(CLEVR) == ("3x3",)
    assert BINDSPLIT.default_holdout(ORIGINAL) == ("3x2",)


def test_one_holdout_has_all_blocks() -> None:
    (holdout,) = BINDSPLIT.draw(
        ("2x3", "relation:pair=1x2"), read_vocabulary("clevr-many"), 5, True
    )
    assert (len(holdout.bindings), holdout.block_seed, holdout.design) == (6, 5, "bindsplit")
    assert len(holdout.triples) > 2
    assert BINDSPLIT.benchmark_name(holdout) == "color-shape-2x3+relation-pair-1x2-b5"


def test_a_block_and_whole_names_are_held_out() -> None:
    (holdout,) = SYSTEMATICITY.draw(SYSTEMATICITY.default_holdout(CLEVR), CLEVR, 0, True)
    assert len(holdout.bindings) == 9
    assert (len(holdout.absent_values), len(holdout.absent_objects)) == (1, 2)
    assert {*holdout.absent_values}.isdisjoint(holdout.values)
    assert SYSTEMATICITY.benchmark_name(holdout).startswith("systematicity-")
    assert "systematicity" in SYSTEMATICITY.first_texts(holdout).protocols
    assert "unseen_atoms" in SYSTEMATICITY.rule(CLEVR, holdout).splits
