"""What the judge reads in a text, what it refuses to read, and how it decides what it read."""

import itertools
import json
import math
import random
import time
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.dataset.resources import resource
from generator.judge.decide import decide
from generator.judge.geometry import SceneGeometry, Terms, read_scene
from generator.judge.lexicon import Lexicon, UnreadableError
from generator.judge.meaning import Meaning, Thing
from generator.judge.text_reader import read_text

CLEVR = resource("scenes").joinpath("clevr.toml").read_text(encoding="utf-8")
FARM = """
category = "animal"
generic = "thing"
adjectives = ["shade", "coat"]
[attributes.coat]
brown = {}
"black and white" = { synonyms = ["piebald"] }
orange = {}
[attributes.shade]
dark = {}
"pale grey" = {}
[objects]
"guinea pig" = { synonyms = ["cavy"] }
pig = { plural = "pigs" }
unicorn = { article = "a", synonyms = ["ibex"] }
emu = {}
[relations]
left = { phrase = "to the left of", synonyms = ["left of"], rule = "left", margin = 0.2 }
near = { phrase = "in", rule = "front", margin = 0.2 }
[environments]
desert = { phrase = "in a desert" }
sky = { phrase = "in a desert under a cloudy sky" }
"""
LEXICON, FARM_LEXICON = Lexicon.of(CLEVR), Lexicon.of(FARM)


def form(*objects: Any, relations: list[list[Any]] | None = None, **more: Any) -> dict[str, Any]:
    """A form's JSON: an object is "red cube", or a category and what else is known of it."""
    data: dict[str, Any] = {"objects": [thing(each) if isinstance(each, str) else each for each in objects]}
    if relations:
        data["relations"] = relations
    return {**data, **more}


def thing(words: str, **more: Any) -> dict[str, Any]:
    """ "large red cube", "object" … as JSON."""
    *values, noun = words.split()
    kinds = {name: kind for name, (kind, _) in LEXICON.values.items()}
    return {
        "category": None if noun == "object" else noun,
        "attributes": {kinds[value]: value for value in values},
        **more,
    }


