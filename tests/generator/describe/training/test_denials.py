from collections.abc import Iterator

import pytest

from generator.base.streams import Stream
from generator.describe.training import Caption, Denials
from generator.language.foils import Foils, Substitutes
from generator.language.form import Form, Link, Mention
from tests.generator.scenes import VOCABULARY, described, scene_of

SUBSTITUTES = Substitutes(VOCABULARY)
DENIALS = Denials(VOCABULARY, SUBSTITUTES, Foils(VOCABULARY, SUBSTITUTES))
SCENE = described(scene_of(("cube", {"color": "red"}), ("cone", {"color": "blue"}), positions=[(-2, 0), (2, 0)]))
PLAIN = Form((Mention("cube", (("color", "red"),)), Mention("cone")))
RELATED = Form(PLAIN.objects, (Link(0, "left", 1),))


def _all(way: str, form: Form) -> Iterator[Caption]:
    for seed in range(20):
        yield from getattr(DENIALS, way)(form, SCENE, Stream(seed))


@pytest.mark.parametrize("form", [PLAIN, RELATED])
@pytest.mark.parametrize("way", ["asserted", "denied", "asserted_whole", "denied_whole"])
def test_a_caption_is_true_and_its_negative_false(way: str, form: Form) -> None:
    assert SCENE.decide(form) is True
    n = 0
    for caption, neg in _all(way, form):
        assert neg is not None
        assert (neg.kind, len(neg.changed)) == ("neg", 1)
        assert SCENE.decide(caption) is True, caption
        assert SCENE.decide(neg.form) is False, neg
        n += 1
    assert n >= 20


def _denials(form: Form) -> int:
    mentions = sum(mention.count == 0 or bool(mention.without) for mention in form.objects)
    return form.negated + mentions + sum(not link.holds for link in form.relations)


@pytest.mark.parametrize(
    ("way", "in_caption"), [("asserted", 0), ("denied", 1), ("asserted_whole", 0), ("denied_whole", 1)]
)
def test_one_of_the_two_denies_and_the_other_does_not(way: str, in_caption: int) -> None:
    for caption, neg in _all(way, RELATED):
        assert neg is not None
        assert (_denials(caption), _denials(neg.form)) == (in_caption, 1 - in_caption)


def test_atoms_of_all_types_are_denied() -> None:
    found = {neg.changed[0].split(">")[0] for form in (PLAIN, RELATED) for _, neg in _all("asserted", form) if neg}
    assert found == {"0:color:red", "1:shape:cone", "0:relation:left"}
