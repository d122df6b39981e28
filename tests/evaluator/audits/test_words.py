"""Words, and how two texts differ in them."""

from evaluator.audits.features import ngram_differences, word_overlap, words


def test_words_and_how_texts_differ() -> None:
    assert words("It's a red-hot, 2nd cube.") == ["it's", "a", "red-hot", "2nd", "cube"]
    assert (word_overlap("A cube", "a CUBE."), word_overlap("", "!"), word_overlap("a", "b")) == (1, 1, 0)
    assert [ngram_differences("a a b", "a b b", n) for n in (1, 2, 3)] == [2, 2, 2]
