"""Counts of bindings against a plain loop; stopped and continued; by several processes and on Ray;
tables of counts."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.audits.familiarity import counting
from evaluator.audits.familiarity.corpora import (
    CAPTIONS,
    EMPTY,
    NO_CAPTION,
    NO_JSON,
    PHRASES,
    TextPart,
    parts,
    read_parts,
)
from evaluator.audits.familiarity.corpus_files import Corpus, find_corpus
from evaluator.audits.familiarity.counting import (
    PAIR_COUNTS,
    CorpusCounts,
    Farm,
    PartCounts,
    TextCounts,
    count_corpus,
    count_texts,
    is_table,
    read_counts,
    read_table,
)
from evaluator.provenance.captions import DEFAULT, EXACT, Reading
from evaluator.provenance.noun_phrases import NounPhrases
from generator.base.errors import UserError
from generator.base.progress import Callback
from tests.conftest import run_process

STREAM = random.Random(0)
TEXTS = [
    f"a {STREAM.choice(['red', 'small old', ''])} {STREAM.choice(['car', 'dogs', 'house'])} near "
    f"{STREAM.choice(['two', 'a blue'])} {STREAM.choice(['cats', 'tree'])}"
    for _ in range(300)
]
HEAD = "attr,obj_lemma,perfect_count,close_count\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(TEXTS))
    return path


@pytest.fixture
def corpus(path: Path) -> Corpus:
    return find_corpus([path])


def read(table: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """All of a table."""
    rows = (row.values() for row in pq.read_table(table).to_pylist())
    return {(attr, obj): (perfect, close) for attr, obj, perfect, close in rows}


def plain() -> tuple[dict[tuple[str, str], tuple[int, int]], TextCounts]:
    """Counts by a plain loop."""
    perfect, close = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    extract = NounPhrases()
    phrases = [phrase for caption in TEXTS for phrase in extract(caption)]
    for phrase in phrases:
        bindings = DEFAULT.of_phrase(phrase)
        for binding in bindings:
            (perfect if len(bindings) == 1 else close)[binding] += 1
    bare = sum(" " not in phrase for phrase in phrases)
    return {key: (perfect[key], close[key]) for key in perfect | close}, TextCounts(
        len(TEXTS), len(phrases), bare
    )


def of_part(kind: str, *texts: str) -> tuple[list[tuple[Any, ...]], TextCounts]:
    """The rows and what was counted of a part."""
    table, counted = count_texts(TextPart(Path("x"), 0, kind, list(texts)), DEFAULT)
    assert table.schema == PAIR_COUNTS
    return [tuple(row.values()) for row in table.to_pylist()], counted


def test_phrases_and_captions_of_a_part_are_counted() -> None:
    rows, counted = of_part(PHRASES, "red cars", "red car", "small red car", "car")
    assert (rows, counted) == ([("red", "car", 2, 1), ("small", "car", 0, 1)], TextCounts(0, 4, 1))
    rows, counted = of_part(CAPTIONS, "a red car near a tree", "they wait")
    assert (rows, counted) == ([("red", "car", 1, 0)], TextCounts(2, 2, 1))
    assert counted + TextCounts(1, 2, 3, 4, {"a": 1}) + TextCounts(left_out={"a": 2}) == TextCounts(
        3, 4, 4, 4, {"a": 3}
    )
    rows, counted = of_part(
        PHRASES, "red red car", "", " ", "日本"
    )  # the number of words decides what is perfect
    assert (rows, counted) == ([("red", "car", 0, 1)], TextCounts(0, 1, 0, left_out={EMPTY: 3}))
    assert of_part(PHRASES) == ([], TextCounts())


def test_counts_are_those_of_a_plain_loop(corpus: Corpus, tmp_path: Path) -> None:
    followed: list[int] = []
    progress = Callback(lambda name, done, total: followed.append(done))
    table, counted = count_corpus(corpus, tmp_path / "out", progress=progress)
    expected = plain()
    assert (read(table), counted) == expected
    assert list(read(table)) == sorted(expected[0])
    assert followed[-1] == len(TEXTS)


def test_a_file_is_counted_once_and_a_changed_one_again(
    corpus: Corpus, path: Path, tmp_path: Path
) -> None:
    table, counted = count_corpus(corpus, tmp_path / "out")
    assert count_corpus(corpus, tmp_path / "out", Farm(0)) == (table, counted)  # nobody counts
    exact, _ = count_corpus(corpus, tmp_path / "out", reading=Reading(match=EXACT))
    path.write_text("\n".join(TEXTS[:5]))
    other, fewer = count_corpus(corpus, tmp_path / "out")
    assert len({table, exact, other}) == 3
    assert fewer.captions == 5
    # counts inside a corpus are no part of it
    for _ in range(2):
        assert count_corpus(find_corpus([tmp_path]), tmp_path / "counts [1]*'s")[1] == fewer


class Noting:
    """A farm that notes which parts it has counted, and stops after some."""

    def __init__(self, farm: Farm, stop: int = 1000):
        self.farm, self.stop, self.done = farm, stop, list[int]()

    def count(self, parts: Iterable[TextPart], reading: Reading) -> Iterator[PartCounts]:
        for part, *counts in self.farm.count(parts, reading):
            if len(self.done) == self.stop:
                raise KeyboardInterrupt
            self.done.append(part.start)
            yield (part, *counts)


def test_a_corpus_that_grows_reads_its_new_files_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, read_now = tmp_path / "corpus", list[Path]()
    folder.mkdir()
    files = [folder / f"{i}.txt" for i in range(3)]

    def noting(missing: Iterable[Path], sees: Sequence[Path]) -> Iterator[TextPart]:
        for file in missing:
            read_now.append(file)
            yield from parts(file)

    monkeypatch.setattr(counting, "read_parts", noting)
    for i, file in enumerate(files):
        file.write_text("\n".join(TEXTS[100 * i : 100 * i + 100]))
        table, counted = count_corpus(find_corpus([folder]), tmp_path / "out")
        assert counted.captions == 100 * i + 100
    assert read_now == files
    assert (read(table), counted) == plain()
    second, some = count_corpus(find_corpus([files[2], files[0]]), tmp_path / "out")
    once, same = count_corpus(find_corpus([files[0], files[2]]), tmp_path / "other")
    assert (second.read_bytes(), some, len(read_now)) == (once.read_bytes(), same, 5)


def test_a_count_that_was_stopped_goes_on_with_what_it_lacks(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    monkeypatch.setattr(counting, "read_parts", lambda files, sees: read_parts(files, sees, 40))
    with pytest.raises(KeyboardInterrupt):
        count_corpus(
            find_corpus([Path(path.name)]), tmp_path / "out", stopped := Noting(Farm(1), 3)
        )
    table, counted = count_corpus(find_corpus([path]), tmp_path / "out", rest := Noting(Farm(2)))
    assert (read(table), counted) == plain()
    assert stopped.done == [0, 40, 80]
    assert sorted(rest.done) == [120, 160, 200, 240, 280]


def test_a_corpus_without_phrases_is_refused_with_the_reasons(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        '{"caption": "they are there"}\n{"url": 1}\n{"url": 2}\n{'
    )
    message = rf"no phrase in 1 captions \(left out: 2 {NO_CAPTION}, 1 {NO_JSON}\); give captions in English"
    with pytest.raises(UserError, match=message):
        count_corpus(find_corpus([tmp_path / "corpus.jsonl"]), tmp_path / "out")


def test_tables_of_counts_are_summed_with_what_is_counted(
    corpus: Corpus, path: Path, tmp_path: Path
) -> None:
    table, counted = count_corpus(corpus, tmp_path / "out")
    published = tmp_path / "published.csv"
    published.write_text(f"\ufeff{HEAD}red,car,5,6\nnull,thing,0,1\n")
    both, total = count_corpus(find_corpus([path, published, table]), tmp_path / "out")
    expected = {key: (2 * perfect, 2 * close) for key, (perfect, close) in read(table).items()}
    perfect, close = expected[("red", "car")]
    assert read(both) == {
        **expected,
        ("red", "car"): (perfect + 5, close + 6),
        ("null", "thing"): (0, 1),
    }
    assert total == counted + TextCounts(tables=2)
    alone, nothing = count_corpus(find_corpus([published]), tmp_path / "out")
    assert read(alone) == {("red", "car"): (5, 6), ("null", "thing"): (0, 1)}
    assert nothing == TextCounts(tables=1)


def write(path: Path, rows: list[tuple[str, str, int, int]]) -> Path:
    pq.write_table(pa.table([*zip(*rows, strict=True)], schema=PAIR_COUNTS), path)
    return path


def test_only_what_is_asked_is_kept_and_all_is_counted(tmp_path: Path) -> None:
    many = [(f"a{i}", "car", i, 1) for i in range(1000)]
    table = write(
        tmp_path / "t.parquet",
        [*many, ("of", "birds", 1, 0), ("the", "car", 1, 0), ("red", "bus", 2, 3)],
    )
    bindings = {("a7", "car"), ("red", "bus"), ("blue", "bus"), ("a7", "bus")}
    assert read_counts(table, bindings) == CorpusCounts(
        {("a7", "car"): (7, 1), ("red", "bus"): (2, 3)}, 1003, 2
    )
    assert read_counts(table, set()) == CorpusCounts({}, 1003, 2)


def test_a_table_of_captions_is_no_table_of_counts(tmp_path: Path) -> None:
    pq.write_table(pa.table({"caption": ["a"]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_text("x")
    assert is_table(write(tmp_path / "t.parquet", [("a", "b", 1, 1)]))
    assert not any(is_table(tmp_path / name) for name in ("a.parquet", "b.parquet", "c.txt"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attr,obj_lemma,perfect_count\na,b,1\n", "close_count"),
        (f"{HEAD}a,b,1,x\n", "is not a table of counts"),
        ("", "is not a table of counts"),
        (HEAD, "t.csv has no row"),
        (f"{HEAD}a,b,1,-1\n", "negative count"),
        (f"{HEAD}a,b,1,\n", "negative count"),
    ],
)
def test_a_file_that_is_not_a_table_of_counts_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        list(read_table(tmp_path / "t.csv"))
    (tmp_path / "x.parquet").write_bytes(b"x")
    with pytest.raises(UserError, match=r"x.parquet is damaged"):
        read_counts(tmp_path / "x.parquet", set())


def test_a_farm_counts_each_part_once_and_reads_few_ahead() -> None:
    read_ahead: list[int] = []

    def noting() -> Iterator[TextPart]:
        for start in range(9):
            read_ahead.append(start)
            yield TextPart(Path("x"), start, PHRASES, ["red car"] * (start + 1))

    counts = Farm(2).count(noting(), DEFAULT)
    first = next(counts)
    assert len(read_ahead) == 5
    counts_of = {
        part.start: table["perfect_count"].to_pylist() for part, table, _ in (first, *counts)
    }
    assert counts_of == {start: [start + 1] for start in range(9)}


KILLED = """
import os, sys
from itertools import count
from pathlib import Path
from evaluator.audits.familiarity.corpora import PHRASES, TextPart
from evaluator.audits.familiarity.counting import Farm
from evaluator.provenance.captions import DEFAULT
if __name__ == "__main__":
    for _ in Farm(2).count((TextPart(Path("x"), i, PHRASES, ["red car"]) for i in count()), DEFAULT):
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
        print(children, flush=True)
        sys.stdin.read()
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="lists processes as Linux does")
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(KILLED)
    command = [sys.executable, tmp_path / "killed.py"]
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    ) as parent:
        assert parent.stdout
        children = parent.stdout.readline().split()
        parent.kill()
    assert len(children) >= 3  # two workers, and multiprocessing's tracker of resources
    for _ in range(200):
        if not any(map(_runs, children)):
            return
        time.sleep(0.05)
    for child in filter(_runs, children):
        os.kill(int(child), signal.SIGKILL)
    pytest.fail("processes outlive their parent")