READ = {
    "a red cube": form("red cube"),
    "a large red metal cube": form("large red metal cube"),
    "a red cube, a cone and a blue sphere": form("red cube", "cone", "blue sphere"),
    "a cube, two red cones and a sphere that is not metal": form(
        "cube", thing("red cone", count=2), thing("sphere", without={"material": "metal"})
    ),
    "a red object that is not a cube": form(thing("red object", without={"shape": "cube"})),
    "an hourglass and a crimson ball": form("hourglass", "red sphere"),
    "a red hourglass that is not shiny": form(thing("red hourglass", without={"material": "metal"})),
    "no red cube and two crosses": form(thing("red cube", count=0), thing("cross", count=2)),
    "ten objects": form(thing("object", count=10)),
    "a red cube and a sphere in a bright studio with a plain floor": form("red cube", "sphere", environment="studio"),
    "a red cube that is to the left of a sphere and not behind a cone": form(
        "red cube", "sphere", "cone", relations=[[0, "left", 1, True], [0, "behind", 2, False]]
    ),
    "a cube that is not on the left side of an object that is not red in a bright studio with a plain floor": form(
        "cube", thing("object", without={"color": "red"}), relations=[[0, "left", 1, False]], environment="studio"
    ),
    "a photo of a cube": form("cube"),
    "a photo of a cube, two cones and a sphere that is not red": form(
        "cube", thing("cone", count=2), thing("sphere", without={"color": "red"})
    ),
    "a photo of a cube to the left of a sphere": form("cube", "sphere", relations=[[0, "left", 1, True]]),
    "This is a photo of a red cube and a cone.": form("red cube", "cone"),
    "This is a photo of a cube in a bright studio with a plain floor.": form("cube", environment="studio"),
    "red cube and blue sphere": form("red cube", "blue sphere"),
    "large red cube, cone and two spheres": form("large red cube", "cone", thing("sphere", count=2)),
    "large and red cube to the left of sphere": form("large red cube", "sphere", relations=[[0, "left", 1, True]]),
    "red cube and a sphere": form("red cube", "sphere"),
    "cube and a cone and a large and red sphere": form("cube", "cone", "large red sphere"),
    "There is a red cube, a cone and a blue sphere.": form("red cube", "cone", "blue sphere"),
    "There is no red cube.": form(thing("red cube", count=0)),
    "There are two red cubes and a cone.": form(thing("red cube", count=2), "cone"),
    "There is a cone and two red cubes.": form("cone", thing("red cube", count=2)),
    "In a bright studio with a plain floor, there is a cube.": form("cube", environment="studio"),
    "In a bright studio with a plain floor, a cube is behind a cone.": form(
        "cube", "cone", relations=[[0, "behind", 1, True]], environment="studio"
    ),
    "There is a red cube. There is a cone.": form("red cube", "cone"),
    "There are two cubes. There is no cone. There is a ring.": form(
        thing("cube", count=2), thing("cone", count=0), "torus"
    ),
    "There is a cube in the image.": form("cube"),
    "There are two cubes in the image.": form(thing("cube", count=2)),
    "A red cube is to the left of a sphere. The sphere is behind a cone. There is also a torus.": form(
        "red cube", "sphere", "cone", "torus", relations=[[0, "left", 1, True], [1, "behind", 2, True]]
    ),
    "There is a cube. A sphere is behind the cube.": form("cube", "sphere", relations=[[1, "behind", 0, True]]),
    "There is a cube. There is also a cone.": form("cube", "cone"),
    "A cube is behind a sphere. There is also no torus.": form(
        "cube", "sphere", thing("torus", count=0), relations=[[0, "behind", 1, True]]
    ),
    "A cube is not behind a sphere that is not red. The cube is to the left of the sphere.": form(
        "cube",
        thing("sphere", without={"color": "red"}),
        relations=[[0, "behind", 1, False], [0, "left", 1, True]],
    ),
    "A cube is not behind a sphere. The cube is in front of a cone.": form(
        "cube", "sphere", "cone", relations=[[0, "behind", 1, False], [0, "front", 2, True]]
    ),
    "A cube is to the left of a sphere and behind the sphere.": form(
        "cube", "sphere", relations=[[0, "left", 1, True], [0, "behind", 1, True]]
    ),
    "A red cube is to the left of a blue cube. The blue cube is behind the red cube.": form(
        "red cube", "blue cube", relations=[[0, "left", 1, True], [1, "behind", 0, True]]
    ),
    "There is a red cube that is to the left of a sphere. The sphere is behind a cone.": form(
        "red cube", "sphere", "cone", relations=[[0, "left", 1, True], [1, "behind", 2, True]]
    ),
    "There is a cube that is behind a cone. There is also a torus that is not in front of the cube.": form(
        "cube", "cone", "torus", relations=[[0, "behind", 1, True], [2, "front", 0, False]]
    ),
    "A cube that is not red is behind a sphere.": form(
        thing("cube", without={"color": "red"}), "sphere", relations=[[0, "behind", 1, True]]
    ),
    "There is a red cube, a cone and a sphere. The cube is to the left of the sphere.": form(
        "red cube", "cone", "sphere", relations=[[0, "left", 2, True]]
    ),
    "There is a cube and a cube. The first block is behind the second cube.": form(
        "cube", "cube", relations=[[0, "behind", 1, True]]
    ),
    "There is a large red object, a red object and a cube. The large object is behind the second object.": form(
        "large red object", "red object", "cube", relations=[[0, "behind", 1, True]]
    ),
    "There is a cube and a sphere. The cube is large and red. The sphere is not metal. The cube is behind the sphere.": form(
        "large red cube", thing("sphere", without={"material": "metal"}), relations=[[0, "behind", 1, True]]
    ),
    "There is a cube. The cube is large, red and metal.": form("large red metal cube"),
    "There is a cube. The cube is large. The cube is not red.": form(thing("large cube", without={"color": "red"})),
    "It is not true that there is a red cube.": form("red cube", negated=True),
    "It is not true that there are two cubes and a cone.": form(thing("cube", count=2), "cone", negated=True),
    "It is not true that there is a red cube and a cone and that the cube is behind the cone.": form(
        "red cube", "cone", relations=[[0, "behind", 1, True]], negated=True
    ),
    "It is not true that there is a cube that is not red, a cone and a star, that the cube is behind the cone and that "
    "the star is not to the left of the cube.": form(
        thing("cube", without={"color": "red"}),
        "cone",
        "star",
        relations=[[0, "behind", 1, True], [2, "left", 0, False]],
        negated=True,
    ),
}


