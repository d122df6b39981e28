"""Words of several words, synonyms and words with two meanings."""

import gc
import json
import time
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.judge.lexicon import Lexicon, UnreadableError
from generator.judge.meaning import Meaning, Thing
from generator.judge.text_reader import FragmentReader, Reader, SentenceReader, definite_keys, read_text
from tests.generator.judge.hand_made_scenes import CLEVR, FARM, FARM_LEXICON, LEXICON, form, thing


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("a black and white guinea pig and an emu", [("guinea pig", {"coat": "black and white"}), ("emu", {})]),
        ("a pale grey piebald cavy", [("guinea pig", {"coat": "black and white", "shade": "pale grey"})]),
        ("black and white pig and pig", [("pig", {"coat": "black and white"}), ("pig", {})]),
        (
            "dark and black and white pig and an emu",
            [("pig", {"coat": "black and white", "shade": "dark"}), ("emu", {})],
        ),
        ("a unicorn and an orange thing", [("unicorn", {}), (None, {"coat": "orange"})]),
        ("two guinea pigs and three cavies", [("guinea pig", {}), ("guinea pig", {})]),
    ],
)
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


def test_a_word_with_two_meanings_is_not_read() -> None:
    twice = Lexicon.of(FARM.replace('["piebald"]', '["brown"]'))
    with pytest.raises(UnreadableError):
        read_text("a brown pig", twice)


def reader(text: str) -> Reader:
    return Reader(text, next(LEXICON.divide(text)), LEXICON)


def test_a_noun_phrase_is_a_mention() -> None:
    read = reader("two red cubes")
    assert read.mention() == 0
    assert read.things == [Thing("cube", (("color", "red"),), number=2)]
    with pytest.raises(UnreadableError, match="expected 'an arch'"):
        reader("a arch").mention()


def test_the_shortest_definite_phrase_of_each_mention() -> None:
    red, blue = (("color", "red"),), (("color", "blue"),)
    keys = definite_keys([Thing("cube", red), Thing("cube", blue), Thing("cone"), Thing("cube", blue)], LEXICON.rank)
    assert keys == {("cube", ("color", "red")): 0, ("cube", 2): 1, ("cone", None): 2, ("cube", 3): 3}


def test_a_definite_phrase_takes_up_an_earlier_mention() -> None:
    read = reader("a red cube, a blue cube")
    read.mention()
    read.take(",")
    read.mention()
    assert read.place((("cube", ("color", "blue")), 2)) == 1
    with pytest.raises(UnreadableError, match="in the shortest way"):
        read.place((("cube", None), 2))


def fragment_reader(text: str) -> FragmentReader:
    return FragmentReader(text, next(LEXICON.divide(text)), LEXICON)


def test_each_way_reads_its_own_fragments() -> None:
    listed = fragment_reader("a red cube and a cone").phrases()
    assert [thing.category for thing in listed.things] == ["cube", "cone"]
    assert fragment_reader("a cube that is to the left of a cone").phrases().links == ((0, "left", 1, True),)
    assert fragment_reader("a photo of a red cube").photo() == fragment_reader("a red cube").phrases()
    assert fragment_reader("red cube and cone").spare() == listed
    assert fragment_reader("large and red cube and a cone").crepe().things[0].attributes == (
        ("color", "red"),
        ("size", "large"),
    )


@pytest.mark.parametrize("way", ["spare", "crepe"])
def test_no_counts_of_none(way: str) -> None:
    with pytest.raises(UnreadableError, match="no counts of none"):
        getattr(fragment_reader("no cube"), way)()


def read(text: str) -> Meaning:
    return SentenceReader(text, next(LEXICON.divide(text)), LEXICON).sentences()


def test_templates_that_say_the_same_mean_the_same() -> None:
    same = [
        "There is a cube that is to the left of a cone.",
        "A cube is to the left of a cone.",
        "There is a cube and a cone. The cube is to the left of the cone.",
    ]
    assert len({read(text) for text in same}) == 1
    assert read(same[0]).links == ((0, "left", 1, True),)


def test_denial_of_the_whole_and_environments() -> None:
    assert read("It is not true that there is a cube.").denied
    assert read("In a bright studio with a plain floor, there is a cube.").environment == "studio"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("There are a cube.", "'is'"),
        ("There is a red cube and a cone. The cube is blue.", "a list without attributes"),
        ("A cube is to the left of a cone. The cube is behind the cone.", "joined by 'and'"),
        ("there is a cube.", "begins with 'There'"),
    ],
)
def test_what_breaks_a_template_is_refused(text: str, expected: str) -> None:
    with pytest.raises(UnreadableError, match=expected):
        read(text)


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
    "A cube is to the left of a sphere and behind it.": form(
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
    "There is a cube and a sphere. The cube is large and red. The sphere is not metal. The cube is behind the "
    "sphere.": form(
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
    assert json.loads(said.to_json()) == READ[text]
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
A cube is not behind a cone and to the left of it.
A cube is behind a cone that is not red and to the left of a star.
There is a cube. The cube is behind a cone.
There is a cube. There is also a cone. The cone is behind the cube.
There is a cube. There is also a cone. A star is behind the cube. There is a torus.
A cube is behind a cone. There is also a star. The cone is behind the star.
A cube is behind a cone. There is a star.
A cube is behind a cone. A cube.
A cube is behind a cone and behind it.
A cube is behind a cone and to the left of the cone.
A cube is behind a cone and to the left of a star and to the left of an arch.
A cube is behind a cone, to the left of a star and to the left of the star.
A cube is behind a cone, to the left of a star.
A cube is behind it.
A cube is behind a cone. It is to the left of a star.
A cube is behind a cone. The cone is to the left of it.
a cube that is behind a cone and to the left of it
a cube that is behind a cone and to the left of a star and to the left of an arch
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
It is not true that there is a cube and a cone and that the cube is behind the cone \
and that the cone is behind the cube.
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


def test_a_text_with_two_readings_is_refused() -> None:
    two = FARM.replace('"pale grey" = {}', '"dark brown" = {}')
    assert read_text("a dark brown piebald pig", Lexicon.of(two)).things[0].attributes == (
        ("coat", "black and white"),
        ("shade", "dark brown"),
    )
    with pytest.raises(UnreadableError, match="expected one reading, got two"):
        read_text("a dark brown pig", Lexicon.of(two))


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
    assert named(words) == named(text.split(" ")) or json.loads(said.to_json()) != READ[text]


def test_reading_leaves_no_cycles_behind() -> None:
    """`gen verify` runs without the collector of cycles, so what is left would fill the memory."""
    gc.collect()
    gc.disable()
    try:
        for text in READ:
            read_text(text, LEXICON)
        assert gc.collect() == 0
    finally:
        gc.enable()


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
