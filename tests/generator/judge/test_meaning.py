"""Counts, level and JSON of a meaning."""

import json

from generator.judge.meaning import Meaning, Thing


def test_counts_and_level_are_those_of_the_words() -> None:
    two, none = Thing("cube", number=2), Thing("cone", number=0)
    assert (Meaning((two, none)).n_objects, Meaning((two, none)).level) == (3, "L1")
    red = Thing("cube", (("color", "red"),), without=("size", "large"))
    assert (Meaning((red,)).n_attributes, Meaning((red,)).level) == (2, "OA")
    plain = (Thing("cube"), Thing("cone"))
    assert Meaning(plain, ((0, "left", 1, True),)).level == "OR"
    assert Meaning((red, Thing("cone")), ((0, "left", 1, False),)).level == "OAR"


def test_the_json_has_only_what_is_asserted() -> None:
    assert Meaning((Thing("cube"),)).to_json() == '{"objects":[{"category":"cube","attributes":{}}]}'
    denied = Meaning((Thing(None, without=("color", "red")), Thing("cone", number=2)), (), True, "studio")
    full = json.loads(denied.to_json())
    assert full["objects"] == [
        {"category": None, "attributes": {}, "without": {"color": "red"}},
        {"category": "cone", "attributes": {}, "count": 2},
    ]
    assert (full["negated"], full["environment"]) == (True, "studio")
