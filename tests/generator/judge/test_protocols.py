"""The forms of items that the judge knows are those that the page lists, and slots are counted."""

from collections import Counter

import pytest

from generator.describe.protocols.registry import find_protocol, protocol_names
from generator.judge.protocols import FORMS, KNOWN, slot_fault


def test_every_protocol_of_the_generator_is_known_with_its_kinds() -> None:
    assert {"train", *protocol_names()} == KNOWN
    for name in set(protocol_names()) - {"binary"}:  # which sets its kinds when it is made
        assert {kind for protocol, kind in FORMS if protocol == name} == set(find_protocol(name).kinds)


@pytest.mark.parametrize(
    ("protocol", "kind", "found", "fault"),
    [
        ("binary", "swap", {("c", True): 1, ("n", False): 1}, None),
        ("binary", "swap", {("c", True): 1}, "it has 1 true in c, expected 1 true in c, 1 false in n"),
        ("train", "plain", {("c", True): 1, ("n", False): 2, ("p", True): 3}, None),
        ("train", "plain", {("c", True): 2, ("n", False): 1}, "it has 2 true in c, 1 false in n, expected 1 true in c"),
        ("train", "graded", {}, "it has no candidates, expected 1 true in c"),
        ("train", "label", {("c", True): 1, ("n", False): 1}, "expected 1 true in c"),
        ("gzsl", "single", {("c", True): 1, ("n", False): 35}, None),
        ("gzsl", "three-object", {("c", True): 1, ("n", False): 6}, None),
        ("gzsl", "three-object", {("c", True): 1, ("n", False): 4}, "it has 1 true in c, 4 false in n, expected"),
        ("integration", "composed", {("c", True): 1, ("n", False): 1, ("d1", True): 1, ("d1", False): 1}, None),
        ("integration", "composed", {("c", True): 1, ("n", False): 1, ("d2", True): 1, ("d2", False): 1}, "in d1"),
    ],
)  # fmt: skip
def test_slots_are_those_of_the_form(
    protocol: str, kind: str, found: dict[tuple[str, bool], int], fault: str | None
) -> None:
    said = slot_fault(FORMS[protocol, kind], protocol, Counter(found))
    assert said is None if fault is None else fault in str(said)
