import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from generator.language.form import Form, Link, Mention
from generator.language.grammar import NATURAL, TEMPLATES, Grammar, reads_well
from tests.generator.scenes import VOCABULARY, VOCABULARY_TEXT, forms

GRAMMAR = Grammar(VOCABULARY)
LEXICON = Lexicon.of(VOCABULARY_TEXT)
RED = (("color", "red"),)
BLUE = (("color", "blue"),)


def said(*objects: Mention, links: tuple[Link, ...] = (), **more: object) -> Form:
    return Form(objects, links, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("form", "template", "text"),
    [
        (said(Mention("cube", RED), Mention("sphere", BLUE)), "a-and-a", "a red cube and a blue sphere"),
        (
            said(Mention("hourglass", RED), Mention("arch", (("color", "gray"),))),
            "a-and-a",
            "a red hourglass and a gray arch",
        ),
        (said(Mention("arch"), Mention("hourglass"), Mention("cube")), "a-and-a", "an arch, an hourglass and a cube"),
        (
            said(Mention("cube", (("color", "red"), ("material", "metal"), ("size", "large")))),
            "there-is",
            "There is a large red metal cube.",
        ),
        (said(Mention("cross", count=2), Mention("cone")), "there-is", "There are two crosses and a cone."),
        (said(Mention("cube", RED), Mention("cone", count=0)), "there-is", "There is a red cube and no cone."),
        (said(Mention("cube", without=RED)), "there-is", "There is a cube that is not red."),
        (said(Mention(None, RED, (("shape", "cube"),))), "there-is", "There is a red object that is not a cube."),
        (
            said(Mention("cube"), Mention("cone"), links=(Link(0, "left", 1),)),
            "that-is",
            "a cube that is to the left of a cone",
        ),
        (
            said(Mention("cube"), Mention("cone"), links=(Link(0, "left", 1),)),
            "photo",
            "a photo of a cube to the left of a cone",
        ),
        (
            said(Mention("cube", RED), Mention("cube", BLUE), Mention("cube"), links=(Link(2, "front", 0),)),
            "list-then-relate",
            "There is a red cube, a blue cube and a cube. The third cube is in front of the red cube.",
        ),
        (
            said(
                Mention("cube", RED),
                Mention("cone"),
                Mention("torus"),
                links=(Link(0, "left", 1), Link(0, "behind", 2, False)),
            ),
            "clauses",
            "A red cube is to the left of a cone and not behind a torus.",
        ),
        (
            said(Mention("cube"), Mention("cone"), links=(Link(0, "left", 1), Link(0, "behind", 1))),
            "clauses",
            "A cube is to the left of a cone and behind it.",
        ),
        (
            said(
                Mention("cube"),
                Mention("cone"),
                Mention("torus"),
                links=(Link(1, "left", 0), Link(1, "behind", 2), Link(1, "left", 2, False)),
            ),
            "list-then-relate",
            "There is a cube, a cone and a torus. The cone is to the left of the cube, behind the torus and not to "
            "the left of it.",
        ),
        (
            said(
                Mention("cube"),
                *[Mention(name) for name in ("cone", "torus", "arch")],
                links=tuple(Link(0, "left", i) for i in (1, 2, 3)),
            ),
            "that-is",
            "a cube that is to the left of a cone, to the left of a torus and to the left of an arch",
        ),
        (
            said(Mention("cube"), Mention("cone"), links=(Link(1, "left", 0),), negated=True),
            "not-true",
            "It is not true that there is a cube and a cone and that the cone is to the left of the cube.",
        ),
        (
            said(Mention("cube", RED), environment="studio"),
            "there-is",
            "In a bright studio with a plain floor, there is a red cube.",
        ),
        (said(Mention("cube", RED), Mention("sphere", BLUE)), "spare", "red cube and blue sphere"),
        (
            said(Mention("cube", (("color", "red"), ("size", "large"))), Mention("sphere")),
            "crepe",
            "large and red cube and a sphere",
        ),
        (said(Mention("cube", RED)), "in-image", "There is a red cube in the image."),
        (
            said(Mention("cube", RED), Mention("cone")),
            "then-attributes",
            "There is a cube and a cone. The cube is red.",
        ),
    ],
)
def test_sentences_read_as_english(form: Form, template: str, text: str) -> None:
    assert GRAMMAR.realise(form, template) == text


@pytest.mark.parametrize("examples", [300, pytest.param(1500, marks=pytest.mark.full)])
def test_every_template_is_read_back_to_its_form_by_the_judge(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(forms())
    def check(form: Form) -> None:
        names = GRAMMAR.templates(form)
        assert names, form
        for name in names:
            text = GRAMMAR.realise(form, name)
            assert read_text(text, LEXICON).to_json() == form.to_json(), (name, text)

    check()


@pytest.mark.parametrize("examples", [60, pytest.param(300, marks=pytest.mark.full)])
def test_two_forms_never_share_a_text(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(st.lists(forms(), min_size=2, max_size=12))
    def check(found: list[Form]) -> None:
        meaning: dict[str, Form] = {}
        for form in found:
            for name in GRAMMAR.templates(form):
                assert meaning.setdefault(GRAMMAR.realise(form, name), form) == form

    check()


def test_every_form_can_be_said_in_some_natural_way_or_denied() -> None:
    assert set(NATURAL) < set(TEMPLATES)


def test_a_list_that_denies_in_its_middle_does_not_read_well() -> None:
    none, cone = Mention("cube", count=0), Mention("cone")
    for template in ("a-and-a", "there-is", "list-then-relate"):
        assert [
            reads_well(Form(objects), template) for objects in ((none, cone), (cone, none), (none, none), (cone,))
        ] == [
            False,
            True,
            True,
            True,
        ]
    assert reads_well(Form((none, cone)), "there-is-each")


def test_a_relation_of_the_second_cube_does_not_read_well() -> None:
    links = (Link(0, "left", 1), Link(1, "behind", 2))
    told, same = (
        said(Mention("cube", first), Mention("cone"), Mention("cube", BLUE), links=links) for first in (RED, BLUE)
    )
    assert reads_well(told, "list-then-relate")
    assert not reads_well(same, "list-then-relate")
    assert reads_well(Form(same.objects), "there-is")


@pytest.mark.parametrize("kind", ["color", "shape", "relation"])
def test_synonyms_are_read_back_as_what_they_mean(kind: str) -> None:
    form = said(Mention("cube", RED), Mention("sphere"), links=(Link(0, "left", 1),))
    wordings = {
        "color": {(0, "color"): "crimson"},
        "shape": {(0, "shape"): "block"},
        "relation": {(0, "relation"): "left of"},
    }
    for name in ("that-is", "clauses", "list-then-relate"):
        text = GRAMMAR.realise(form, name, wordings[kind])
        assert text != GRAMMAR.realise(form, name)
        assert read_text(text, LEXICON).to_json() == form.to_json()