@pytest.mark.parametrize("text", READ)
def test_texts_are_read_into_their_form(text: str) -> None:
    said = read_text(text, LEXICON)
    assert said.to_dict() == READ[text]
    assert json.loads(json.dumps(said.to_dict())) == READ[text]
    assert hash(said) == hash(read_text(text, LEXICON))


REFUSED = """
an red cube
a hourglass
an large hourglass
a red
red
the cube
cube red
a cube a cone
a cube and
a cube, a cone
a cube, a cone, and a star
a cube and a cone and a star
a cube , a cone and a star
a  cube
 a cube
a cube\x20
a cube\tand a cone
a Cube
A cube
A cube and a cone
a cube.
A cube.
There is a cube
there is a cube.
There is a cube..
There is a cube. there is a cone.
There is a cube.There is a cone.
There is a cube ,a cone and a star.
a red large cube
a metal red cube
a red blue cube
a red crimson cube
a red red cube
a teapot
a pink cube
a cubes
two cube
one cube
eleven cubes
two red cube and a cone
There is two cubes.
There are a cube.
There are a cube and two cones.
There are no cubes.
There are no red cube.
There is no cubes.
There is no a cube.
There is no red cube that is not metal.
no red cube that is behind a cone
two cubes that are red
two cubes that is not red
a red cube that is not blue
a cube that is not
a cube that is not a red
a cube that is not an cone
a cube that is not cone
a cube that is not an object
a cube that is not red that is not metal
a cube that is not red that is behind a cone
a cube that is red
a cube that is behind a cone that is not red and to the left of a star
a cube that is not red and behind a cone
a cube that is not behind a cone and to the left of a star
a cube that is behind a cone and a star
a cube that is behind the cone
a cube that is behind the cube
a cube that is behind two cones
a cube that is behind no cone
two cubes that is behind a cone
a cube behind a cone
a photo of
a photo of a cube in a bright studio with a plain floor
a photo of a cube not behind a cone
a photo of a cube that is behind a cone
a photo of a cube that is not red and a cone
a photo of a cube that is not red behind a cone
a photo of no cube
a photo of a cube and no cone
a photo of red cube
A photo of a cube.
This is a photo of a cube
This is a photo of a cube behind a cone.
This is a photo of no cube.
this is a photo of a cube.
red cube in a bright studio with a plain floor
no cube and red sphere that is behind
large red cube to the left of sphere
red and large cube
large and cube
red cube to the left of a sphere
a large and red cube
red cube, sphere and a cone
red cube and a sphere and a cone to the left of star
cube to the left of sphere and a cone
large and red cube and sphere and a cone
There is a cube. There is a cone. There is also a star.
There is a cube. There is a cone and a star.
There is a cube and a cone. There is a star.
There is also a cube.
There is a cube and a cone. There is also a star.
In a bright studio with a plain floor, There is a cube.
In a bright studio with a plain floor there is a cube.
in a bright studio with a plain floor, there is a cube.
In a bright studio with a plain floor, there is a cube. There is a cone.
In a bright studio with a plain floor, there is a cube in the image.
There is a cube in a bright studio with a plain floor.
There is a cube and a cone in the image.
There is no cube in the image.
There is a cube in the image. There is a cone in the image.
The cube is behind a cone.
A cube is behind the cone.
A cube is behind the cube.
A cube is behind a cone. The star is behind the cube.
A cube is behind a cube. The cube is to the left of a star.
A cube is behind a cube. The first cube is to the left of a star.
A red cube is behind a blue cube. The cube is to the left of a star.
A large red cube is behind a small blue cube. The red cube is to the left of a star.
A red cube is behind a cone. The red cube is to the left of a star.
A cube is behind a cone. The cube is to the left of a star.
A cube is behind a cone. The cube is to the left of the cone.
A cube is not behind a cone. The cube is not to the left of the cone.
A cube is not behind a cone and to the left of the cone.
A cube is behind a cone that is not red and to the left of a star.
There is a cube. The cube is behind a cone.
There is a cube. There is also a cone. The cone is behind the cube.
There is a cube. There is also a cone. A star is behind the cube. There is a torus.
A cube is behind a cone. There is also a star. The cone is behind the star.
A cube is behind a cone. There is a star.
A cube is behind a cone. A cube.
A cube is behind a cone and behind the cone.
A cube is behind a cone. There are also two stars.
A cube is large.
A cube is behind a cone. The cube is large.
Two cubes are behind a cone.
No cube is behind a cone.
There is a cube that is behind a cone. A star is behind the cube.
There is a cube that is not red that is behind a cone.
There is no cube that is behind a cone.
There is a cube and a cone that is behind a star.
There is a cube and a cone. A star is behind the cube.
There is a cube and a cone. The cube is behind a star.
There is a cube and a cone. The cube is behind the cube.
There is a cube and a cone. The cube is behind the cone. The cube is behind the cone.
There is a cube and a cone. The cube is behind the cone. The cube is not behind the cone.
There is a cube and a cone. The cube is behind the cone and a star.
There are two cubes and a cone. The cube is behind the cone.
There is a cube, a cone and two stars. The cube is behind the cone.
There is a cube and a cube. The cube is behind the second cube.
There is a red cube and a cube. The first cube is behind the second cube.
There is a cube and a cube. The first cube is behind the third cube.
There is a cube and a cone. The cube is red and large.
There is a cube and a cone. The cube is large, red.
There is a cube and a cone. The cube is large red.
There is a cube and a cone. The cube is large, and red.
There is a cube and a cone. The cube is large and red and metal.
There is a cube and a cone. The cube is not large and red.
There is a cube and a cone. The cube is red. The cube is metal.
There is a cube and a cone. The cube is red. The cube is not blue.
There is a cube and a cone. The cube is not red. The cube is metal.
There is a cube and a cone. The cone is red. The cube is metal.
There is a cube and a cone. The cube is behind the cone. The cone is red.
There is a large cube and a cone. The cube is red.
There is a cube and a cube. The first cube is red.
There is an object. The object is red.
There are two cubes and a cone. The cube is red.
There is a cube. The cubes are red.
It is not true that there is a cube
It is not true that there are a cube.
It is not true that there is no cube.
It is not true that there is a cube and no cone.
It is not true that a cube is behind a cone.
It is not true that there is a cube and a cone and the cube is behind the cone.
It is not true that there is a cube and a cone, that the cube is behind the cone.
It is not true that there is a cube and a cone and that the cube is behind the cone and that the cone is behind the cube.
It is not true that there is a cube and a cone and that the cube is behind a star.
It is not true that there is a cube and a cone and that the cube is behind the cone and in front of the cone.
It is not true that there is a cube in a bright studio with a plain floor.
In a bright studio with a plain floor, it is not true that there is a cube.
It is not true that there is a cube. There is a cone.
"""


