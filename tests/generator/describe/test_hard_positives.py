from collections import Counter
from operator import ne

from generator.describe.captioner import Captioner, Text
from generator.describe.protocols.hard_positives import HardPositives
from generator.vocabulary.schema import read_vocabulary
from tests.generator.describe.samples import Sample, asked, by_slot, items_of
from tests.generator.scenes import VOCABULARY, captioner


def tokens(language: Captioner, text: Text) -> list[str]:
    """The words of a text; a phrase of the vocabulary is one word, and "an" counts as "a"."""
    words = language.grammar.realise(text.form, text.template, text.wording)
    phrases = [word for _, word in text.wording]
    phrases += [VOCABULARY.relations[link.relation].phrase for link in text.form.relations]
    for phrase in phrases:
        words = words.replace(phrase, phrase.replace(" ", "_"))
    return ["a" if word.lower() in ("a", "an") else word for word in words.split()]


def test_foils_are_published_or_as_many_edits_away_as_the_hard_positive(
    sampled: list[Sample],
) -> None:
    language = captioner()
    seen: Counter[str] = Counter()
    for item in items_of(sampled, "hard_positives"):
        c, n, p = (tokens(language, by_slot(item, slot)[0].text) for slot in ("c", "n", "p"))
        assert c != p
        if item.kind in ("swap", "converse"):
            assert by_slot(item, "n")[0].kind in ("swap", "flip")
        else:
            assert len(c) == len(n) == len(p)
            assert sum(map(ne, c, n)) == sum(map(ne, c, p)) > 0
        seen[item.kind] += 1
    assert set(seen) == set(HardPositives.kinds)
    assert min(seen.values()) > 10


def test_attributes_of_every_kind_are_replaced_and_a_spelling_is_no_synonym() -> None:
    """Tables 5 and 6 of Kamath et al. 2024 replace colours and sizes."""
    kinds: Counter[str] = Counter()
    for _, item in asked(HardPositives(captioner(), ["replace"], "positive"), 120, 3):
        if item.skill == "attribute":
            c, n, p = (by_slot(item, slot)[0] for slot in ("c", "n", "p"))
            (((place, kind), _),) = p.text.wording
            assert [change.split(":")[:2] for change in n.changed] == [[str(place), kind]]
            assert all("color" in mention.values for mention in c.text.form.objects)
            kinds[kind] += 1
    assert set(kinds) == set(VOCABULARY.attributes)
    assert min(kinds.values()) > 0.7 * max(kinds.values())
    for family in ("clevr", "pug", "clevr-original"):
        colors = read_vocabulary(family).attributes["color"]
        assert all("grey" not in spec.synonyms for spec in colors.values())


def test_published_captions_and_foils_are_in_usual_words_and_hard_positives_have_the_synonym() -> (
    None
):
    """Tables 1, 2 and 9 of Kamath et al. compare c with p, so c must not have the synonym."""
    language = captioner()
    published = HardPositives(language, ["replace", "swap"], "positive")
    seen: Counter[str | None] = Counter()
    for _, item in asked(published, 60, 3):
        c, n, p = (by_slot(item, slot)[0] for slot in ("c", "n", "p"))
        assert item.kind in ("replace", "swap")
        assert c.text.wording == n.text.wording == ()
        assert len(p.text.wording) == (item.kind == "replace")
        assert item.kind == "swap" or p.text.form == c.text.form
        seen[item.skill] += item.kind == "replace"
    assert {skill for skill, n in seen.items() if n} == {"object", "attribute", "relation"}


def test_by_default_either_true_text_may_have_the_synonym(sampled: list[Sample]) -> None:
    where = Counter(
        (bool(by_slot(item, "c")[0].text.wording), bool(by_slot(item, "p")[0].text.wording))
        for item in items_of(sampled, "hard_positives", "replace")
    )
    assert set(where) == {(True, False), (False, True)}
    assert min(where.values()) > 0.3 * where.total()
