from generator.holdout.designs.systematicity import DESIGN
from generator.vocabulary.schema import read_vocabulary

CLEVR = read_vocabulary("clevr")


def test_a_block_and_whole_names_are_held_out() -> None:
    (holdout,) = DESIGN.draw(DESIGN.default_holdout(CLEVR), CLEVR, 0, True)
    assert len(holdout.bindings) == 9
    assert (len(holdout.absent_values), len(holdout.absent_objects)) == (1, 2)
    assert {*holdout.absent_values}.isdisjoint(holdout.values)
    assert DESIGN.benchmark_name(holdout).startswith("systematicity-")
    assert "systematicity" in DESIGN.first_texts(holdout).protocols
    assert "unseen_atoms" in DESIGN.rule(CLEVR, holdout).splits