def _runs(process: str) -> bool:
    """Whether there is the process, other than as one that ended and that nobody has waited for."""
    try:
        return ") Z" not in Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.full
def test_a_cluster_gives_the_same_table_also_after_a_stop(
    cluster: str, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "read_parts", lambda files, sees: read_parts(files, sees, 40))
    here, counted = count_corpus(corpus, tmp_path / "here")
    with pytest.raises(KeyboardInterrupt):
        count_corpus(corpus, tmp_path / "there", Noting(Farm(2, True, cluster), 4))
    there, second = count_corpus(corpus, tmp_path / "there", Farm(None, True, cluster))
    assert there.read_bytes() == here.read_bytes()
    assert second == counted


@pytest.mark.full
def test_a_node_that_cannot_count_is_named(cluster: str) -> None:
    broken = [TextPart(Path("x"), 0, PHRASES, [None])]  # type: ignore[list-item]
    with pytest.raises(UserError, match=r"A Ray worker cannot count: .*installed on every node"):
        list(Farm(2, True, cluster).count(broken, Reading()))


@pytest.mark.full
def test_an_address_without_a_cluster_is_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    (tmp_path / "t.csv").write_text("item,text,truth\n1,a red car,true\n1,a blue car,false\n")
    (tmp_path / "corpus.txt").write_text("a red car\n")
    arguments = (
        "familiarity",
        f"table:{tmp_path / 't.csv'}",
        "--reference",
        tmp_path / "corpus.txt",
    )
    done = run_process(
        "score", *arguments, "--out", tmp_path / "out", "--farm", "ray", "--address", "127.0.0.1:1"
    )
    assert (done.returncode, "no Ray cluster answers there" in done.stderr) == (2, True)
    assert "Traceback" not in done.stderr
