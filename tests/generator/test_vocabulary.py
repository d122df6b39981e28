import pytest

from generator.dataset.errors import UserError
from generator.resources import resource
from generator.vocabulary import parse_vocabulary, read_vocabulary

CLEVR = resource("scenes/clevr.toml").read_text(encoding="utf-8")


def test_clevr_is_what_the_readme_says() -> None:
    vocabulary = read_vocabulary("clevr")
    assert vocabulary.values("color") == ["gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"]
    assert len(vocabulary.objects) == 12
    assert {"cube", "sphere", "cylinder", "cone", "torus", "pyramid"} < set(vocabulary.objects)
    assert [len(vocabulary.attributes[kind]) for kind in ("material", "size")] == [2, 2]
    assert set(vocabulary.relations) == {"left", "right", "front", "behind"}


def test_relations_and_their_converses_point_opposite_ways() -> None:
    opposite = {"left": "right", "right": "left", "front": "behind", "behind": "front"}
    for relation in read_vocabulary("clevr").relations.values():
        assert read_vocabulary("clevr").relations[relation.converse].direction == opposite[relation.direction]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "clevr"', 'name = "clevr"\nflor = 1', "unknown key 'flor'"),
        ("roughness = 0.7", "roughnes = 0.7", "did you mean 'roughness'"),
        ('tested = "color"', 'tested = "colour"', "did you mean 'color'"),
        ('converse = "right"', 'converse = "rigth"', "converse 'rigth', which is not declared"),
        ("extent = 1.9", "extent = -1", "placement.extent"),
        ("lens = 60.0", "lens = nan", "camera.lens"),
        ('cube = { synonyms = ["block"] }', 'cube = { synonyms = ["ball"] }', "the word 'ball' means both"),
        ("sphere = {", "spere = {", "there is no shape 'spere'; did you mean 'sphere'?"),
        ("small = { scale = 0.5", "small = { roughness = 0.5", "values of 'size' set different inputs"),
        ("metallic = 0.0, roughness = 0.7", "metallic = 0.0, roughness = 0.7, scale = 1.0", "set different inputs"),
        ("[attributes.size] ", "[attributes.bulk]", "adjectives = ['size', 'color', 'material'] should name every attribute kind"),
        ('opposite = "right"', 'opposite = "rigth"', "opposite 'rigth', which is not declared"),
        ('phrase = "behind"', 'phrase = "Behind!"', "relations.behind.phrase"),
        ('synonyms = ["left of"', 'synonyms = ["behind"', "the word 'behind' means both"),
        ("[environments]\nstudio = ", "[environments]\n# studio = ", "at least one environment"),
        ('tested = "color"', 'tested = "color"\ngeneric = "cube"', "the word 'cube' means both"),
        ("red = { linear = [173,", "red = { linear = [300,", "attributes.color.red.linear"),
        ("[relations]", "[relations", "is not valid TOML"),
    ],
)  # fmt: skip
def test_mistakes_are_named(old: str, new: str, said: str) -> None:
    assert old in CLEVR
    text = CLEVR.replace(old, new, 1)
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
