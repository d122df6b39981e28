"""Groups of words that match one another, against a plain loop over all pairs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.audits.familiarity.reading import DEFAULT, EXACT, Reading, read_synonyms
from evaluator.audits.familiarity.samples import label
from generator.base.errors import UserError

WORDS = st.sampled_from(["red", "crimson", "big", "large", "car", "auto", "bus"])
COUNTS = st.dictionaries(st.tuples(WORDS, WORDS), st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


@given(st.lists(st.sets(WORDS, min_size=2), max_size=4), COUNTS, st.tuples(WORDS, WORDS))
def test_counts_are_those_of_all_pairs_that_match(
    tmp_path_factory: pytest.TempPathFactory,
    groups: list[set[str]],
    counts: dict[tuple[str, str], tuple[int, int]],
    asked: tuple[str, str],
) -> None:
    path = tmp_path_factory.mktemp("groups") / "groups.txt"
    path.write_text("\n".join(", ".join(group) for group in groups))

    def match(a: str, b: str) -> bool:
        return a == b or any({a, b} <= group for group in groups)

    expected = [sum(n[i] for key, n in counts.items() if all(map(match, asked, key))) for i in (0, 1)]
    found = read_synonyms(path, DEFAULT)
    assert found.counts([asked], counts) == {asked: tuple(expected)}
    assert found.groups == len(groups)


def test_nouns_of_groups_are_matched_as_other_nouns(tmp_path: Path) -> None:
    path = tmp_path / "groups.txt"
    path.write_text("# of captions\n\nSofas, couch\n")
    counts = {("red", "couch"): (0, 2)}
    lemmas = read_synonyms(path, DEFAULT).counts([("red", "sofa")], counts)
    assert label(("red", "sofa"), lemmas) == "close"
    exact = read_synonyms(path, Reading(match=EXACT)).counts([("red", "sofa")], counts)
    assert label(("red", "sofa"), exact) == "none"


def test_names_of_several_words_are_counted_and_match_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    path = tmp_path / "groups.txt"
    path.write_text("plane, jet, air plane\n")
    assert read_synonyms(path, DEFAULT).objects["jet"] == {"jet", "plane"}
    assert "1 names of several words" in caplog.text


def test_what_is_no_group_is_said(tmp_path: Path) -> None:
    path = tmp_path / "groups.txt"
    path.write_text("a, b\nalone\n")
    with pytest.raises(UserError, match=r"line 2: expected words separated by commas, got 'alone'"):
        read_synonyms(path, DEFAULT)
    with pytest.raises(UserError, match="cannot be read"):
        read_synonyms(tmp_path / "gone.txt", DEFAULT)
