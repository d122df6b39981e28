"""Noun phrases of a pipeline of spaCy: a small one made here, saved and loaded as a trained one is."""

import json
from pathlib import Path

import pytest

from evaluator.audits.familiarity.noun_phrases import SpacyPhrases
from evaluator.audits.familiarity.reading import Reading, of_phrase
from generator.base.errors import UserError
from tests.evaluator.conftest import assert_one_sentence, score_command

spacy = pytest.importorskip("spacy")
from spacy.language import Language  # noqa: E402
from spacy.tokens import Doc  # noqa: E402

PARTS = {
    "a": "DET",
    "two": "NUM",
    "it": "PRON",
    "small": "ADJ",
    "red": "ADJ",
    "very": "ADV",
    "blue": "ADJ",
    "smiling": "VERB",
    "dogs": "NOUN",
    "car": "NOUN",
    "near": "ADP",
}


@Language.component("jackalope_test_parser")
def parse(doc: Doc) -> Doc:
    """Words before a noun modify it; the first noun is the root."""
    words = [word.text for word in doc]
    parts = [PARTS.get(word.lower(), "X") for word in words]
    nouns = [i for i, part in enumerate(parts) if part in ("NOUN", "PRON")] or [0]
    heads = [
        next((n for n in nouns if n >= i), nouns[0]) if part != "ADP" else nouns[0] for i, part in enumerate(parts)
    ]
    deps = ["ROOT" if i == nouns[0] else "pobj" if i in nouns else "amod" for i in range(len(words))]
    heads = [nouns[0] if i in nouns else head for i, head in enumerate(heads)]
    return Doc(doc.vocab, words=words, pos=parts, heads=heads, deps=deps)


@pytest.fixture
def model(tmp_path: Path) -> str:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("jackalope_test_parser")
    pipeline.to_disk(tmp_path / "model")
    return str(tmp_path / "model")


def test_chunks_lose_what_is_no_attribute(model: str) -> None:
    phrases = SpacyPhrases(model)
    assert phrases("Two very small smiling dogs near a Red car") == ["small smiling dogs", "red car"]
    assert phrases("It near a car") == ["car"]
    assert of_phrase(phrases("a red car")[0]) == [("red", "car")]


def test_the_command_takes_it_and_names_it(model: str, tmp_path: Path) -> None:
    rows = {"0": {"filename": "a.jpg", "caption": "a red car", "negative_caption": "a blue car"}}
    (tmp_path / "swap_att.json").write_text(json.dumps(rows))
    (tmp_path / "corpus.txt").write_text("two red car near a small blue car\n")
    asked = (
        "familiarity",
        f"sugarcrepe:{tmp_path / 'swap_att.json'}",
        "--reference",
        tmp_path / "corpus.txt",
        "--out",
        tmp_path / "out",
    )
    done = score_command(*asked, "--workers", 1, "--extractor", f"spacy:{model}", "--json")
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["extractor"] == f"spacy:{model}"
    assert (summary["bindings"]["positive"]["perfect"], summary["bindings"]["negative"]["close"]) == (1, 1)


def test_counts_of_another_pipeline_have_another_key(model: str) -> None:
    key = Reading(f"spacy:{model}").key
    assert "spaCy" in key
    assert key != Reading().key


def test_what_is_no_pipeline_of_noun_phrases_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"spaCy cannot find noun phrases with 'none' .*; name a pipeline that is installed\."
    ):
        SpacyPhrases("none")
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(UserError, match="cannot find noun phrases"):
        SpacyPhrases(str(tmp_path / "blank"))
    (tmp_path / "t.csv").write_text("item,text,truth\n1,a red car,true\n1,a blue car,false\n")
    (tmp_path / "corpus.txt").write_text("a red car\n")
    asked = (
        "familiarity",
        f"table:{tmp_path / 't.csv'}",
        "--reference",
        tmp_path / "corpus.txt",
        "--out",
        tmp_path / "out",
    )
    assert_one_sentence(score_command(*asked, "--extractor", "spacy:none"), "name a pipeline that is installed")
