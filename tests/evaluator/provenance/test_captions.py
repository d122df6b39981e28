"""How captions become bindings: singular nouns, strict and free captions, synonyms."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.audits.familiarity.audit import label
from evaluator.provenance.captions import (
    DEFAULT,
    EXACT,
    IRREGULAR,
    STRICT,
    UNCHANGED_NOUNS,
    Reading,
    normalised,
    read_synonyms,
    singular,
)
from generator.base.errors import UserError

WORDS = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
PLURALS = """
dogs:dog buses:bus dishes:dish benches:bench boxes:box glasses:glasses classes:class berries:berry horses:horse
potatoes:potato firemen:fireman stepchildren:stepchild geese:goose specimen:specimen skis:ski taxis:taxi
bikinis:bikini kiwis:kiwi zucchinis:zucchini menus:menu emus:emu tutus:tutu plateaus:plateau tennis:tennis
table-tennis:table-tennis iris:iris irises:iris oasis:oasis arthritis:arthritis metropolis:metropolis cactus:cactus
schoolbus:schoolbus claus:claus octopi:octopus octopuses:octopus walruses:walrus houses:house excuses:excuse
lice:louse slice:slice gasps:gasp stamens:stamen undies:undies dwarves:dwarf bookshelves:bookshelf olives:olive
gloves:glove canvases:canvas mustaches:mustache neckties:necktie townspeople:townsperson
jack-o-lanterns:jack-o-lantern grass:grass scissors:scissors pies:pie ties:tie cherries:cherry waltzes:waltz
poses:pose pauses:pause bus:bus gas:gas as:as
"""


def test_plurals_become_singular_and_what_is_singular_stays() -> None:
    for plural, single in (pair.split(":") for pair in PLURALS.split()):
        assert (singular(plural), singular(single)) == (single, single)
    assert all(singular(noun) == noun for noun in UNCHANGED_NOUNS)
    assert all(singular(plural) == single for plural, single in IRREGULAR.items())


@given(st.lists(WORDS, min_size=1, max_size=5))
def test_each_word_before_the_last_is_an_attribute_of_it(words: list[str]) -> None:
    bindings = DEFAULT.of_phrase("  ".join(words).upper())
    assert bindings == [(word, singular(words[-1])) for word in words[:-1]]


@given(WORDS, WORDS, WORDS, WORDS)
def test_the_strict_form_has_two_bindings_and_nothing_else_has(
    a: str, b: str, c: str, d: str
) -> None:
    caption = f"the {a} {b} and the {c} {d}"
    assert DEFAULT.of_caption(caption, STRICT) == [(a, singular(b)), (c, singular(d))]
    for other in (
        f"{caption} x",
        f"the {a} x {b} and the {c} {d}",
        f"{a} {b} and {c} {d}",
        f"the {a} {b}",
        "",
    ):
        assert DEFAULT.of_caption(other, STRICT) == []


def test_nouns_match_by_their_singular_or_as_they_stand() -> None:
    exact = Reading(match=EXACT)
    assert exact.of_phrase("Red  Cars") == [("red", "cars")]
    caption = "the open doors and the crouched men"
    assert exact.of_caption(caption, STRICT) == [("open", "doors"), ("crouched", "men")]
    caption = "Two small dogs near a red couch, and a RED Couch."
    assert DEFAULT.of_caption(caption) == [("small", "dog"), ("red", "couch")]
    assert exact.of_caption(caption) == [("small", "dogs"), ("red", "couch")]
    assert normalised("CAFÉ  Table") == "cafe table"
    assert DEFAULT.key != exact.key


@pytest.mark.parametrize("name", ["spacy", "spacy:", "nltk"])
def test_an_unknown_extractor_is_refused(name: str) -> None:
    with pytest.raises(
        UserError, match=rf"Expected the extractor rules or spacy:MODEL, got '{name}'"
    ):
        Reading(name).of_caption("a red car")


ALIKE = st.sampled_from(["red", "crimson", "big", "large", "car", "auto", "bus"])
COUNTS = st.dictionaries(
    st.tuples(ALIKE, ALIKE), st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12
)


@given(st.lists(st.sets(ALIKE, min_size=2), max_size=4), COUNTS, st.tuples(ALIKE, ALIKE))
def test_synonyms_count_as_all_pairs_that_match(
    tmp_path_factory: pytest.TempPathFactory,
    groups: list[set[str]],
    counts: dict[tuple[str, str], tuple[int, int]],
    binding: tuple[str, str],
) -> None:
    path = tmp_path_factory.mktemp("groups") / "groups.txt"
    path.write_text("\n".join(", ".join(group) for group in groups))

    def match(a: str, b: str) -> bool:
        return a == b or any({a, b} <= group for group in groups)

    expected = [
        sum(n[i] for key, n in counts.items() if all(map(match, binding, key))) for i in (0, 1)
    ]
    synonyms = read_synonyms(path, DEFAULT)
    assert synonyms.counts([binding], counts) == {binding: tuple(expected)}
    assert synonyms.groups == len(groups)


def test_words_of_groups_are_matched_as_other_nouns(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    path = tmp_path / "groups.txt"
    path.write_text("# of captions\n\nSofas, couch, love seat\n")
    for reading, expected in ((DEFAULT, "close"), (Reading(match=EXACT), "none")):
        counts = read_synonyms(path, reading).counts([("red", "sofa")], {("red", "couch"): (0, 2)})
        assert label(("red", "sofa"), counts) == expected
    assert "1 multi-word names" in caplog.text
    assert "love seat" not in read_synonyms(path, DEFAULT).objects
    path.write_text("a, b\nalone\n")
    with pytest.raises(UserError, match=r"line 2: expected words separated by commas, got 'alone'"):
        read_synonyms(path, DEFAULT)
    with pytest.raises(UserError, match="cannot be read"):
        read_synonyms(tmp_path / "gone.txt", DEFAULT)
