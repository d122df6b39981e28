"""Checks across the tables of a family, each on its own."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from generator.base.errors import UserError
from generator.vocabulary import consistency
from generator.vocabulary.environments import Environment, LampSpec, PropSpec, ReliefSpec, color_of
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.objects import ObjectSpec, Phrasing, Top
from generator.vocabulary.schema import parse_vocabulary, read_vocabulary

CLEVR, RELATIONS = vocabulary_text("clevr"), vocabulary_text("clevr-relations")


def test_clevr_is_what_the_readme_says() -> None:
    vocabulary = read_vocabulary("clevr")
    assert vocabulary.values("color") == ["gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"]
    assert len(vocabulary.objects) == 12
    assert {"cube", "sphere", "cylinder", "cone", "torus", "pyramid"} < set(vocabulary.objects)
    assert [len(vocabulary.attributes[kind]) for kind in ("material", "size")] == [2, 2]
    assert set(vocabulary.relations) == {"left", "right", "front", "behind"}


def test_relations_have_the_converses_and_opposites_that_their_rules_have_in_space() -> None:
    relations = read_vocabulary("clevr-relations").relations
    pairs = {frozenset(pair) for pair in [("left", "right"), ("front", "behind"), ("near", "far"), ("on", "beneath")]}
    assert {frozenset({name, relation.opposite}) for name, relation in relations.items()} == pairs
    assert {name for name, relation in relations.items() if relation.converse == name} == {"near", "far"}
    assert all(relations[r.converse].converse == name for name, r in relations.items())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "clevr"', 'name = "clevr"\nflor = 1', "unknown key 'flor'"),
        ("roughness = 0.7", "roughnes = 0.7", "did you mean 'roughness'"),
        ('tested = "color"', 'tested = "colour"', "did you mean 'color'"),
        ("extent = 1.9", "extent = -1", "placement.extent"),
        ("lens = 60.0", "lens = nan", "camera.lens"),
        ('cube = { synonyms = ["block"] }', 'cube = { synonyms = ["ball"] }', "the word 'ball' means both"),
        ("sphere = {", "spere = {", "there is no shape 'spere'; did you mean 'sphere'?"),
        ("small = { scale = 0.5", "small = { roughness = 0.5", "values of 'size' set different inputs"),
        ("metallic = 0.0, roughness = 0.7", "metallic = 0.0, roughness = 0.7, scale = 1.0", "set different inputs"),
        (
            "[attributes.size] ",
            "[attributes.bulk]",
            "adjectives = ['size', 'color', 'material'] should name every attribute kind",
        ),
        ('phrase = "behind"', 'phrase = "Behind!"', "relations.behind.phrase"),
        ('synonyms = ["left of"', 'synonyms = ["behind"', "the word 'behind' means both"),
        ("[environments]\nstudio = ", "[environments]\n# studio = ", "at least one environment"),
        ('tested = "color"', 'tested = "color"\ngeneric = "cube"', "the word 'cube' means both"),
        ("red = { linear = [173,", "red = { linear = [300,", "attributes.color.red.linear"),
        ('side of"], margin = 0.2', 'side of"], margin = 0.3', "differ in margin or distance"),
        ("left = { phrase", "lft = { phrase", "unknown relation 'lft'; did you mean 'left'"),
        ("[relations]", "[relations", "is not valid TOML"),
    ],
)
def test_mistakes_are_named(old: str, new: str, said: str) -> None:
    assert old in CLEVR
    refused(CLEVR.replace(old, new, 1), said)


@pytest.mark.parametrize(
    ("pattern", "new", "said"),
    [
        (r"distance = 2\.5\n", "", "relation 'near' has distance = None"),
        (r"distance = 2\.5\n", "distance = 0.2\n", "side by side are 0.95 m apart, so that they could not be near"),
        (
            r"margin = 0\.1",
            r"margin = 0.3",
            "the top of 'cube' has a radius of 0.231 m",
        ),
        (r"\.top\]", ".tip]", "did you mean 'top'"),
        (r"radius = ", "extent = 1.0\nradius = ", "unknown key 'objects.cube.top.extent'"),
        (r"most = 4", "most = 0", "placement.most"),
        (r"\[objects\.\w+\.top\]\n.*\n.*\n", "", "the rule 'on' needs an object to rest on"),
        (r"foot = [\d.]+\n", "", "the rule 'on' needs an object that rests"),
    ],
)
def test_mistakes_about_rules_are_named(pattern: str, new: str, said: str) -> None:
    changed = re.sub(pattern, new, RELATIONS)
    assert changed != RELATIONS
    refused(changed, said)


def refused(text: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_vocabulary(text, "mine.toml")
    assert said in caught.value.message
    assert caught.value.message.startswith("'mine.toml'")
    assert "\n" not in caught.value.message


def test_unknown_family_is_suggested() -> None:
    with pytest.raises(UserError, match="did you mean 'clevr'"):
        read_vocabulary("clever")
    with pytest.raises(UserError, match="No such file"):
        read_vocabulary("nowhere.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('near = { phrase = "near", margin = 0.2, distance = 2.5 }', "the opposite 'far', which is not declared"),
        ('level = { phrase = "level with", margin = 0.2 }', "unknown relation 'level'"),
        ("left = { distance = 2.0 }\nright = { distance = 2.0 }", "near and far need a distance, the others have none"),
    ],
)
def test_mistakes_about_relations_are_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(f'extends = "clevr"\n[relations]\n{text}\n', encoding="utf-8")
    with pytest.raises(UserError, match=re.escape(said)):
        read_vocabulary(str(tmp_path / "mine.toml"))


STACKED = read_vocabulary("clevr-relations").relations
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
        lambda: consistency.check_orders("planned", STACKED),
        lambda: consistency.check_distances(STACKED, [0.5], 0.1),
        lambda: consistency.check_stacks(STACKED, {"cube": FLAT, "ball": ROUND}, [0.5]),
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
        (
            lambda: consistency.check_names("color", "shape", ["color"], KINDS, OBJECTS, PLACES),
            "should name every attribute kind once",
        ),
        (lambda: consistency.check_names("color", "shape", [], KINDS, ["cube"], PLACES), "at least two objects"),
        (lambda: consistency.check_names("color", "shape", [], KINDS, OBJECTS, []), "at least one environment"),
        (
            lambda: consistency.check_words([("red", "color.red", []), ("cube", "shape.cube", ["red"])]),
            "'red' means both color.red and shape.cube",
        ),
        (lambda: consistency.check_phrasings({"sise": Phrasing()}, KINDS), "did you mean 'size'"),
        (lambda: consistency.check_paints(["color", "coat"], KINDS), "paints names 'coat'"),
        (lambda: consistency.check_paints(["color", "color"], KINDS), "two or more attribute kinds"),
        (
            lambda: consistency.check_lamps(
                {"night": Environment(phrase="at night", lamps={"son": SUN})}, {"sun": SUN}
            ),
            "did you mean 'sun'",
        ),
        (
            lambda: consistency.check_lamps(
                {"night": Environment(phrase="at night", lamps={"sun": SUN})},
                {"sun": SUN.model_copy(update={"type": "area"})},
            ),
            "should have the type of the lamp 'sun', area",
        ),
        (lambda: consistency.check_orders("free", STACKED), "relation 'near' is planned with the orders"),
        (lambda: consistency.check_distances(STACKED, [1.5], 0.1), "could not be near"),
        (lambda: consistency.check_stacks(STACKED, {"cube": FLAT}, [0.5]), "needs an object that rests"),
        (lambda: consistency.check_stacks(STACKED, {"ball": ROUND}, [0.5]), "needs an object to rest on"),
        (
            lambda: consistency.check_stacks(STACKED, {"cube": FLAT, "ball": ROUND}, [0.1]),
            "no more than the margin of 'on'",
        ),
    ],
)
def test_mistakes_between_tables_are_named(check: Callable[[], None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check()


GROUND = {"colors": ["#d9b57c", "#c79d63"]}


def test_colours_are_linear_light() -> None:
    assert color_of("#ffffff") == (1, 1, 1)
    assert color_of("#808080")[0] == pytest.approx(0.2159, abs=1e-4)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("water", {"color": "#1f8fb0", "begins": 11.0}),
        ("room", {"distance": 9.0, "breadth": 16.0, "height": 6.0, "colors": ["#59626e", "#b4bdc8"]}),
        ("reliefs", {"dunes": {"height": 5.0, "breadth": 16.0, "begins": 9.0, "full": 45.0}}),
        (
            "props",
            {"rocks": {"type": "rock", "count": 2, "between": [5, 9], "size": [0.2, 0.9], "colors": ["#a5764a"]}},
        ),
    ],
)
def test_a_landscape_needs_a_ground(key: str, value: dict) -> None:
    Environment.model_validate({"phrase": "on a beach", key: value, "ground": GROUND})
    with pytest.raises(ValidationError, match=f"{key} needs a ground"):
        Environment.model_validate({"phrase": "on a beach", key: value})


def test_ranges_rise() -> None:
    with pytest.raises(ValidationError, match="should be farther than begins"):
        ReliefSpec(height=1, breadth=1, begins=5, full=5)
    with pytest.raises(ValidationError, match="should have the lesser number first"):
        PropSpec(type="rock", count=1, between=(9, 5), size=(1, 1), colors=("#000000",))


def test_an_object_turns_freely_shows_its_front_and_rests_on_nothing() -> None:
    spec = ObjectSpec()
    assert (spec.turn, spec.shows, spec.top, spec.foot, spec.mesh) == (360, "front", None, None, None)


@pytest.mark.parametrize(
    "keys",
    [
        {"turn": 361},
        {"turn": -1},
        {"foot": -0.1},
        {"foot": float("inf")},
        {"shows": "back"},
        {"top": {"height": 0, "radius": 1}},
        {"fot": 0},
    ],
)
def test_values_out_of_range_are_refused(keys: dict) -> None:
    with pytest.raises(ValidationError):
        ObjectSpec.model_validate(keys)
