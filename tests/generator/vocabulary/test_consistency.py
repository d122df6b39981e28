"""Checks across the tables of a family, each on its own."""

from collections.abc import Callable

import pytest

from generator.vocabulary import consistency
from generator.vocabulary.environments import Environment, LampSpec
from generator.vocabulary.objects import ObjectSpec, Phrasing, Top
from generator.vocabulary.schema import read_vocabulary

RELATIONS = read_vocabulary("clevr-relations").relations
SUN = LampSpec(type="sun", energy=1, color=(1, 1, 1), position=(0, 0, 1))
FLAT, ROUND = ObjectSpec(top=Top(height=1, radius=1)), ObjectSpec(foot=0)
KINDS, OBJECTS, PLACES = ["color", "size"], ["cube", "cone"], ["studio"]


@pytest.mark.parametrize(
    "check",
    [
        lambda: consistency.check_names("color", "shape", ["size", "color"], KINDS, OBJECTS, PLACES),
        lambda: consistency.check_words([("red", "color.red", ["crimson"]), ("cube", "shape.cube", [])]),
        lambda: consistency.check_phrasings({"size": Phrasing(phrase="of {value} build")}, KINDS),
        lambda: consistency.check_paints([], KINDS),
        lambda: consistency.check_paints(["color", "size"], KINDS),
        lambda: consistency.check_lamps({"night": Environment(phrase="at night", lamps={"sun": SUN})}, {"sun": SUN}),
        lambda: consistency.check_orders("planned", RELATIONS),
        lambda: consistency.check_distances(RELATIONS, [0.5], 0.1),
        lambda: consistency.check_stacks(RELATIONS, {"cube": FLAT, "ball": ROUND}, [0.5]),
        lambda: consistency.check_stacks({}, {}, [0.5]),
    ],
)
def test_tables_that_fit_are_accepted(check: Callable[[], None]) -> None:
    check()


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: consistency.check_names("colour", "shape", [], KINDS, OBJECTS, PLACES), "did you mean 'color'"),
        (lambda: consistency.check_names("color", "size", [], KINDS, OBJECTS, PLACES), "is also an attribute kind"),
        (lambda: consistency.check_names("color", "shape", ["color"], KINDS, OBJECTS, PLACES), "should name every attribute kind once"),
        (lambda: consistency.check_names("color", "shape", [], KINDS, ["cube"], PLACES), "at least two objects"),
        (lambda: consistency.check_names("color", "shape", [], KINDS, OBJECTS, []), "at least one environment"),
        (lambda: consistency.check_words([("red", "color.red", []), ("cube", "shape.cube", ["red"])]), "'red' means both color.red and shape.cube"),
        (lambda: consistency.check_phrasings({"sise": Phrasing()}, KINDS), "did you mean 'size'"),
        (lambda: consistency.check_paints(["color", "coat"], KINDS), "paints names 'coat'"),
        (lambda: consistency.check_paints(["color", "color"], KINDS), "two or more attribute kinds"),
        (lambda: consistency.check_lamps({"night": Environment(phrase="at night", lamps={"son": SUN})}, {"sun": SUN}), "did you mean 'sun'"),
        (lambda: consistency.check_lamps({"night": Environment(phrase="at night", lamps={"sun": SUN})}, {"sun": SUN.model_copy(update={"type": "area"})}), "should have the type of the lamp 'sun', area"),
        (lambda: consistency.check_orders("free", RELATIONS), "relation 'near' is planned with the orders"),
        (lambda: consistency.check_distances(RELATIONS, [1.5], 0.1), "could not be near"),
        (lambda: consistency.check_stacks(RELATIONS, {"cube": FLAT}, [0.5]), "needs an object that rests"),
        (lambda: consistency.check_stacks(RELATIONS, {"ball": ROUND}, [0.5]), "needs an object to rest on"),
        (lambda: consistency.check_stacks(RELATIONS, {"cube": FLAT, "ball": ROUND}, [0.1]), "no more than the margin of 'on'"),
    ],
)  # fmt: skip
def test_mistakes_are_named(check: Callable[[], None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check()
