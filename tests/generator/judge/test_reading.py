"""What texts mean: each has one meaning or is refused."""

import gc
import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.judge.lexicon import Lexicon, UnreadableError
from generator.judge.meaning import Meaning, ObjectMention
from generator.judge.text_reader import read_text
from tests.generator.judge.hand_made_scenes import FARM, FARM_LEXICON, LEXICON, form, thing


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        (
            "a black and white guinea pig and an emu",
            [("guinea pig", {"coat": "black and white"}), ("emu", {})],
        ),
        (
            "a pale grey piebald cavy",
            [("guinea pig", {"coat": "black and white", "shade": "pale grey"})],
        ),
        ("black and white pig and pig", [("pig", {"coat": "black and white"}), ("pig", {})]),
        (
            "dark and black and white pig and an emu",
            [("pig", {"coat": "black and white", "shade": "dark"}), ("emu", {})],
        ),
        ("a unicorn and an orange thing", [("unicorn", {}), (None, {"coat": "orange"})]),
        ("two guinea pigs and three cavies", [("guinea pig", {}), ("guinea pig", {})]),
    ],
)
def test_words_of_several_words(
    text: str, objects: list[tuple[str | None, dict[str, str]]]
) -> None:
    meaning = read_text(text, FARM_LEXICON)
    assert [(mention.category, dict(mention.attributes)) for mention in meaning.objects] == objects


def test_the_longest_phrase_that_gives_a_reading_is_read() -> None:
    longer = read_text("an emu in a desert under a cloudy sky", FARM_LEXICON)
    assert longer == Meaning((ObjectMention("emu"),), environment="sky")
    assert read_text("an emu that is in a pig", FARM_LEXICON).relations == ((0, "near", 1, True),)


def test_a_word_with_two_meanings_is_not_read() -> None:
    twice = Lexicon.from_toml(FARM.replace('["piebald"]', '["brown"]'))
    with pytest.raises(UnreadableError, match="got 'brown'"):
        read_text("a brown pig", twice)


def test_a_word_that_can_be_read_as_two_is_not_read() -> None:
    two = Lexicon.from_toml(FARM.replace('"pale grey" = {}', '"dark brown" = {}'))
    with pytest.raises(UnreadableError, match="got 'dark brown'"):
        read_text("a dark brown pig", two)


READ = {
    "a red cube": form("red cube"),
    "a red object that is not a cube": form(thing("red object", without={"shape": "cube"})),
    "a red hourglass that is not shiny": form(
        thing("red hourglass", without={"material": "metal"})
    ),
    "a red cube that is to the left of a sphere and not behind a cone": form(
        "red cube", "sphere", "cone", relations=[[0, "left", 1, True], [0, "behind", 2, False]]
    ),
    "a cube that is not on the left side of an object that is not red in a bright studio with a "
    "plain floor": form(
        "cube",
        thing("object", without={"color": "red"}),
        relations=[[0, "left", 1, False]],
        environment="studio",
    ),
    "a photo of a cube to the left of a sphere": form(
        "cube", "sphere", relations=[[0, "left", 1, True]]
    ),
    "This is a photo of a cube in a bright studio with a plain floor.": form(
        "cube", environment="studio"
    ),
    "red cube and blue sphere": form("red cube", "blue sphere"),
    "large red cube, cone and two spheres": form(
        "large red cube", "cone", thing("sphere", count=2)
    ),
    "cube and a cone and a large and red sphere": form("cube", "cone", "large red sphere"),
    "There are two cubes. There is no cone. There is a ring.": form(
        thing("cube", count=2), thing("cone", count=0), "torus"
    ),
    "A red cube is to the left of a sphere. The sphere is behind a cone. There is also a torus.": form(
        "red cube",
        "sphere",
        "cone",
        "torus",
        relations=[[0, "left", 1, True], [1, "behind", 2, True]],
    ),
    "A red cube is to the left of a blue cube. The blue cube is behind the red cube.": form(
        "red cube", "blue cube", relations=[[0, "left", 1, True], [1, "behind", 0, True]]
    ),
    "There is a cube that is behind a cone. There is also a torus that is not in front of the cube.": form(
        "cube", "cone", "torus", relations=[[0, "behind", 1, True], [2, "front", 0, False]]
    ),
    "There is a cube and a cube. The first block is behind the second cube.": form(
        "cube", "cube", relations=[[0, "behind", 1, True]]
    ),
    "There is a large red object, a red object and a cube. The large object is behind the second "
    "object.": form("large red object", "red object", "cube", relations=[[0, "behind", 1, True]]),
    "There is a cube and a sphere. The cube is large and red. The sphere is not metal. The cube is "
    "behind the sphere.": form(
        "large red cube",
        thing("sphere", without={"material": "metal"}),
        relations=[[0, "behind", 1, True]],
    ),
    "It is not true that there is a cube that is not red, a cone and a star, that the cube is "
    "behind the cone and that the star is not to the left of the cube.": form(
        thing("cube", without={"color": "red"}),
        "cone",
        "star",
        relations=[[0, "behind", 1, True], [2, "left", 0, False]],
        negated=True,
    ),
}


@pytest.mark.parametrize("text", READ)
def test_texts_are_read_into_their_form(text: str) -> None:
    meaning = read_text(text, LEXICON)
    assert json.loads(meaning.to_json()) == READ[text]
    assert hash(meaning) == hash(read_text(text, LEXICON))


