import re
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.vocabulary.families import vocabulary_text
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
        ("[attributes.size] ", "[attributes.bulk]", "adjectives = ['size', 'color', 'material'] should name every attribute kind"),
        ('phrase = "behind"', 'phrase = "Behind!"', "relations.behind.phrase"),
        ('synonyms = ["left of"', 'synonyms = ["behind"', "the word 'behind' means both"),
        ("[environments]\nstudio = ", "[environments]\n# studio = ", "at least one environment"),
        ('tested = "color"', 'tested = "color"\ngeneric = "cube"', "the word 'cube' means both"),
        ("red = { linear = [173,", "red = { linear = [300,", "attributes.color.red.linear"),
        ('side of"], margin = 0.2', 'side of"], margin = 0.3', "differ in margin or distance"),
        ('left = { phrase', 'lft = { phrase', "unknown relation 'lft'; did you mean 'left'"),
        ("[relations]", "[relations", "is not valid TOML"),
    ],
)  # fmt: skip
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
