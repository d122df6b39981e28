from collections import Counter
from itertools import product

from generator.base.streams import Stream
from generator.describe.protocols.hard_positives import HardPositives, tokens, word_edits
from tests.generator.describe.samples import Sample, by_slot, items_of, scenes
from tests.generator.scenes import captioner, described


def test_foils_are_published_or_as_many_edits_away_as_the_hard_positive(sampled: list[Sample]) -> None:
    language = captioner()
    seen: Counter[str] = Counter()
    for item in items_of(sampled, "hard_positives"):
        c, n, p = (tokens(language, by_slot(item, slot)[0].text) for slot in ("c", "n", "p"))
        assert c != p
        if item.kind in ("swap", "converse"):
            assert by_slot(item, "n")[0].kind in ("swap", "flip")
        else:
            assert word_edits(c, n) == word_edits(c, p) > 0
        seen[item.kind] += 1
    assert set(seen) == set(HardPositives.kinds)
    assert min(seen.values()) > 10


def test_word_edits_are_levenshteins() -> None:
    """Against the definition, by recursion."""

    def plain(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        return min(plain(a[1:], b) + 1, plain(a, b[1:]) + 1, plain(a[1:], b[1:]) + (a[0] != b[0]))

    words = ["".join(letters) for n in range(4) for letters in product("ab", repeat=n)]
    assert all(word_edits(a, b) == plain(a, b) for a in words for b in words)


def test_published_captions_and_foils_are_in_usual_words_and_hard_positives_have_the_synonym() -> None:
    """Tables 1, 2 and 9 of Kamath et al. compare c with p, so c must not have the synonym."""
    language = captioner()
    published = HardPositives(language, ["replace", "swap"], "positive")
    seen: Counter[str | None] = Counter()
    for number, scene in scenes(60, 3):
        for item in published.items(described(scene, scene_id=f"{number:06d}"), Stream("texts", number)):
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