@pytest.mark.parametrize("text", ["", ".", " ", *REFUSED.strip("\n").split("\n")])
def test_texts_that_the_grammar_does_not_allow_are_refused(text: str) -> None:
    with pytest.raises(UnreadableError, match="expected"):
        read_text(text, LEXICON)


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("a black and white guinea pig and an emu", [("guinea pig", {"coat": "black and white"}), ("emu", {})]),
        ("a pale grey piebald cavy", [("guinea pig", {"coat": "black and white", "shade": "pale grey"})]),
        ("black and white pig and pig", [("pig", {"coat": "black and white"}), ("pig", {})]),
        ("dark and black and white pig and an emu", [("pig", {"coat": "black and white", "shade": "dark"}), ("emu", {})]),
        ("a unicorn and an orange thing", [("unicorn", {}), (None, {"coat": "orange"})]),
        ("two guinea pigs and three cavies", [("guinea pig", {}), ("guinea pig", {})]),
    ],
)  # fmt: skip
def test_words_of_several_words(text: str, things: list[tuple[str | None, dict[str, str]]]) -> None:
    said = read_text(text, FARM_LEXICON)
    assert [(each.category, dict(each.attributes)) for each in said.things] == things


def test_a_synonym_of_an_object_with_an_article_of_its_own_may_have_either() -> None:
    assert read_text("an ibex", FARM_LEXICON) == read_text("a ibex", FARM_LEXICON)
    with pytest.raises(UnreadableError, match="expected 'a unicorn'"):
        read_text("an unicorn", FARM_LEXICON)


