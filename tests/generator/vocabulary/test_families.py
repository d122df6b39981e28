"""Families that extend others: what a few lines of TOML add, change and remove."""

import re
import shlex
import tomllib
from itertools import permutations
from pathlib import Path

import pytest

from generator.assets.sets import mesh_height
from generator.base.errors import UserError
from generator.base.files import write_json
from generator.holdout.blocks import draw_block
from generator.holdout.request import kind_named
from generator.vocabulary.families import shipped_families, vocabulary_text
from generator.vocabulary.schema import Vocabulary, parse_vocabulary, read_vocabulary
from generator.vocabulary.starter import write_starter

TEAL = """
extends = "clevr"
remove = ["objects.star", "attributes.color.brown"]
[attributes.color]
teal = { srgb = "#0b7a75", synonyms = ["blue-green"] }
red = { srgb = "#ff0000" }
"""


PAINTS = """
extends = "clevr"
paints = ["color", "coat"]
[attributes.coat]
chalk = { linear = [200, 200, 200] }
coal = { linear = [9, 9, 9] }
clay = { linear = [99, 40, 20] }
"""


def written(folder: Path, text: str, name: str = "mine.toml") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


@pytest.mark.parametrize("family", sorted(shipped_families()))
def test_a_family_that_extends_nothing_keeps_its_bytes(family: str) -> None:
    path = shipped_families()[family]
    if "extends" not in tomllib.loads(path.read_text(encoding="utf-8")):
        assert (
            vocabulary_text(family)
            == path.read_text(encoding="utf-8")
            == vocabulary_text(str(path))
        )


@pytest.mark.parametrize("family", sorted(shipped_families()))
def test_a_family_written_anew_is_the_same_family(family: str) -> None:
    vocabulary = read_vocabulary(family)
    assert parse_vocabulary(vocabulary.toml(), "again") == vocabulary


def test_additions_are_merged_by_table(tmp_path: Path) -> None:
    clevr, mine = read_vocabulary("clevr"), read_vocabulary(written(tmp_path, TEAL))
    assert mine.name == "mine"
    assert mine.values("color") == [
        "gray",
        "red",
        "blue",
        "green",
        "purple",
        "cyan",
        "yellow",
        "teal",
    ]
    assert [*mine.objects] == [name for name in clevr.objects if name != "star"]
    assert mine.attributes["color"]["red"].inputs() == {"linear": (255.0, 0.0, 0.0)}
    assert mine.attributes["color"]["red"].synonyms == ("crimson",)
    assert mine.lamps == clevr.lamps


def test_the_stored_text_of_a_family_needs_no_other_file(tmp_path: Path) -> None:
    written(tmp_path, TEAL, "teal.toml")
    text = vocabulary_text(
        written(tmp_path, 'extends = "teal.toml"\n[attributes.size]\nvast = { scale = 1.0 }\n')
    )
    assert "extends" not in tomllib.loads(text)
    assert parse_vocabulary(text, "world/vocabulary.toml").values("size") == [
        "large",
        "small",
        "vast",
    ]
    assert "teal" in parse_vocabulary(text, "world/vocabulary.toml").values("color")


def refused(folder: Path, text: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        read_vocabulary(written(folder, text))
    assert said in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('extends = "mine.toml"', "'mine.toml' extends 'mine.toml', which is a cycle"),
        ('extends = "clever"', "extends the unknown family 'clever': did you mean 'clevr'?"),
        ('extends = "nowhere.toml"', "Cannot read the family 'nowhere.toml': No such file"),
    ],
)
def test_a_family_that_cannot_be_extended_is_named(tmp_path: Path, text: str, said: str) -> None:
    refused(tmp_path, text, said)


HALL = '[environments.hall]\nphrase = "in a hall"\n'
NIGHT = '[environments.night]\nphrase = "at night"\n[environments.night.lamps]\n'
SUN = '= { type = "sun", energy = 1, color = [1, 1, 1], position = [0, 0, 1] }'


@pytest.mark.parametrize(
    ("added", "said"),
    [
        (
            'remove = ["objects.str"]',
            "removes 'objects.str', which is not there; did you mean 'objects.star'",
        ),
        ('remove = "star"', 'remove is a list such as ["objects.star"]'),
        ('paints = ["color", "size"]', "no attribute kind sets 'scale'"),
        (
            '[relations]\nnear = { phrase = "near", margin = 0.2, distance = 2.5 }',
            "the opposite 'far', which is not declared",
        ),
        (
            '[relations]\nlevel = { phrase = "level with", margin = 0.2 }',
            "unknown relation 'level'",
        ),
        (
            "[relations]\nleft = { distance = 2.0 }\nright = { distance = 2.0 }",
            "near and far need a distance, the others have none",
        ),
        ('[kinds.material]\nphrase = "made of"', "kinds.material.phrase"),
        (
            '[environments.workshop]\nphrase = "made of metal"\n[kinds.material]\nphrase = "made '
            'of {value}"',
            "'made of metal' means both",
        ),
        (
            f"{NIGHT}son {SUN}",
            "environments.night.lamps.son replaces no lamp of the family; did you mean 'sun'",
        ),
        (f"{NIGHT}fill {SUN}", "should have the type of the lamp 'fill', area"),
        ('place = "phto"', "unknown place 'phto'; did you mean 'photo'?"),
        (HALL + 'photo = { panorama = "panoramas/hal" }', "did you mean 'hall'?"),
        (HALL + 'photo = { panorama = "../hall" }', "photo.panorama"),
        (
            HALL + 'light = 1\nphoto = { panorama = "panoramas/hall" }',
            "a photo has its own light, sky and ground; leave out light",
        ),
        (
            HALL + 'photo = { panorama = "panoramas/hall", sectors = [[90, 10]] }',
            "expected a sector [from, to] of 0 to 360 degrees, got [90.0, 10.0]",
        ),
    ],
)
def test_mistakes_are_named(tmp_path: Path, added: str, said: str) -> None:
    refused(tmp_path, f'extends = "clevr"\n{added}', said)


