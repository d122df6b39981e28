"""Words that English forms differently, and captions that cannot be read back."""

import pytest

from generator.inspection.family.words import misspelt, unreadable
from generator.vocabulary.objects import ObjectSpec
from generator.vocabulary.schema import read_vocabulary

CLEVR = read_vocabulary("clevr")


def with_object(name: str, **keys: str) -> list[str]:
    return list(misspelt(CLEVR.model_copy(update={"objects": {name: ObjectSpec(mesh="cube", **keys)}})))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wolf", 'plural = "wolves"'), ("polar ox", 'plural = "polar oxen"'), ("unicorn", 'article = "a"'), ("hourglass", 'article = "an"'),
    ],
)  # fmt: skip
def test_irregular_words_are_named(name: str, said: str) -> None:
    assert [said in message for message in with_object(name)] == [True]


def test_words_that_are_declared_or_regular_pass() -> None:
    assert (
        with_object("wolf", plural="wolves")
        == with_object("fox")
        == with_object("unimpressive cube", article="an")
        == []
    )


def test_a_caption_that_reads_otherwise_is_named() -> None:
    vocabulary = CLEVR.model_copy(
        update={"objects": {"cube": ObjectSpec(), "cube and a cone": ObjectSpec(mesh="cone"), "cone": ObjectSpec()}}
    )
    assert any("cube and a cone" in message for message in unreadable(vocabulary, vocabulary.toml()))
    assert not list(unreadable(CLEVR, CLEVR.toml()))
