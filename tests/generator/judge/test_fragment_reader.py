"""Fragments are read in the way that is asked for, or refused."""

import pytest

from generator.judge.fragment_reader import FragmentReader
from generator.judge.lexicon import UnreadableError
from tests.generator.judge.vocabularies import LEXICON


def reader(text: str) -> FragmentReader:
    return FragmentReader(text, next(LEXICON.divide(text)), LEXICON)


def test_each_way_reads_its_own_fragments() -> None:
    listed = reader("a red cube and a cone").phrases()
    assert [thing.category for thing in listed.things] == ["cube", "cone"]
    assert reader("a cube that is to the left of a cone").phrases().links == ((0, "left", 1, True),)
    assert reader("a photo of a red cube").photo() == reader("a red cube").phrases()
    assert reader("red cube and cone").spare() == listed
    assert reader("large and red cube and a cone").crepe().things[0].attributes == (("color", "red"), ("size", "large"))


@pytest.mark.parametrize("way", ["spare", "crepe"])
def test_no_counts_of_none(way: str) -> None:
    with pytest.raises(UnreadableError, match="no counts of none"):
        getattr(reader("no cube"), way)()
