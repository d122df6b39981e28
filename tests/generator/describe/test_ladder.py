"""The paraphrase ladder: distances in words, and what the words mean, by the judge's own reader."""

from collections import Counter
from pathlib import Path

import pytest

from generator.dataset.reader import Benchmark, Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from tests.conftest import once
from tests.generator.unrendered import write_world

SCENES = {"train": 300, "val": 8, "seen": 40, "partial": 30, "unseen": 30}


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world with a benchmark of ladders. Not to be changed."""

    def make(root: Path) -> None:
        prepared = write_world(root, SCENES)
        world = Dataset.open(root).world
        describe_world(
            root,
            world,
            holdout=prepared.holdout,
            name="ladder",
            request=TextRequest(("ladder",), training=("plain",)),
        )

    return once(tmp_path_factory, "ladder", make)


def _triples(benchmark: Benchmark) -> list[tuple[int, dict[str, str]]]:
    """The distance of each item, and its texts by slot."""
    kind_of = {row["item_id"]: row["kind"] for row in benchmark.items_of("ladder").to_pylist()}
    texts: dict[str, dict[str, str]] = {}
    for row in benchmark.candidates.to_pylist():
        if row["item_id"] in kind_of:
            texts.setdefault(row["item_id"], {})[row["slot"]] = benchmark.text_of[row["text_id"]]
    return [(int(kind_of[item].split("-")[0]), of_item) for item, of_item in texts.items()]


def _edits(one: str, other: str, lexicon: Lexicon) -> int:
    """The number of vocabulary words in which two texts of one template differ."""
    first, second = (lexicon.split_words(text)[0] for text in (one, other))
    # "a" and "an" follow from the word after them.
    pairs = zip(first, second, strict=True)
    return sum(a != b and {a.lower(), b.lower()} != {"a", "an"} for a, b in pairs)


def test_paraphrase_and_foil_are_equally_many_words_from_the_caption(ladder: Path) -> None:
    dataset = Dataset.open(ladder)
    lexicon = Lexicon.from_toml(dataset.world.vocabulary_text)
    triples = _triples(dataset.benchmark("ladder"))
    assert {distance for distance, _ in triples} == {1, 2, 3, 4}
    for distance, texts in triples:
        assert _edits(texts["c"], texts["p"], lexicon) == distance
        assert _edits(texts["c"], texts["n"], lexicon) == distance
        assert _edits(texts["p"], texts["n"], lexicon) == 1


def test_the_paraphrase_means_the_same_and_the_foil_differs_in_one_atom(ladder: Path) -> None:
    dataset = Dataset.open(ladder)
    lexicon = Lexicon.from_toml(dataset.world.vocabulary_text)
    for _, texts in _triples(dataset.benchmark("ladder")):
        caption, paraphrase, foil = (read_text(texts[slot], lexicon) for slot in ("c", "p", "n"))
        assert caption == paraphrase
        atoms = [
            Counter((i, *atom) for i, obj in enumerate(meaning.objects) for atom in _atoms(obj))
            for meaning in (caption, foil)
        ]
        assert sum((atoms[0] - atoms[1]).values()) == sum((atoms[1] - atoms[0]).values()) == 1


def _atoms(obj: object) -> list[tuple[str, str]]:
    category, attributes, *_ = obj  # type: ignore[misc]
    return [("category", category), *attributes]


def test_synonyms_are_in_the_caption_as_often_as_in_the_paraphrase(ladder: Path) -> None:
    dataset = Dataset.open(ladder)
    vocabulary = dataset.world.vocabulary_text
    usual = {"caption": 0, "paraphrase": 0}
    triples = _triples(dataset.benchmark("ladder"))
    for _, texts in triples:
        # The usual words are the names in the vocabulary, as keys of the TOML.
        names = {
            slot: sum(f"\n{word.strip('.,')} = " in vocabulary for word in texts[slot].split())
            for slot in ("c", "p")
        }
        usual["caption" if names["c"] > names["p"] else "paraphrase"] += 1
    # Half of each, within four standard deviations of a fair coin.
    assert abs(usual["caption"] - len(triples) / 2) < 2 * len(triples) ** 0.5


def test_a_text_has_one_word_for_each_name(ladder: Path) -> None:
    """A value that both objects have is edited in both or in neither; "a big cube and a large cone"
    gives it away."""
    dataset = Dataset.open(ladder)
    lexicon = Lexicon.from_toml(dataset.world.vocabulary_text)
    n_shared = 0
    for _, texts in _triples(dataset.benchmark("ladder")):
        for text in texts.values():
            words, meanings = lexicon.split_words(text)
            words_of_meaning: dict[object, list[str]] = {}
            for word, (part_of_speech, meaning) in zip(words, meanings, strict=True):
                if part_of_speech in ("value", "noun"):
                    words_of_meaning.setdefault(meaning, []).append(word)
            for same in words_of_meaning.values():
                assert len(set(same)) == 1, text
                n_shared += len(same) > 1
    assert n_shared > 0
