import pytest

from generator.judge.lexicon import Lexicon
from generator.language.grammar import Grammar
from generator.language.phrases import Place
from generator.language.templates import reads_well
from tests.generator.scenes import VOCABULARY, VOCABULARY_TEXT, form_of

GRAMMAR = Grammar(VOCABULARY)
LEXICON = Lexicon.from_toml(VOCABULARY_TEXT)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("a-and-a", "a red cube and a blue sphere"),
        ("a-and-a", "a red hourglass and a gray arch"),
        ("a-and-a", "an arch, an hourglass and a cube"),
        ("there-is", "There is a large red metal cube."),
        ("there-is", "There are two crosses and a cone."),
        ("there-is", "There is a red cube and no cone."),
        ("there-is", "There is a cube that is not red."),
        ("there-is", "There is a red object that is not a cube."),
        ("there-is", "In a bright studio with a plain floor, there is a red cube."),
        ("this-photo", "This is a photo of a red cube in a bright studio with a plain floor."),
        ("that-is", "a cube that is to the left of a cone"),
        (
            "that-is",
            "a cube that is to the left of a cone, to the left of a torus and to the left of an "
            "arch",
        ),
        ("photo", "a photo of a cube to the left of a cone"),
        (
            "list-then-relate",
            "There is a red cube, a blue cube and a cube. The third cube is in front of the red "
            "cube.",
        ),
        (
            "list-then-relate",
            "There is a cube, a cone and a torus. The cone is to the left of the cube, behind the "
            "torus and not to the left of it.",
        ),
        ("clauses", "A red cube is to the left of a cone and not behind a torus."),
        ("clauses", "A cube is to the left of a cone and behind it."),
        (
            "clauses",
            "There is a cube. A cone is to the left of an arch. The arch is behind the cube.",
        ),
        ("there-is-that", "There is a cube that is to the left of a cone. There is also a torus."),
        (
            "not-true",
            "It is not true that there is a cube and a cone and that the cone is to the left of "
            "the cube.",
        ),
        ("spare", "red cube and blue sphere"),
        ("crepe", "large and red cube and a sphere"),
        ("in-image", "There is a red cube in the image."),
        ("then-attributes", "There is a cube and a cone. The cube is red."),
    ],
)
def test_sentences_read_as_english(template: str, text: str) -> None:
    assert GRAMMAR.realise(form_of(text), template) == text


@pytest.mark.parametrize(
    ("template", "text", "well"),
    [
        ("a-and-a", "no cube and a cone", False),
        ("there-is", "There is no cube and a cone.", False),
        ("list-then-relate", "There is no cube and a cone.", False),
        ("there-is-each", "There is no cube. There is a cone.", True),
        ("a-and-a", "a cone and no cube", True),
        ("a-and-a", "no cone and no cube", True),
        (
            "list-then-relate",
            "There is a red cube and a blue cube. The red cube is behind the blue cube.",
            True,
        ),
        (
            "list-then-relate",
            "There is a cube and a cube. The first cube is behind the second cube.",
            False,
        ),
        ("there-is", "There is a cube and a cube.", True),
    ],
)
def test_a_list_reads_well_that_ends_with_denials_and_needs_no_ordinal(
    template: str, text: str, well: bool
) -> None:
    assert reads_well(form_of(text), template) is well


@pytest.mark.parametrize(
    "wording", [((0, "color"), "crimson"), ((0, "shape"), "block"), ((0, "relation"), "left of")]
)
def test_synonyms_are_read_back_as_what_they_mean(wording: tuple[Place, str]) -> None:
    form = form_of("a red cube that is to the left of a sphere")
    for name in ("that-is", "clauses", "list-then-relate"):
        text = GRAMMAR.realise(form, name, (wording,))
        assert wording[1] in text
        assert form_of(text) == form
