"""Noun phrases of captions: by rules, against phrases labelled by hand, and by a pipeline of spaCy."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.provenance.captions import DEFAULT, Reading
from evaluator.provenance.noun_phrases import NounPhrases, SpacyPhrases, parts_of_speech
from generator.base.errors import UserError
from tests.evaluator.conftest import assert_one_sentence, score_command, succeed

EXTRACT = NounPhrases()
HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("caption", "phrases"),
    [
        ("a small white dog on a red couch", ["small white dog", "red couch"]),
        ("A black and white cat, sleeping.", ["black white cat"]),
        ("Two men in front of the dog's house", ["men", "dog", "house"]),
        ("a man riding a horse drawn carriage", ["man", "horse drawn carriage"]),
        ("", []),
        ("they are there", []),
    ],
)
def test_phrases_are_nouns_with_what_stands_before_them(caption: str, phrases: list[str]) -> None:
    assert EXTRACT(caption) == phrases


def _shares(name: str) -> dict[str, float]:
    """Precision and recall of phrases and of bindings over labelled captions."""
    counts: Counter[str] = Counter()
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        given, found = Counter(phrase.lower() for phrase in row["phrases"]), Counter(EXTRACT(row["caption"]))
        counts.update(both=(given & found).total(), given=given.total(), found=found.total())
        bindings = (
            {each for phrase in row["phrases"] for each in DEFAULT.of_phrase(phrase)},
            set(DEFAULT.of_caption(row["caption"])),
        )
        counts.update(
            both_bindings=len(bindings[0] & bindings[1]),
            given_bindings=len(bindings[0]),
            found_bindings=len(bindings[1]),
        )
    return {
        "precision": counts["both"] / counts["found"],
        "recall": counts["both"] / counts["given"],
        "binding precision": counts["both_bindings"] / counts["found_bindings"],
        "binding recall": counts["both_bindings"] / counts["given_bindings"],
        "phrases": counts["given"],
    }


def test_phrases_of_captions_that_no_rule_was_made_for_are_found() -> None:
    shares = _shares("held_out_captions.jsonl")
    assert shares["phrases"] >= 300
    assert shares["precision"] > 0.95
    assert shares["recall"] > 0.94
    assert shares["binding precision"] > 0.94
    assert shares["binding recall"] > 0.9


def test_phrases_of_the_captions_that_rules_were_made_for_are_found() -> None:
    shares = _shares("labelled_captions.jsonl")
    assert shares["phrases"] >= 300
    assert min(shares["precision"], shares["recall"]) > 0.97


@given(st.text(max_size=200))
def test_any_text_has_phrases_of_its_words(text: str) -> None:
    for phrase in EXTRACT(text):
        assert phrase
        assert all(word in text.lower().replace("’", "'") for word in phrase.split())


def test_words_have_their_most_frequent_tag() -> None:
    tags = parts_of_speech()
    assert len(tags) > 80_000
    words = {"dog": "NN", "red": "JJ", "quickly": "RB", "the": "DT", "running": "VBG"}
    assert {word: tags[word] for word in words} == words
    assert not any(word.isupper() or word.istitle() for word in tags)


PARTS = "a:DET two:NUM it:PRON small:ADJ red:ADJ very:ADV blue:ADJ smiling:VERB dogs:NOUN car:NOUN near:ADP"


@pytest.fixture
def pipeline(tmp_path: Path) -> str:
    """A small pipeline of spaCy, saved and loaded as a trained one is: words before a noun modify it."""
    spacy = pytest.importorskip("spacy")
    from spacy.language import Language
    from spacy.tokens import Doc

    part_of = dict(pair.split(":") for pair in PARTS.split())

    def parse(doc: Doc) -> Doc:
        words = [word.text for word in doc]
        parts = [part_of.get(word.lower(), "X") for word in words]
        nouns = [i for i, part in enumerate(parts) if part in ("NOUN", "PRON")] or [0]
        root = nouns[0]
        heads = [
            root if i in nouns or part == "ADP" else next((n for n in nouns if n >= i), root)
            for i, part in enumerate(parts)
        ]
        deps = ["ROOT" if i == root else "pobj" if i in nouns else "amod" for i in range(len(words))]
        return Doc(doc.vocab, words=words, pos=parts, heads=heads, deps=deps)

    Language.component("jackalope_test_parser", func=parse)
    made = spacy.blank("en")
    made.add_pipe("jackalope_test_parser")
    made.to_disk(tmp_path / "model")
    spacy.blank("en").to_disk(tmp_path / "blank")
    return str(tmp_path / "model")


def test_chunks_of_spacy_lose_what_is_no_attribute(pipeline: str) -> None:
    phrases = SpacyPhrases(pipeline)
    assert phrases("Two very small smiling dogs near a Red car") == ["small smiling dogs", "red car"]
    assert phrases("It near a car") == ["car"]
    reading = Reading(f"spacy:{pipeline}")
    assert reading.of_caption("It near a red car") == [("red", "car")]
    assert "spaCy" in reading.key
    assert reading.key != DEFAULT.key


def test_what_is_no_pipeline_of_noun_phrases_is_said(pipeline: str, tmp_path: Path) -> None:
    for name in ("none", tmp_path / "blank"):
        with pytest.raises(UserError, match=r"spaCy cannot find noun phrases with .*; name a pipeline that is instal"):
            SpacyPhrases(str(name))


def test_the_command_takes_a_pipeline_and_names_it(pipeline: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("item,text,truth\n1,a red car,true\n1,a blue car,false\n")
    (tmp_path / "corpus.txt").write_text("two red car near a small blue car\n")
    asked = ("familiarity", f"table:{tmp_path / 't.csv'}", "--reference", tmp_path / "corpus.txt")
    given = (*asked, "--out", tmp_path / "out", "--workers", 1, "--json", "--extractor")
    done = succeed(*given, f"spacy:{pipeline}")
    summary = json.loads(done.stdout)
    assert summary["extractor"] == f"spacy:{pipeline}"
    assert (summary["bindings"]["positive"]["perfect"], summary["bindings"]["negative"]["close"]) == (1, 1)
    assert_one_sentence(score_command(*given, "spacy:none"), "name a pipeline that is installed")
