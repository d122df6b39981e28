import json

from generator.language.form import Form, Link, Mention, merge_equal_mentions

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
