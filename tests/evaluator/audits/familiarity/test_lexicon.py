"""The lexicon of parts of speech."""

from evaluator.audits.familiarity.noun_phrases import parts_of_speech


def test_words_have_their_most_frequent_tag() -> None:
    tags = parts_of_speech()
    assert len(tags) > 80_000
    assert {word: tags[word] for word in ("dog", "red", "quickly", "the", "running")} == {
        "dog": "NN",
        "red": "JJ",
        "quickly": "RB",
        "the": "DT",
        "running": "VBG",
    }
    assert all(word == word.lower() for word in list(tags)[:1000])
