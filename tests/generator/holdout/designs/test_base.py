from generator.holdout.holdout import Holdout
from generator.holdout.request import design_of

BLOCK = Holdout("color", "shape", ("red",), ("cube", "cone"), 3, (("red", "cube"), ("red", "cone")), asked=("2x3",))
RELATED = Holdout("color", "shape", triples=(("cube", "left", "cone"), ("cone", "right", "cube")), opposites=False)


def test_a_holdout_is_told_in_a_line() -> None:
    design = design_of(BLOCK)
    assert design.summary(BLOCK) == "color red with shape cube, cone"
    assert design.summary(RELATED) == "2 relation triples (cube left cone, cone right cube)"
    assert design.benchmark_name(BLOCK) == "color-shape-2x3-b3"


def test_what_follows_from_held_out_relations() -> None:
    design = design_of(BLOCK)
    assert design.may_lack(BLOCK) == ()
    assert design.may_lack(RELATED) == ("partial",)
    assert (design.equal_familiarity(BLOCK), design.equal_familiarity(RELATED)) == (True, False)
    assert design.declared_leaks(BLOCK) == []
    assert "--no-opposites" in design.declared_leaks(RELATED)[0]
    assert design.first_texts(RELATED).template is None
