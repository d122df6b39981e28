"""Counts of names by place, and names that replace others until all are even."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.base.streams import Stream
from generator.holdout.membership import Arrangement
from generator.plan.balance.names import OBJECT, VALUE, NameCounts, renamed, replace_names

VALUES, OBJECTS = ("red", "green", "blue"), ("cube", "ball")
BINDINGS = st.tuples(st.sampled_from(VALUES), st.sampled_from(OBJECTS))
ARRANGEMENTS = st.lists(st.lists(BINDINGS, min_size=1, max_size=3).map(tuple), min_size=1, max_size=20)


def counted(arrangements: list[Arrangement]) -> NameCounts:
    """Counts of the arrangements, with all values in a class and all objects in another."""
    names = NameCounts((dict.fromkeys(VALUES), dict.fromkeys(OBJECTS)))
    for arrangement in arrangements:
        names.counts.add(names.option(arrangement))
    return names


@given(ARRANGEMENTS)
def test_names_are_counted_at_their_place_and_in_all(arrangements: list[Arrangement]) -> None:
    names = counted(arrangements)
    for role, known in ((VALUE, VALUES), (OBJECT, OBJECTS)):
        for place in range(3):
            for name in known:
                here, everywhere = names.cells(role, place)[name]
                at_place = [each[place][role] for each in arrangements if len(each) > place]
                assert names.counts.filled[here] == at_place.count(name)
                assert names.counts.filled[everywhere] == sum(b[role] == name for each in arrangements for b in each)


def test_the_role_behind_is_the_less_even_one() -> None:
    assert counted([(("red", "cube"),), (("red", "ball"),)]).behind() == VALUE
    assert counted([(("red", "cube"),), (("green", "cube"),), (("blue", "cube"),)]).behind() == OBJECT


def test_the_least_frequent_names_are_picked_and_with_ease_others_too() -> None:
    names, stream = counted([(("red", "cube"),), (("red", "cube"),), (("green", "cube"),)]), Stream(0)
    picked = [{names.pick(VALUE, 0, VALUES, stream, ease) for _ in range(100)} for ease in (1, 2, 3)]
    assert picked == [{"blue"}, {"blue", "green"}, {"blue", "green", "red"}]


def test_one_name_is_replaced() -> None:
    made = (("red", "cube"), ("green", "ball"))
    assert renamed(made, 1, VALUE, "blue") == (("red", "cube"), ("blue", "ball"))
    assert renamed(made, 0, OBJECT, "ball") == (("red", "ball"), ("green", "ball"))


@given(st.lists(BINDINGS.map(lambda binding: (binding,)), min_size=1, max_size=20), st.integers(0, 99))
def test_names_of_one_place_become_even(arrangements: list[Arrangement], seed: int) -> None:
    names = counted(arrangements)
    found = replace_names(arrangements, names, lambda made: True, Stream(seed))
    assert names.counts.filled == counted(found).counts.filled
    assert names.counts.excess() == 0


@pytest.mark.parametrize("seed", range(5))
def test_names_of_many_places_become_even_from_the_worst_start(seed: int) -> None:
    arrangements: list[Arrangement] = [(("red", "cube"),) * (1 + i % 4) for i in range(61)]
    names = counted(arrangements)
    found = replace_names(arrangements, names, lambda made: True, Stream(seed))
    assert [*map(len, found)] == [*map(len, arrangements)]
    assert names.counts.excess() == 0


@settings(deadline=None)
@given(ARRANGEMENTS, st.integers(0, 99))
def test_only_arrangements_that_fit_replace_others_and_none_makes_it_worse(
    arrangements: list[Arrangement], seed: int
) -> None:
    names = counted(arrangements)
    before = names.counts.excess()
    found = replace_names(arrangements, names, lambda made: ("red", "cube") not in made, Stream(seed))
    assert names.counts.excess() <= before
    for old, new in zip(arrangements, found, strict=True):
        assert old == new or ("red", "cube") not in new


@pytest.mark.parametrize("role", [VALUE, OBJECT])
def test_names_of_a_class_are_even_among_themselves(role: int) -> None:
    """Two classes of values: nothing moves between a scarce class and an abundant one."""
    names = NameCounts(({"red": "held out", "green": "seen", "blue": "seen"}, {"cube": "seen", "ball": "held out"}))
    made: list[Arrangement] = [(("red", "cube"),)] * 2 + [(("green", "cube"),)] * 4
    for arrangement in made:
        names.counts.add(names.option(arrangement))
    found = replace_names(made, names, lambda new: (new[0][0] == "red") <= (new[0][1] == "cube"), Stream(0))
    assert names.counts.excess() == 0
    assert Counter(each[0][role] for each in found).total() == 6