def test_a_lamp_of_an_environment_stands_in_for_the_family_s(tmp_path: Path) -> None:
    night = read_vocabulary(written(tmp_path, f'extends = "clevr"\n{NIGHT}sun {SUN}')).environments[
        "night"
    ]
    assert night.lamps["sun"].energy == 1


@pytest.mark.parametrize(
    ("asked", "kept", "tested"),
    [
        ((), "color", "color"),
        (("3x3",), "color", "color"),
        (("coat:shape=2x2",), "coat", "coat"),
        (("coat:shape=k1..2",), "coat", "coat"),
        (("material:shape=2x2",), "color", "color"),
    ],
)
def test_a_world_is_painted_with_one_of_the_kinds_that_paint(
    tmp_path: Path, asked: tuple[str, ...], kept: str, tested: str
) -> None:
    both = read_vocabulary(written(tmp_path, PAINTS))
    painted = both.painted_with(kind_named(asked, both))
    assert isinstance(painted, Vocabulary)
    assert {*painted.attributes} == {kept, "material", "size"}
    assert painted.tested == tested
    assert {*painted.adjective_order} == {*painted.attributes}
    assert parse_vocabulary(painted.toml(), "world/vocabulary.toml") == painted


def test_a_holdout_in_a_file_paints_the_kind_that_it_tests(tmp_path: Path) -> None:
    both = read_vocabulary(written(tmp_path, PAINTS))
    write_json(tmp_path / "holdout.json", draw_block("coat:shape=2x2", both, 0).to_dict())
    assert kind_named((str(tmp_path / "holdout.json"),), both) == "coat"


@pytest.mark.parametrize(
    "family", ["clevr-many", "clevr-original", "clevr-relations", "pearson2025"]
)
def test_families_that_extend_clevr_keep_its_values_and_their_order(family: str) -> None:
    """The order decides random choices."""
    clevr, own = read_vocabulary("clevr"), read_vocabulary(family)
    assert own.name == family
    assert {kind: [*values] for kind, values in own.attributes.items()} == {
        kind: [*values] for kind, values in clevr.attributes.items()
    }
    assert [value.synonyms for value in own.attributes["color"].values()] == [
        value.synonyms for value in clevr.attributes["color"].values()
    ]
    assert [*own.objects] == [name for name in clevr.objects if name in own.objects]
    assert [*own.relations][:4] == [*clevr.relations]
    if family != "clevr-original":  # which has CLEVR's own light and colours
        assert own.attributes["color"] == clevr.attributes["color"]
        assert {n: lamp.energy for n, lamp in own.lamps.items()} == {
            n: lamp.energy for n, lamp in clevr.lamps.items()
        }


@pytest.mark.parametrize("family", sorted(shipped_families()))
def test_a_starter_adds_a_colour_that_can_be_held_out(tmp_path: Path, family: str) -> None:
    starter, base = write_starter(tmp_path / "mine.toml", family), read_vocabulary(family)
    mine = read_vocabulary(str(starter.path))
    assert draw_block(shlex.split(starter.holdout), mine, 0).is_block
    assert set(mine.values("color")) - set(base.values("color")) == {"pink"}
    assert mine.objects == base.objects


def test_all_that_a_starter_proposes_is_a_family(tmp_path: Path) -> None:
    starter, base = write_starter(tmp_path / "mine.toml", "clevr"), read_vocabulary("clevr")
    text = starter.path.read_text()
    assert f"--holdout {starter.holdout}" in text
    starter.path.write_text(re.sub(r"^# (?=\[|[a-z-]+ = )", "", text, flags=re.MULTILINE))
    mine = read_vocabulary(str(starter.path))
    assert mine.attributes.keys() - base.attributes.keys() == {"finish"}
    assert mine.objects.keys() ^ base.objects.keys() == {"drum", "crescent"}
    assert "next-to" in mine.templates
    assert "near" in mine.relations
    assert set(mine.phrases) == {"material"}


# Heights in metres at the highest point of a standing adult, antlers and ears included.
HEIGHTS_IN_LIFE = {
    "crocodile": 0.45, "crow": 0.45, "fox": 0.5, "wolf": 0.95, "lioness": 1.1, "lion": 1.25,
    "hippopotamus": 1.5, "deer doe": 1.5, "rhinoceros": 1.8, "zebra": 1.9, "deer stag": 2.1,
    "elephant": 3.3,
}  # fmt: skip


@pytest.mark.parametrize("family", ["pug", "photo"])
def test_animals_are_as_high_beside_one_another_as_in_life_but_softened(family: str) -> None:
    vocabulary = read_vocabulary(family)
    heights = {
        name: vocabulary.objects[name].size * mesh_height(mesh, vocabulary.assets)
        for name, mesh in vocabulary.meshes.items()
        if name in HEIGHTS_IN_LIFE
    }
    assert len(heights) >= 8
    for lower, higher in permutations(heights, 2):
        in_life = HEIGHTS_IN_LIFE[higher] / HEIGHTS_IN_LIFE[lower]
        if in_life > 1.5:
            assert in_life**0.2 < heights[higher] / heights[lower] < in_life**1.6
    assert 0.6 < heights["lion"] / heights["zebra"] < 0.85
