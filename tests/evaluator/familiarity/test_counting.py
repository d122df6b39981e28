"""Counts of bindings against a plain loop; stopped and continued; by several processes."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from evaluator.familiarity import counting
from evaluator.familiarity.bindings import of_phrase
from evaluator.familiarity.corpora import Part
from evaluator.familiarity.counting import count_corpus, read_counts
from evaluator.familiarity.farm import Farm, PartCounts
from evaluator.familiarity.noun_phrases import NounPhrases
from evaluator.familiarity.part_counts import Counted
from evaluator.familiarity.reading import EXACT, Reading
from generator.dataset.errors import UserError
from generator.dataset.progress import Callback

STREAM = random.Random(0)
CAPTIONS = [
    f"a {STREAM.choice(['red', 'small old', ''])} {STREAM.choice(['car', 'dogs', 'house'])} near {STREAM.choice(['two', 'a blue'])} "
    f"{STREAM.choice(['cats', 'tree'])}"
    for _ in range(300)
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(CAPTIONS))
    return path


def plain() -> tuple[dict[tuple[str, str], tuple[int, int]], Counted]:
    """Counts by a plain loop."""
    perfect: Counter[tuple[str, str]] = Counter()
    close: Counter[tuple[str, str]] = Counter()
    phrases = [phrase for caption in CAPTIONS for phrase in NounPhrases()(caption)]
    for phrase in phrases:
        bindings = of_phrase(phrase)
        for binding in bindings:
            (perfect if len(bindings) == 1 else close)[binding] += 1
    bare = sum(" " not in phrase for phrase in phrases)
    return {key: (perfect[key], close[key]) for key in perfect | close}, Counted(len(CAPTIONS), len(phrases), bare)


@pytest.mark.parametrize("workers", [1, 2])
def test_counts_are_those_of_a_plain_loop(corpus: Path, tmp_path: Path, workers: int) -> None:
    table, counted = count_corpus(corpus, tmp_path / "out", Farm(workers))
    expected = plain()
    assert (read_counts(table), counted) == expected
    assert list(read_counts(table)) == sorted(expected[0])


def test_a_corpus_is_counted_once_and_a_changed_one_again(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, counted = count_corpus(corpus, tmp_path / "out")
    monkeypatch.setattr(counting, "parts", None)
    assert count_corpus(corpus, tmp_path / "out") == (table, counted)
    monkeypatch.undo()
    corpus.write_text("\n".join(CAPTIONS[:5]))
    other, fewer = count_corpus(corpus, tmp_path / "out")
    assert other != table
    assert fewer.captions == 5
    exact, _ = count_corpus(corpus, tmp_path / "out", reading=Reading(match=EXACT))
    assert exact != other


def test_a_count_that_was_stopped_goes_on_with_what_it_lacks(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = lambda path: counting_parts(path, 40)  # noqa: E731
    from evaluator.familiarity.corpora import parts as counting_parts

    monkeypatch.setattr(counting, "parts", small)
    done: list[int] = []

    class Stopping(Farm):
        """Stops after three parts."""

        def count(self, parts: Iterable[Part], reading: Reading) -> Iterator[PartCounts]:
            for part, *found in super().count(parts, reading):
                if len(done) == 3:
                    raise KeyboardInterrupt
                done.append(part.start)
                yield (part, *found)

    with pytest.raises(KeyboardInterrupt):
        count_corpus(corpus, tmp_path / "out", Stopping())
    counted_now: list[int] = []

    class Noting(Farm):
        """Notes which parts it is given."""

        def count(self, parts: Iterable[Part], reading: Reading) -> Iterator[PartCounts]:
            for part, *found in super().count(parts, reading):
                counted_now.append(part.start)
                yield (part, *found)

    table, counted = count_corpus(corpus, tmp_path / "out", Noting(2))
    assert (read_counts(table), counted) == plain()
    assert done == [0, 40, 80]
    assert sorted(counted_now) == [120, 160, 200, 240, 280]


def test_a_corpus_without_phrases_is_said(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("they are there\n")
    with pytest.raises(UserError, match="no phrase in 1 captions"):
        count_corpus(tmp_path / "corpus.txt", tmp_path / "out")


def test_progress_follows_the_captions_and_parts_go_in_the_end(corpus: Path, tmp_path: Path) -> None:
    followed = []
    table, _ = count_corpus(
        corpus, tmp_path / "out", progress=Callback(lambda name, done, total: followed.append(done))
    )
    assert followed[-1] == len(CAPTIONS)
    assert not (table.parent / "parts").exists()


def test_what_is_no_table_of_counts_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"x")
    with pytest.raises(UserError, match="is no table of pair counts"):
        read_counts(tmp_path / "x.parquet")