def test_the_longest_phrase_that_gives_a_reading_is_read() -> None:
    longer = read_text("an emu in a desert under a cloudy sky", FARM_LEXICON)
    assert longer == Meaning((Thing("emu"),), environment="sky")
    assert read_text("an emu that is in a pig", FARM_LEXICON).links == ((0, "near", 1, True),)


def test_a_text_with_two_readings_is_refused() -> None:
    two = FARM.replace('"pale grey" = {}', '"dark brown" = {}')
    assert read_text("a dark brown piebald pig", Lexicon.of(two)).things[0].attributes == (
        ("coat", "black and white"),
        ("shade", "dark brown"),
    )
    with pytest.raises(UnreadableError, match="expected one reading, got two"):
        read_text("a dark brown pig", Lexicon.of(two))


def test_a_word_with_two_meanings_is_not_read() -> None:
    twice = Lexicon.of(FARM.replace('["piebald"]', '["brown"]'))
    with pytest.raises(UnreadableError):
        read_text("a brown pig", twice)


def test_long_texts_end_in_a_refusal_too() -> None:
    begun = time.perf_counter()
    for text in (
        "a cube and " * 3000,
        "a cube, " * 3000,
        "dark " * 5000,
        "in a desert " * 5000,
        "There is also a cube. " * 3000,
        "a black and white " * 2000,
    ):
        for lexicon in (LEXICON, FARM_LEXICON):
            with pytest.raises(UnreadableError):
                read_text(text.strip(), lexicon)
    assert time.perf_counter() - begun < 5


WORDS = [
    "a",
    "an",
    "and",
    "the",
    "is",
    "are",
    "not",
    "that",
    "there",
    "There",
    "It",
    "A",
    "The",
    "true",
    "no",
    "two",
    "first",
    "second",
    "also",
    "to",
    "of",
    "photo",
    "This",
    ",",
    ".",
    "red",
    "large",
    "metal",
    "cube",
    "cubes",
    "cone",
    "object",
    "behind",
    "left",
]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=14))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    text = " ".join(words).replace(" ,", ",").replace(" .", ".")
    try:
        said = read_text(text, LEXICON)
    except UnreadableError:
        return
    assert said.things
    assert said.n_objects >= len(said.things)


def named(words: list[str]) -> list[str]:
    """Each word, or the name that it is a synonym of."""
    declared = tomllib.loads(CLEVR)
    names = {
        synonym: name
        for group in (declared["objects"], *declared["attributes"].values())
        for name, entry in group.items()
        for synonym in entry.get("synonyms", [])
    }
    return [names.get(word.strip(",."), word) for word in words]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(READ)), st.data())
def test_a_word_more_or_less_or_elsewhere_changes_what_is_said_or_is_refused(text: str, data: st.DataObject) -> None:
    words = text.split(" ")
    at = data.draw(st.integers(0, len(words) - 1))
    other = data.draw(st.integers(0, len(words) - 1))
    words[at], words[other] = words[other], words[at]
    try:
        said = read_text(" ".join(words), LEXICON)
    except UnreadableError:
        return
    assert named(words) == named(text.split(" ")) or said.to_dict() != READ[text]


