"""Families as files declare them: each mistake is named in one sentence."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from generator.base.errors import UserError
from generator.vocabulary.environments import Environment, PropSpec, ReliefSpec, color_of
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import parse_vocabulary
from generator.vocabulary.tables import ObjectSpec
from tests.conftest import FEWEST, run_command

CLEVR, RELATIONS = vocabulary_text("clevr"), vocabulary_text("clevr-relations")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "clevr"', 'name = "clevr"\nflor = 1', "unknown key 'flor'"),
        ('tested = "color"', 'tested = "colour"', "did you mean 'color'"),
        ("extent = 1.9", "extent = -1", "placement.extent"),
        ("sphere = {", "spere = {", "there is no shape 'spere'; did you mean 'sphere'?"),
        (
            "metallic = 0.0, roughness = 0.7",
            "metallic = 0.0, roughness = 0.7, scale = 1.0",
            "set different inputs",
        ),
        (
            "[attributes.size] ",
            "[attributes.bulk]",
            "adjectives = ['size', 'color', 'material'] should name every attribute kind",
        ),
        (
            "red = { linear = [148,",
            '"not red" = { linear = [148,',
            "the word 'not red' is empty or contains a grammar",
        ),
        ("[attributes.material", "[attributes.relation", "'relation' stands for relations"),
        ('phrase = "behind"', 'phrase = "Behind!"', "relations.behind.phrase"),
        ('synonyms = ["left of"', 'synonyms = ["behind"', "the word 'behind' means both"),
        ("[environments]\nstudio = ", "[environments]\n# studio = ", "at least one environment"),
        ('tested = "color"', 'tested = "color"\ngeneric = "cube"', "the word 'cube' means both"),
        ("red = { linear = [148,", "red = { linear = [300,", "attributes.color.red.linear"),
        ('side of"], margin = 0.2', 'side of"], margin = 0.3', "differ in margin or distance"),
        ("left = { phrase", "lft = { phrase", "unknown relation 'lft'; did you mean 'left'"),
        ("[relations]", "[relations", "is not valid TOML"),
        ('category = "shape"', 'category = "size"', "category = 'size' is also an attribute kind"),
        (
            'name = "clevr"',
            'name = "clevr"\npaints = ["color", "coat"]',
            "paints names 'coat', which is not an attribute kind",
        ),
        (
            'name = "clevr"',
            'name = "clevr"\npaints = ["color", "color"]',
            "should name two or more attribute kinds",
        ),
        (
            "[objects]",
            "[kinds.sise]\n[objects]",
            "kinds.sise names no attribute kind; did you mean 'size'",
        ),
        (
            "[objects]",
            '[kinds.size]\nphrase = "the {value}"\n[objects]',
            "begins with 'the', a grammar word",
        ),
    ],
)
def test_mistakes_are_named(old: str, new: str, said: str) -> None:
    assert old in CLEVR
    refused(CLEVR.replace(old, new, 1), said)


@pytest.mark.parametrize(
    ("pattern", "new", "said"),
    [
        (r"distance = 2\.5\n", "", "relation 'near' has distance = None"),
        (
            r"distance = 2\.5\n",
            "distance = 0.2\n",
            "side by side are 0.99 m apart, so they could never be near",
        ),
        (
            r"margin = 0\.1",
            r"margin = 0.3",
            "the top of 'cube' has a radius of 0.241 m",
        ),
        (r"\.top\]", ".tip]", "did you mean 'top'"),
        (r"radius = ", "extent = 1.0\nradius = ", "unknown key 'objects.cube.top.extent'"),
        (r"most = 4", "most = 0", "placement.most"),
        (
            r'(?s)orders = "planned"|\[placement\]',
            '[placement]\norders = "free"',
            "needs planned orders",
        ),
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


GROUND = {"colors": ["#d9b57c", "#c79d63"]}


def test_colours_are_linear_light() -> None:
    assert color_of("#ffffff") == (1, 1, 1)
    assert color_of("#808080")[0] == pytest.approx(0.2159, abs=1e-4)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("water", {"color": "#1f8fb0", "begins": 11.0}),
        (
            "room",
            {"distance": 9.0, "breadth": 16.0, "height": 6.0, "colors": ["#59626e", "#b4bdc8"]},
        ),
        ("reliefs", {"dunes": {"height": 5.0, "breadth": 16.0, "begins": 9.0, "full": 45.0}}),
        (
            "props",
            {
                "rocks": {
                    "type": "rock",
                    "count": 2,
                    "between": [5, 9],
                    "size": [0.2, 0.9],
                    "colors": ["#a5764a"],
                }
            },
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


@pytest.mark.parametrize(
    "keys",
    [
        {"turn": 361},
        {"turn": -1},
        {"foot": -0.1},
        {"foot": float("inf")},
        {"shows": "back"},
        {"top": {"height": 0, "radius": 1}},
    ],
)
def test_values_out_of_range_are_refused(keys: dict) -> None:
    with pytest.raises(ValidationError):
        ObjectSpec.model_validate(keys)


NUMBERS = sorted(set(re.findall(r"\b(\w+) = -?[0-9.]+", CLEVR)))


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("number", ["1e308", pytest.param("1e-308", marks=pytest.mark.full)])
def test_numbers_that_no_world_has_are_no_traceback(tmp_path: Path, key: str, number: str) -> None:
    """A family of someone else is refused in a sentence, or gives findings."""
    path = tmp_path / "own.toml"
    path.write_text(re.sub(rf"\b{key} = -?[0-9.]+", f"{key} = {number}", CLEVR, count=1))
    run_command("gen vocab check", path)
    run_command("gen plan --family", path, "--holdout", "3x3", *FEWEST, "--out", tmp_path / "world")
