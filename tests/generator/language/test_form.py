import json
from dataclasses import replace

import pytest

from generator.language.familiarity import (
    count_bindings,
    count_held_out,
    count_triples,
    equally_familiar,
    names_absent,
)
from generator.language.form import Form, Link, Mention, merge_equal_mentions
from tests.generator.scenes import CATEGORIES, HOLDOUT, VOCABULARY

RED = (("color", "red"),)


def test_attributes_stay_in_order_of_kind() -> None:
    mention = Mention("cube", (("color", "red"), ("size", "large")))
    assert mention.with_value("material", "metal").attributes == (
        ("color", "red"),
        ("material", "metal"),
        ("size", "large"),
    )
    assert mention.with_value("color", "blue").values == {"color": "blue", "size": "large"}
    assert mention.without_kind("color").attributes == (("size", "large"),)


def test_atoms_are_counted_by_type_whether_asserted_or_denied() -> None:
    form = Form(
        (Mention("cube", RED), Mention("cone", without=RED), Mention("torus", count=0)), (Link(0, "left", 1, False),)
    )
    assert (form.n_objects, form.n_attributes, form.n_relations, form.level) == (3, 2, 1, "OAR")
    assert (Form((Mention("cube", count=2),)).n_objects, Form((Mention("cube"),)).level) == (2, "L1")


def test_json_omits_defaults() -> None:
    plain = Form((Mention("cube", RED),))
    assert json.loads(plain.to_json()) == {"objects": [{"category": "cube", "attributes": {"color": "red"}}]}
    full = Form((Mention(None, without=RED), Mention("cone")), (Link(0, "left", 1, False),), True)
    assert json.loads(full.to_json()) == {
        "objects": [
            {"category": None, "attributes": {}, "without": {"color": "red"}},
            {"category": "cone", "attributes": {}},
        ],
        "relations": [[0, "left", 1, False]],
        "negated": True,
    }
    counted = Form((Mention("cube", count=2),), environment="studio").to_dict()
    assert (counted["objects"][0]["count"], counted["environment"]) == (2, "studio")


def test_equal_mentions_are_counted_together() -> None:
    form = Form((Mention("cube", RED), Mention("cone"), Mention("cube", RED), Mention("cube")))
    assert merge_equal_mentions(form) == Form((Mention("cube", RED, count=2), Mention("cone"), Mention("cube")))


KIND, VALUE, CATEGORY = HOLDOUT.kind, HOLDOUT.values[0], HOLDOUT.objects[0]
FREE = next(name for name in CATEGORIES if name not in HOLDOUT.objects)
OTHER = next(value for value in VOCABULARY.values(KIND) if value not in HOLDOUT.values)


@pytest.mark.parametrize(
    ("mention", "number"),
    [
        (Mention(CATEGORY, ((KIND, VALUE),)), 1),
        (Mention(CATEGORY, ((KIND, OTHER),)), 0),
        (Mention(FREE, ((KIND, VALUE),)), 0),
        (Mention(CATEGORY, without=((KIND, VALUE),)), 1),  # a denial names it too
        (Mention(None, ((KIND, VALUE),), ((HOLDOUT.category, CATEGORY),)), 1),
        (Mention(None, ((KIND, VALUE),)), 0),
    ],
)
def test_bindings_are_named_by_assertions_and_denials(mention: Mention, number: int) -> None:
    assert count_bindings(Form((mention,)), HOLDOUT) == number
    assert count_held_out(Form((mention, mention)), HOLDOUT) == 2 * number


def test_triples_are_named_in_their_direction() -> None:
    holdout = replace(HOLDOUT, triples=(("cube", "left", "cone"),))
    for subject, other, number in (("cube", "cone", 1), ("cone", "cube", 0), ("cube", None, 0)):
        form = Form((Mention(subject), Mention(other)), (Link(0, "left", 1, False),))
        assert count_triples(form, holdout) == number
        assert count_triples(form, HOLDOUT) == 0


def test_equally_familiar_forms_name_as_many_bindings_and_both_or_neither_an_absent_atom() -> None:
    held_out, free = Form((Mention(CATEGORY, ((KIND, VALUE),)),)), Form((Mention(CATEGORY, ((KIND, OTHER),)),))
    assert not equally_familiar(held_out, free, HOLDOUT)
    assert equally_familiar(free, Form((Mention(FREE),)), HOLDOUT)
    absent = replace(HOLDOUT, absent_values=(OTHER,))
    assert names_absent(free, absent)
    assert not equally_familiar(free, Form((Mention(FREE),)), absent)