# Truth.

TERMS = Terms.of(CLEVR)


def scene(*objects: str, environment: str | None = None) -> SceneGeometry:
    """A scene seen from the south: "red cube 1 2" stands 1 m to the right and 2 m away."""
    things = []
    for each in objects:
        *words, x, y = each.split()
        things.append(
            {
                "category": words[-1],
                "attributes": dict(LEXICON.values[word] for word in words[:-1]),
                "position": [float(x), float(y), 0.0],
            }
        )
    record: dict[str, Any] = {"objects": things, "camera": {"position": [0, -9, 5], "target": [0, 0, 0]}}
    if environment:
        record["environment"] = environment
    return read_scene(json.dumps(record), TERMS)


def decided(text: str, shown: SceneGeometry) -> bool | None:
    return decide(read_text(text, LEXICON), shown)


TWO = scene("red metal cube -1 0", "blue rubber sphere 1 0.1", environment="studio")
CROWD = scene("red cube -1 0", "red sphere 1 0", "blue cube 2 1", "red cone 0 -1")


@pytest.mark.parametrize(
    ("text", "shown", "truth"),
    [
        # 1: fitting.
        ("a red cube", TWO, True),
        ("a blue cube", TWO, False),
        ("an object that is not red", TWO, True),
        ("a sphere that is not blue", TWO, False),
        ("a blue object that is not a cube", TWO, True),
        ("a red object that is not a cube", TWO, False),
        # Different objects.
        ("a red cube and a red object", TWO, False),
        ("an object and an object", TWO, True),
        ("an object, an object and an object", TWO, False),
        ("a red object, a cube and a red cube", CROWD, True),
        ("a cube, a cube and a blue cube", CROWD, False),
        # 2 and 3: relations and their margin.
        ("A cube is to the left of a sphere.", TWO, True),
        ("A cube is to the right of a sphere.", TWO, False),
        ("A cube is in front of a sphere.", TWO, None),
        ("A cube is behind a sphere.", TWO, None),
        ("A red cube is behind a red sphere.", TWO, False),
        ("A cube is to the left of a sphere and behind the sphere.", TWO, None),
        ("A cube is to the right of a sphere and behind the sphere.", TWO, False),
        ("A red object is to the left of a cube.", CROWD, True),
        ("A cube is to the right of a sphere. There is also a cube.", CROWD, True),
        ("A cube is to the left of a sphere. The sphere is to the left of a cube that is not red.", CROWD, True),
        # 4: the two readings of "not".
        ("A cube is not to the right of a sphere.", TWO, True),
        ("A cube is not to the left of a sphere.", TWO, False),
        ("A cube is not behind a sphere.", TWO, None),
        ("A cube is not to the left of a cone.", TWO, None),  # there is no cone: false, and left of none: true
        ("A sphere is not to the left of a cube.", CROWD, None),  # not of the red one, but of the blue one
        ("A blue cube is not to the left of a red object.", CROWD, True),
        ("A red cube is not to the left of a red sphere.", CROWD, False),
        ("A cube is not to the left of a cube.", CROWD, True),  # the blue one, of the red one and of no other
        ("There is a red cube, a blue cube and a cone. The red cube is not behind the cone.", CROWD, False),
        # The cone is in another relation, so there is one reading.
        ("A sphere is not to the left of a cube. The cube is to the left of a cone.", CROWD, True),
        # 5: counts.
        ("two red objects", CROWD, None),
        ("three red objects", CROWD, True),
        ("four red objects", CROWD, False),
        ("two cubes and a sphere", CROWD, True),
        ("two cubes and a blue object", CROWD, None),
        ("two cubes and a star", CROWD, False),
        ("two objects and no star", CROWD, None),
        ("two objects and no cube", CROWD, None),
        ("two spheres and no star", CROWD, False),
        ("no star and a cube", CROWD, True),
        ("no red sphere", CROWD, False),
        ("no red cube and a red cube", CROWD, False),
        ("no blue sphere", CROWD, True),
        ("A red cube is to the left of a sphere. There is also no star.", CROWD, True),
        ("A red cube is to the left of a sphere. There is also no cone.", CROWD, False),
        # 6: environments.
        ("a cube in a bright studio with a plain floor", TWO, True),
        ("a star in a bright studio with a plain floor", TWO, False),
        ("a cube in a bright studio with a plain floor", CROWD, None),
        ("a star in a bright studio with a plain floor", CROWD, False),
        ("a cube in a bright studio with a plain floor", scene("red cube 0 0", environment="desert"), False),
        ("In a bright studio with a plain floor, a cube is behind a sphere.", TWO, None),
        # 7: denial of the whole.
        ("It is not true that there is a red cube.", TWO, False),
        ("It is not true that there is a blue cube.", TWO, True),
        ("It is not true that there is a cube and a sphere and that the cube is behind the sphere.", TWO, None),
        ("It is not true that there are two cubes.", TWO, True),
        ("It is not true that there are two red objects.", CROWD, None),
    ],
)
def test_truth(text: str, shown: SceneGeometry, truth: bool | None) -> None:
    assert decided(text, shown) is truth


