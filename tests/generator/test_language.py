from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.judge.words import Lexicon, UnreadableError, read_sentence
from generator.language.foils import swap_attribute
from generator.language.form import Form, Mention
from generator.language.grammar import realise
from generator.language.truth import holds
from generator.resources import resource
from generator.scene import Camera, Scene, SceneObject
from generator.vocabulary import read_vocabulary

VOCABULARY = read_vocabulary("clevr")
LEXICON = Lexicon.of(resource("scenes/clevr.toml").read_text(encoding="utf-8"))

mentions = st.builds(
    lambda category, values: Mention(category, tuple(sorted(values.items()))),
    st.sampled_from(list(VOCABULARY.objects)),
    st.fixed_dictionaries(
        {}, optional={kind: st.sampled_from(VOCABULARY.values(kind)) for kind in VOCABULARY.attributes}
    ),
)
forms = st.builds(lambda found: Form(tuple(found)), st.lists(mentions, min_size=1, max_size=3))


def form(*objects: tuple[str, str]) -> Form:
    return Form(tuple(Mention(thing, (("color", color),)) for color, thing in objects))


def scene_of(*objects: tuple[str, str]) -> Scene:
    things = tuple(
        SceneObject(thing, {"color": color, "size": "large"}, (float(i), 0.0, 0.0), 0.0)
        for i, (color, thing) in enumerate(objects)
    )
    return Scene(things, Camera((7.0, -6.0, 5.0), (0.0, 0.0, 0.0), 35.0, 32.0), {})


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ([("red", "cube"), ("blue", "sphere")], "a red cube and a blue sphere"),
        ([("red", "hourglass"), ("gray", "arch")], "a red hourglass and a gray arch"),
        ([("red", "cube"), ("blue", "sphere"), ("cyan", "cone")], "a red cube, a blue sphere and a cyan cone"),
    ],
)
def test_captions_read_as_english(objects: list[tuple[str, str]], text: str) -> None:
    assert realise(form(*objects), VOCABULARY) == text


def test_articles_follow_the_sound_that_is_declared() -> None:
    alone = [realise(Form((Mention(thing, ()),)), VOCABULARY) for thing in ("arch", "hourglass", "cube")]
    assert alone == ["an arch", "an hourglass", "a cube"]


@given(forms)
def test_the_judge_reads_back_what_the_grammar_wrote(given_form: Form) -> None:
    claims = read_sentence(realise(given_form, VOCABULARY), LEXICON)
    assert claims == [(m.category, tuple(sorted(m.attributes))) for m in given_form.objects]


@given(forms, forms)
def test_two_forms_never_share_a_text(first: Form, second: Form) -> None:
    assert (realise(first, VOCABULARY) == realise(second, VOCABULARY)) == (first == second)


@pytest.mark.parametrize(
    "text", ["the red cube", "a red", "a red blue cube", "a crimson cube", "a red cube and", "red cube", "a cube red"]
)
def test_the_judge_refuses_what_it_cannot_read(text: str) -> None:
    with pytest.raises(UnreadableError):
        read_sentence(text, LEXICON)


things = st.tuples(st.sampled_from(["red", "blue"]), st.sampled_from(["cube", "sphere"]))


@given(st.lists(things, min_size=1, max_size=3), st.lists(things, min_size=1, max_size=4))
def test_truth_is_a_matching_to_different_objects(said: list[tuple[str, str]], there: list[tuple[str, str]]) -> None:
    expected = any(
        all(s == there[i] for s, i in zip(said, chosen, strict=True))
        for chosen in permutations(range(len(there)), len(said))
    )
    assert holds(form(*said), scene_of(*there)) == expected


def test_two_of_a_kind_need_two() -> None:
    twice = form(("red", "cube"), ("red", "cube"))
    assert not holds(twice, scene_of(("red", "cube"), ("blue", "cube")))
    assert holds(twice, scene_of(("red", "cube"), ("red", "cube")))


@given(st.sampled_from(list(product(["red", "blue", "cyan"], repeat=2))))
def test_swap_exchanges_the_values_and_is_its_own_inverse(colors: tuple[str, str]) -> None:
    original = form((colors[0], "cube"), (colors[1], "sphere"))
    foil = swap_attribute(original, "color")
    assert foil.form == form((colors[1], "cube"), (colors[0], "sphere"))
    assert swap_attribute(foil.form, "color").form == original
    assert foil.changed == (f"0:color:{colors[0]}>{colors[1]}", f"1:color:{colors[1]}>{colors[0]}")
    shown = scene_of((colors[0], "cube"), (colors[1], "sphere"))
    assert holds(original, shown)
    assert holds(foil.form, shown) == (colors[0] == colors[1])
