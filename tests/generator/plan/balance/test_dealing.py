"""Dealt arrangements: even within every pool, at every place and in all, and without faults where that is possible."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from generator.base.streams import Stream
from generator.holdout.membership import Arrangement
from generator.plan.balance.dealing import Pool, ScenePools, deal

VALUES, OBJECTS = ("red", "green", "blue"), ("cube", "ball", "cone", "ring")
POOLS = st.tuples(st.sampled_from([VALUES, VALUES[:2]]), st.sampled_from([OBJECTS, OBJECTS[1:]]))


def spreads(scenes: list[ScenePools], dealt: list[Arrangement]) -> list[int]:
    """The most frequent name of each pool less the least frequent one, at each place and in all."""
    found = []
    for place in (None, *range(4)):
        for role in (0, 1):
            counts: dict[Pool, Counter[str]] = {}
            for pools, arrangement in zip(scenes, dealt, strict=True):
                for i, binding in enumerate(arrangement):
                    if place in (None, i):
                        counts.setdefault(pools[i][role], Counter())[binding[role]] += 1
            found += [max(each[n] for n in pool) - min(each[n] for n in pool) for pool, each in counts.items()]
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(POOLS, min_size=1, max_size=4), min_size=1, max_size=40), st.integers(0, 99))
def test_names_of_every_pool_are_even_at_every_place_and_in_all(scenes: list[ScenePools], seed: int) -> None:
    dealt = [each for each in deal(scenes, lambda made: 0, Stream(seed)) if each is not None]
    for pools, arrangement in zip(scenes, dealt, strict=True):
        assert len(arrangement) == len(pools)
        assert all(v in values and o in objects for (v, o), (values, objects) in zip(arrangement, pools, strict=True))
    assert max(spreads(scenes, dealt)) <= 1


def is_red_cube(arrangement: Arrangement) -> int:
    """One fault for each red cube."""
    return arrangement.count(("red", "cube"))


@given(st.integers(0, 99))
def test_faults_are_exchanged_away_without_a_change_of_counts(seed: int) -> None:
    scenes: list[ScenePools] = [[(VALUES, OBJECTS)] * 3] * 60
    dealt = list(deal(scenes, is_red_cube, Stream(seed)))
    found = [each for each in dealt if each is not None]
    assert len(found) == len(dealt)
    assert not any(map(is_red_cube, found))
    assert max(spreads(scenes, found)) == 0


def test_scenes_that_stay_faulty_are_none() -> None:
    scenes: list[ScenePools] = [[(("red",), ("cube",))], [(("green",), ("cube",))]]
    assert list(deal(scenes, is_red_cube, Stream(0))) == [None, (("green", "cube"),)]


def test_the_same_stream_deals_the_same() -> None:
    scenes: list[ScenePools] = [[(VALUES, OBJECTS)] * 2] * 30
    assert [*deal(scenes, is_red_cube, Stream(1))] == [*deal(scenes, is_red_cube, Stream(1))]