REFUSED = {
    "two readings": """
no cube and red sphere
a cube that is not behind a cone and to the left of a star
a cube that is behind a cone that is not red and to the left of a star
a cube that is not red that is behind a cone
a cube that is behind a cone and a star
A cube is not behind a cone and to the left of it.
A cube is behind a cone that is not red and to the left of a star.
There is a cube that is not red that is behind a cone.
There is a cube and a cone that is behind a star.
It is not true that there is a cube. There is a cone.
In a bright studio with a plain floor, it is not true that there is a cube.
It is not true that there is a cube and a cone and the cube is behind the cone.
""",
    "a definite phrase of no object, or of several": """
a cube that is behind the cone
The cube is behind a cone.
A cube is behind the cone.
A cube is behind a cone. The star is behind the cube.
A cube is behind a cube. The cube is to the left of a star.
A red cube is behind a blue cube. The cube is to the left of a star.
There is a cube and a cube. The cube is behind the second cube.
There is a cube and a cube. The first cube is behind the third cube.
There is a cube. The cone is red. There is a cone.
A cube is behind it.
A cube is behind a cone. It is to the left of a star.
A cube is behind a cone. The cone is to the left of it.
""",
    "a relation of one object to itself, or of counted ones": """
a cube that is behind the cube
A cube is behind the cube.
There is a cube and a cone. The cube is behind the cube.
a cube that is behind two cones
a cube that is behind no cone
two cubes that is behind a cone
There are two cubes and a cone. The cube is behind the cone.
There is no cube that is behind a cone.
Two cubes are behind a cone.
no red cone that is behind a cube
""",
    "two values of a kind, or values of what is counted": """
a red blue cube
a red crimson cube
a red red cube
There is a red cube and a cone. The cube is blue.
There is a cube and a cone. The cube is red. The cube is blue.
There are two cubes and a cone. The cube is red.
There is a cube that is not red. The cube is not blue.
a cube that is not an object
""",
    "other words, or another order": """
a red
red
the cube
cube red
a cube a cone
a cube and
a  cube
 a cube
a cube\x20
a cube\tand a cone
a cube , a cone and a star
a Cube
There is a cube
There is a cube..
There is a cube.There is a cone.
There is a cube ,a cone and a star.
There is no a cube.
a teapot
a pink cube
a cubes
one cube
eleven cubes
two cubes that are red
two cubes that is not red
a cube that is not
a cube that is not a red
a cube that is not red that is not metal
a cube that is red
a cube that is not red and behind a cone
a photo of
a photo of a cube not behind a cone
large and cube
cube to the left of sphere and a cone
red cube and a sphere and a cone to the left of star
There is a cube in a bright studio with a plain floor.
In a bright studio with a plain floor there is a cube.
A cube is behind a cone. A cube.
A cube is large.
No cube is behind a cone.
There is a cube and a cone. The cube is behind the cone and a star.
There is a cube and a cone. The cube is large red.
There is a cube and a cone. The cube is not large and red.
There is a cube. The cubes are red.
It is not true that there is a cube
It is not true that a cube is behind a cone.
It is not true that there is a cube and a cone and that the cube is behind the cone and in front of the cone.
It is not true that there is a cube in a bright studio with a plain floor.
""",
}


@pytest.mark.parametrize(
    "text",
    ["", ".", " ", *(text for block in REFUSED.values() for text in block[1:-1].split("\n"))],
)
def test_texts_without_one_meaning_are_refused(text: str) -> None:
    with pytest.raises(UnreadableError, match="expected"):
        read_text(text, LEXICON)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("a large red cube", "a red and large cube"),
        ("an arch, a cube and a cone", "A arch and a cube and a cone."),
        ("There are two cubes.", "There is two cube."),
        (
            "A cube is behind a cone and to the left of it.",
            "A cube is behind a cone. The cube is to the left of the cone.",
        ),
        (
            "A red cube is behind a blue cube.",
            "There is a red cube and a blue cube. The first cube is behind the second cube.",
        ),
        (
            "There is a cube and a cone. The cube is red and large.",
            "There is a red cube. There is a cone. The cube is large.",
        ),
    ],
)
def test_a_text_that_is_put_otherwise_means_the_same(text: str, other: str) -> None:
    """How a text is put is compared when it is made again; the judge asks what it means."""
    assert read_text(text, LEXICON) == read_text(other, LEXICON)


def test_long_texts_end_in_a_refusal_too() -> None:
    start = time.perf_counter()
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
                read_text(text + "not", lexicon)
    assert time.perf_counter() - start < 5


WORDS = (
    "a an and the is are not that there There It A The true no two first second also to of photo "
    "This , . red large metal cube cubes cone object behind left"
)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=14))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    text = " ".join(words).replace(" ,", ",").replace(" .", ".")
    try:
        meaning = read_text(text, LEXICON)
    except UnreadableError:
        return
    assert meaning.objects


OTHERS = dict(
    zip(
        ["red", "large", "metal", "cube", "cubes", "cone", "two", "first", "ten", "no", "behind"],
        [
            "blue",
            "small",
            "rubber",
            "arch",
            "arches",
            "heart",
            "three",
            "second",
            "nine",
            "a",
            "near",
        ],
        strict=True,
    )
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(READ)), st.sampled_from(sorted(OTHERS)), st.integers(0, 3))
def test_another_word_changes_what_is_said_or_is_refused(text: str, word: str, nth: int) -> None:
    parts = re.split(rf"\b{word}\b", text)
    if nth >= len(parts) - 1:
        return
    changed = word.join(parts[: nth + 1]) + OTHERS[word] + word.join(parts[nth + 1 :])
    try:
        meaning = read_text(changed.replace("  ", " "), LEXICON)
    except UnreadableError:
        return
    assert json.loads(meaning.to_json()) != READ[text]


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
