"""Distinct names and the places of all."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluator.scoring.needs import Distinct


@given(st.lists(st.sampled_from("abcd")))
def test_every_name_is_found_at_its_place(names: list[str]) -> None:
    distinct = Distinct(names)
    assert distinct.of(distinct.place) == names
    assert distinct.of(np.arange(len(distinct))) == distinct.names == list(dict.fromkeys(names))
    assert distinct.first.tolist() == [names.index(name) for name in distinct.names]
