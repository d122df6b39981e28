import pytest

from generator.base.streams import Stream
from generator.describe.contrasts import POSITIVES, Positives
from generator.describe.items import Text
from generator.language.complexity import LeastUsed
from generator.language.form import Form, Link, Mention
from generator.language.grammar import Grammar
from tests.generator.scenes import VOCABULARY, described, scene_of

RED = (("color", "red"),)


def _words(form: Form, template: str, kinds: tuple[str, ...] = POSITIVES, seeds: int = 1) -> list[tuple[str, str]]:
    grammar, found = Grammar(VOCABULARY), []
    for seed in range(seeds):
        made = Positives(VOCABULARY, kinds, LeastUsed()).of(Text(form, template), None, Stream(seed))
        found += [(kind, grammar.realise(text.form, text.template, dict(text.wording))) for kind, text in made]
    return found


def test_two_phrases_change_places() -> None:
    form = Form((Mention("cube", RED), Mention("cone")))
    assert _words(form, "a-and-a", ("swap", "converse")) == [("swap", "a cone and a red cube")]


def test_what_is_denied_stays_at_the_end() -> None:
    form = Form((Mention("cube", RED), Mention("cone"), Mention("arch", count=0)))
    assert set(_words(form, "a-and-a", ("swap",), 20)) == {("swap", "a cone, a red cube and no arch")}


def test_a_word_becomes_a_synonym() -> None:
    form = Form((Mention("cube", RED), Mention("cone")))
    assert set(_words(form, "a-and-a", ("replace",), 20)) == {
        ("replace", "a red block and a cone"),
        ("replace", "a crimson cube and a cone"),
    }


def test_a_relation_is_said_from_its_other_end() -> None:
    form = Form((Mention("cube", RED), Mention("cone")), (Link(0, "left", 1),))
    assert _words(form, "clauses", ("swap", "converse")) == [("converse", "A cone is to the right of a red cube.")]


def test_one_relation_of_several_is_said_from_its_other_end() -> None:
    form = Form((Mention("cube"), Mention("cone"), Mention("arch")), (Link(0, "left", 1), Link(1, "front", 2)))
    assert set(_words(form, "clauses", ("converse",), 20)) == {
        ("converse", "A cone is to the right of a cube and in front of an arch."),
        (
            "converse",
            "There is a cube. There is also an arch. The cube is to the left of a cone. The arch is behind the cone.",
        ),
    }


@pytest.mark.parametrize(
    "form",
    [
        Form((Mention("cube", RED), Mention("cone"), Mention("arch"))),
        Form((Mention("cube", RED), Mention("cone")), (Link(0, "left", 1),)),
        Form((Mention("cube"), Mention("cone"), Mention("arch")), (Link(0, "left", 1), Link(1, "left", 2))),
        Form((Mention("cube"), Mention("cone")), (Link(1, "left", 0, False),)),
    ],
)
def test_positives_are_true_wherever_the_caption_is(form: Form) -> None:
    scene = described(
        scene_of(("cube", {"color": "red"}), ("cone", {}), ("arch", {}), positions=[(-2, -2), (0, 0), (2, 2)])
    )
    assert scene.decide(form) is True
    for seed in range(20):
        for _, text in Positives(VOCABULARY, POSITIVES, LeastUsed()).of(Text(form, "clauses"), None, Stream(seed)):
            assert scene.decide(text.form) is True
