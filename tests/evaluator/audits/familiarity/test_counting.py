"""Counts of bindings against a plain loop; stopped and continued; by several processes."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from evaluator.audits.familiarity import counting
from evaluator.audits.familiarity.corpora import NO_CAPTION, NO_JSON, Part, parts
from evaluator.audits.familiarity.corpus_files import Corpus, find_corpus
from evaluator.audits.familiarity.counting import Counted, Farm, PartCounts, count_corpus
from evaluator.audits.familiarity.noun_phrases import NounPhrases
from evaluator.audits.familiarity.pair_counts import PAIR_COUNTS
from evaluator.audits.familiarity.reading import EXACT, Reading, of_phrase
from generator.base.errors import UserError
from generator.base.progress import Callback

STREAM = random.Random(0)
CAPTIONS = [
    f"a {STREAM.choice(['red', 'small old', ''])} {STREAM.choice(['car', 'dogs', 'house'])} near "
    f"{STREAM.choice(['two', 'a blue'])} "
    f"{STREAM.choice(['cats', 'tree'])}"
    for _ in range(300)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(CAPTIONS))
    return path


@pytest.fixture
def corpus(path: Path) -> Corpus:
    return find_corpus([path])


def read(table: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """All of a table."""
    columns = (pq.read_table(table)[name].to_pylist() for name in PAIR_COUNTS.names)
    return {(attr, obj): (perfect, close) for attr, obj, perfect, close in zip(*columns, strict=True)}


def plain() -> tuple[dict[tuple[str, str], tuple[int, int]], Counted]:
    """Counts by a plain loop."""
    perfect: Counter[tuple[str, str]] = Counter()
    close: Counter[tuple[str, str]] = Counter()
    extract = NounPhrases()
    phrases = [phrase for caption in CAPTIONS for phrase in extract(caption)]
    for phrase in phrases:
        bindings = of_phrase(phrase)
        for binding in bindings:
            (perfect if len(bindings) == 1 else close)[binding] += 1
    bare = sum(" " not in phrase for phrase in phrases)
    return {key: (perfect[key], close[key]) for key in perfect | close}, Counted(len(CAPTIONS), len(phrases), bare)


@pytest.mark.parametrize("workers", [1, 2])
def test_counts_are_those_of_a_plain_loop(corpus: Corpus, tmp_path: Path, workers: int) -> None:
    table, counted = count_corpus(corpus, tmp_path / "out", Farm(workers))
    expected = plain()
    assert (read(table), counted) == expected
    assert list(read(table)) == sorted(expected[0])


def test_a_file_is_counted_once_and_a_changed_one_again(
    path: Path, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, counted = count_corpus(corpus, tmp_path / "out")
    monkeypatch.setattr(counting, "parts", None)
    assert count_corpus(corpus, tmp_path / "out") == (table, counted)
    monkeypatch.undo()
    path.write_text("\n".join(CAPTIONS[:5]))
    other, fewer = count_corpus(corpus, tmp_path / "out")
    assert other != table
    assert fewer.captions == 5
    exact, _ = count_corpus(corpus, tmp_path / "out", reading=Reading(match=EXACT))
    assert exact != other


def test_a_corpus_that_grows_counts_its_new_files_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    read_now: list[str] = []

    def noting(file: Path) -> Iterator[Part]:
        read_now.append(file.name)
        return parts(file)

    monkeypatch.setattr(counting, "parts", noting)
    for i in range(3):
        (folder / f"{i}.txt").write_text("\n".join(CAPTIONS[100 * i : 100 * i + 100]))
        table, counted = count_corpus(find_corpus([folder]), tmp_path / "out")
        assert counted.captions == 100 * i + 100
    assert read_now == ["0.txt", "1.txt", "2.txt"]
    assert (read(table), counted) == plain()
    again, some = count_corpus(find_corpus([folder / "2.txt", folder / "0.txt"]), tmp_path / "out")
    once, same = count_corpus(find_corpus([folder / "0.txt", folder / "2.txt"]), tmp_path / "other")
    assert (again.read_bytes(), some, len(read_now)) == (once.read_bytes(), same, 5)


def test_tables_of_counts_are_summed_with_what_is_counted(corpus: Corpus, path: Path, tmp_path: Path) -> None:
    table, counted = count_corpus(corpus, tmp_path / "out")
    published = tmp_path / "published.csv"
    published.write_text("attr,obj_lemma,perfect_count,close_count\nred,car,5,6\nnew,thing,0,1\n")
    both, total = count_corpus(find_corpus([path, published, table]), tmp_path / "out")
    expected = {key: (2 * perfect, 2 * close) for key, (perfect, close) in read(table).items()}
    perfect, close = expected[("red", "car")]
    assert read(both) == {**expected, ("red", "car"): (perfect + 5, close + 6), ("new", "thing"): (0, 1)}
    assert total == counted + Counted(tables=2)
    alone, nothing = count_corpus(find_corpus([published]), tmp_path / "out")
    assert read(alone) == {("red", "car"): (5, 6), ("new", "thing"): (0, 1)}
    assert nothing == Counted(tables=1)


def test_a_count_that_was_stopped_goes_on_with_what_it_lacks(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(counting, "parts", lambda file: parts(file, 40))
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
        count_corpus(find_corpus([Path(path.name)]), tmp_path / "out", Stopping())
    counted_now: list[int] = []

    class Noting(Farm):
        """Notes which parts it is given."""

        def count(self, parts: Iterable[Part], reading: Reading) -> Iterator[PartCounts]:
            for part, *found in super().count(parts, reading):
                counted_now.append(part.start)
                yield (part, *found)

    table, counted = count_corpus(find_corpus([path]), tmp_path / "out", Noting(2))
    assert (read(table), counted) == plain()
    assert done == [0, 40, 80]
    assert sorted(counted_now) == [120, 160, 200, 240, 280]


def test_a_corpus_without_phrases_is_refused_with_the_reasons(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"caption": "they are there"}\n{"url": 1}\n{"url": 2}\n{')
    with pytest.raises(
        UserError, match=rf"no phrase in 1 captions \(left out: 2 {NO_CAPTION}, 1 {NO_JSON}\); give captions in English"
    ):
        count_corpus(find_corpus([tmp_path / "corpus.jsonl"]), tmp_path / "out")


def test_progress_follows_the_captions(corpus: Corpus, tmp_path: Path) -> None:
    followed = []
    count_corpus(corpus, tmp_path / "out", progress=Callback(lambda name, done, total: followed.append(done)))
    assert followed[-1] == len(CAPTIONS)


def test_counts_inside_a_corpus_are_no_part_of_it(path: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert count_corpus(find_corpus([tmp_path]), tmp_path / "counts [1]*'s")[1] == plain()[1]
