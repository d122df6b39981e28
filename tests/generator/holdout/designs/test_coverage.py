"""Coverage curves are even in values and objects, and nested in k."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from generator.holdout.request import draw_holdouts
from generator.vocabulary.schema import read_vocabulary

CLEVR = read_vocabulary("clevr")


def _of(bindings: list[tuple[str, str]], sort: int) -> Counter[str]:
    return Counter(binding[sort] for binding in bindings)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_coverage_is_even_and_nested_in_k(seed: int) -> None:
    """Protocols, section 1: each object is seen with k of its n values."""
    grid = [(value, category) for value in CLEVR.values("color") for category in CLEVR.objects]
    before: set[tuple[str, str]] = set()
    for k, holdout in enumerate(
        draw_holdouts(("k1..7",), "coverage", vocabulary=CLEVR, block_seed=seed), 1
    ):
        seen = [binding for binding in grid if not holdout.holds_out(*binding)]
        assert {*_of(seen, 1).values()} == {k}
        assert {*_of(seen, 1)} == {*CLEVR.objects}
        counts = [_of(seen, 0)[value] for value in CLEVR.values("color")]
        assert max(counts) - min(counts) <= 1
        assert before < {*seen}
        before = {*seen}
