from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from generator.holdout.designs.base import DEFAULT_COUNTS, parse_scenes
from generator.holdout.holdout import Holdout
from generator.holdout.request import design_of

VALUES, OBJECTS = ("red", "blue"), ("cube", "cone")
BLOCK = Holdout(
    "color", "shape", VALUES, OBJECTS, 3, tuple(product(VALUES, OBJECTS)), asked=("2x3",)
)
RELATED = Holdout(
    "color", "shape", triples=(("cube", "left", "cone"), ("cone", "right", "cube")), opposites=False
)


def test_numbers_of_scenes_are_read() -> None:
    assert parse_scenes("3000") == parse_scenes(None) == DEFAULT_COUNTS
    assert parse_scenes("unseen=900") == {**DEFAULT_COUNTS, "unseen": 900}
    assert parse_scenes("train=1000,seen=150") == {
        "train": 1000,
        "val": 50,
        "seen": 150,
        "partial": 150,
        "unseen": 150,
    }
    assert parse_scenes("train=5,seen=6") == {
        "train": 5,
        "val": 1,
        "seen": 6,
        "partial": 1,
        "unseen": 1,
    }


@given(st.integers(30, 10**6))
def test_a_number_is_shared_out_wholly(n: int) -> None:
    counts = parse_scenes(str(n))
    assert counts.keys() == DEFAULT_COUNTS.keys()
    assert sum(counts.values()) == n
    assert min(counts.values()) > 0


def test_a_holdout_is_told_in_a_line() -> None:
    design = design_of(BLOCK)
    assert design.summary(BLOCK) == "color red, blue with shape cube, cone"
    assert design.summary(RELATED) == "2 relation triples (cube left cone, cone right cube)"
    assert design.benchmark_name(BLOCK) == "color-shape-2x3-b3"


def test_triples_that_follow_from_held_out_relations() -> None:
    design = design_of(BLOCK)
    assert design.may_lack(BLOCK) == ()
    assert design.may_lack(RELATED) == ("partial",)
    assert (design.equal_familiarity(BLOCK), design.equal_familiarity(RELATED)) == (True, False)
    assert design.declared_leaks(BLOCK) == []
    assert "--no-opposites" in design.declared_leaks(RELATED)[0]
    assert design.first_texts(RELATED).template is None
