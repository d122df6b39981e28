"""Labels in words have the same normal form if and only if they show the same."""

from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from generator.judge.foreign.labels import arrangement, read_label
from tests.generator.judge.foreign.label_files import judged, rows

NAMES = st.sampled_from(["cube", "cone", "sphere"])

RELATIONS = st.sampled_from(["left", "right", "in front of", "behind", "above", "below", "near", "inside"])

CONVERSES = {"left": "right", "in front of": "behind", "above": "below"}

CONVERSES |= {there: here for here, there in CONVERSES.items()} | {"near": "near"}


@given(NAMES, RELATIONS, NAMES, RELATIONS, st.booleans())
def test_labels_say_the_same_exactly_by_their_converse(
    one: str, relation: str, other: str, again: str, turned: bool
) -> None:
    label = read_label(f"a {one} {relation} a {other}")
    second = read_label(f"{other} is {again} the {one}" if turned else f"{one} {again} {other}")
    same = again == (CONVERSES.get(relation) if turned else relation)
    if one == other:
        same = again in (relation, CONVERSES.get(relation))
    assert (arrangement(label) == arrangement(second)) == same


@given(st.lists(st.tuples(st.sampled_from(["red", "blue"]), NAMES), min_size=1, max_size=4), st.data())
def test_labels_without_relations_say_the_same_in_any_order(things: list[tuple[str, str]], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(things))
    other = data.draw(st.lists(st.tuples(st.sampled_from(["red", "blue"]), NAMES), min_size=1, max_size=4))
    read = [arrangement(read_label(" and ".join(map(" ".join, each)))) for each in (things, shuffled, other)]
    assert read[0] == read[1]
    assert (read[0] == read[2]) == (Counter(things) == Counter(other))


def test_adjectives_in_any_order_and_two_of_one_thing(tmp_path: Path) -> None:
    found = judged(
        tmp_path / "a.csv",
        rows(
            "label,split",
            "large red cube and cone,train",
            "cone and red large cube,test",
            "red cube and blue cone,test",
        ),
    )
    assert found["faults"] == {"reordered leak": 1}
    (test,) = [row for row in found["familiarity"]["attribute"] if row["split"] == "test"]
    assert (test["seen"], test["seen_unequal"], test["partial"], test["partial_unequal"]) == (1, 0, 1, 1)