def test_a_relation_is_decided_from_its_margin_on() -> None:
    for gap, truth in ((0.1, None), (0.19999, None), (0.2, True), (-0.2, False), (-0.1, None)):
        assert decided("A cube is behind a sphere.", scene(f"red cube 0 {gap}", "red sphere 3 0")) is truth


def test_left_is_left_of_the_camera_wherever_it_stands() -> None:
    for turn in range(0, 360, 40):
        sin, cos = math.sin(math.radians(turn)), math.cos(math.radians(turn))

        def turned(x: float, y: float, sin: float = sin, cos: float = cos) -> list[float]:
            return [x * cos - y * sin, x * sin + y * cos, 0.0]

        record = {
            "objects": [
                {"category": "cube", "attributes": {}, "position": turned(-1, 0.5)},
                {"category": "sphere", "attributes": {}, "position": turned(1, 0)},
            ],
            "camera": {"position": [*turned(0, -9)[:2], 5], "target": [0, 0, 1]},
        }
        shown = read_scene(json.dumps(record), TERMS)
        assert decided("A cube is to the left of a sphere and behind the sphere.", shown) is True
        assert decided("A sphere is to the right of a cube and in front of the cube.", shown) is True


def test_a_camera_that_looks_straight_down_is_refused() -> None:
    record = {"objects": [], "camera": {"position": [0, 0, 5], "target": [0, 0, 0]}}
    with pytest.raises(ValueError, match="straight down"):
        read_scene(json.dumps(record), TERMS)


# The same by trying every assignment.


def naive(said: Meaning, shown: SceneGeometry) -> bool | None:
    """Rules 1 to 7 as they are written, without any thought of speed."""
    objects = range(len(shown.objects))

    def fits(thing: Thing, i: int) -> bool:
        category, values = shown.objects[i]
        has = {("shape", category), *values.items()}
        named = thing.category is None or ("shape", thing.category) in has
        return named and set(thing.attributes) <= has and thing.without not in has

    def relation(name: str, i: int, j: int) -> bool | None:
        (x, y), (other_x, other_y) = shown.along[i], shown.along[j]
        step = {"left": other_x - x, "right": x - other_x, "behind": y - other_y, "front": other_y - y}[name]
        return None if abs(step) < 0.2 else step > 0

    def all_of(truths: list[bool | None]) -> bool | None:
        return False if False in truths else None if None in truths else True

    def denied(truth: bool | None) -> bool | None:
        return None if truth is None else not truth

    def reading(none_of: bool) -> bool | None:
        singles = [i for i, thing in enumerate(said.things) if thing.number == 1]
        uses = [place for s, _, o, _ in said.links for place in (s, o)]
        free = {o for _, _, o, holds in said.links if none_of and not holds and uses.count(o) == 1}
        singles = [i for i in singles if i not in free]
        truths = set()
        for chosen in itertools.permutations(objects, len(singles)):
            given = dict(zip(singles, chosen, strict=True))
            if not all(fits(said.things[i], j) for i, j in given.items()):
                continue
            parts = []
            for s, name, o, holds in said.links:
                if o in free:
                    others = [j for j in objects if fits(said.things[o], j) and j != given[s]]
                    parts.append(all_of([denied(relation(name, given[s], j)) for j in others]))
                else:
                    truth = relation(name, given[s], given[o])
                    parts.append(truth if holds else denied(truth))
            truths.add(all_of(parts))
        return True if True in truths else None if None in truths else False

    first, second = reading(False), reading(True)
    parts: list[bool | None] = [first if first is second else None]
    overlap = False
    for i, thing in enumerate(said.things):
        fitting = [j for j in objects if fits(thing, j)]
        if thing.number == 0:
            parts.append(not fitting)
        elif thing.number > 1:
            parts.append(True if len(fitting) == thing.number else False if len(fitting) < thing.number else None)
            overlap |= any(fits(other, j) for j in fitting for k, other in enumerate(said.things) if k != i)
    truth = None if overlap else all_of(parts)
    if said.environment is not None:
        truth = all_of([truth, None if shown.environment is None else shown.environment == said.environment])
    return denied(truth) if said.denied else truth


