from collections import Counter
from itertools import product

from generator.describe.protocols.hard_positives import HardPositives, tokens, word_edits
from tests.generator.describe.samples import Sample, by_slot, items_of
from tests.generator.scenes import captioner


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