def random_thing(draw: random.Random) -> Thing:
    attributes = tuple(sorted((kind, draw.choice(values)) for kind, values in CHOICES.items() if draw.random() < 0.3))
    without = None
    if draw.random() < 0.2:
        kind = draw.choice([kind for kind in (*CHOICES, "shape") if kind not in dict(attributes)])
        without = (kind, draw.choice(CHOICES.get(kind, CATEGORIES)))
    return Thing(draw.choice([*CATEGORIES, None, None]), attributes, without)


def random_said(draw: random.Random, most: int) -> Meaning:
    things = [random_thing(draw) for _ in range(draw.randint(1, most))]
    pairs = [(i, j) for i in range(len(things)) for j in range(len(things)) if i != j]
    links = [
        (i, draw.choice(list(TERMS.relations)), j, draw.random() < 0.6)
        for i, j in draw.sample(pairs, min(len(pairs), draw.randint(0, most)))
    ]
    linked = {place for i, _, j, _ in links for place in (i, j)}
    counts = [0, 1] if links else [0, 1, 1, 1, 2, 3]
    for i, thing in enumerate(things):
        if i not in linked and draw.random() < 0.4:
            number = draw.choice(counts)
            things[i] = thing._replace(number=number, without=thing.without if number == 1 else None)
    environment = draw.choice([None, None, "studio"])
    return Meaning(tuple(things), tuple(links), environment is None and draw.random() < 0.2, environment)


def random_scene(draw: random.Random, size: int) -> SceneGeometry:
    objects = [
        f"{' '.join(draw.choice(values) for values in CHOICES.values())} {draw.choice(CATEGORIES)} "
        f"{draw.uniform(-1, 1)} {draw.uniform(-1, 1)}"
        for _ in range(size)
    ]
    return scene(*objects, environment=draw.choice([None, "studio", "desert"]))


CHOICES = {"color": ["red", "blue"], "material": ["metal", "rubber"]}
CATEGORIES = ["cube", "sphere"]


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32))
def test_truth_is_what_trying_every_assignment_gives(seed: int) -> None:
    draw = random.Random(seed)
    said, shown = random_said(draw, 4), random_scene(draw, draw.randint(1, 5))
    assert decide(said, shown) is naive(said, shown)


def test_crowded_scenes_do_not_explode() -> None:
    draw = random.Random(0)
    begun = time.perf_counter()
    for _ in range(200):
        things = tuple(Thing(None) for _ in range(draw.choice([6, 9, 10])))
        pairs = list(itertools.permutations(range(len(things)), 2))
        links = tuple((i, draw.choice(list(TERMS.relations)), j, True) for i, j in draw.sample(pairs, 8))
        decide(Meaning(things, links), random_scene(draw, 10))
    assert time.perf_counter() - begun < 10
