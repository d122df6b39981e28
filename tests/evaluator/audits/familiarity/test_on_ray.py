"""Counting on a Ray cluster gives the table that counting here gives, and goes on where either stopped."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from evaluator.audits.familiarity import counting
from evaluator.audits.familiarity.corpora import PHRASES, Part, parts
from evaluator.audits.familiarity.corpus_files import find_corpus
from evaluator.audits.familiarity.counting import Farm, PartCounts, count_corpus
from evaluator.audits.familiarity.reading import Reading
from generator.base.errors import UserError

ray = pytest.importorskip("ray")


@pytest.mark.full
def test_a_cluster_gives_the_same_table_also_after_a_stop(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"a red car and {i} small blue dogs near the tree\n" for i in range(500)))
    corpus = find_corpus([path])
    monkeypatch.setattr(counting, "parts", lambda path: parts(path, 40))
    here, counted = count_corpus(corpus, tmp_path / "here")

    class Stopping(Farm):
        """Stops after four parts."""

        def count(self, parts: Iterable[Part], reading: Reading) -> Iterator[PartCounts]:
            for i, each in enumerate(super().count(parts, reading)):
                if i == 4:
                    raise KeyboardInterrupt
                yield each

    with pytest.raises(KeyboardInterrupt):
        count_corpus(corpus, tmp_path / "there", Stopping(2, True, cluster))
    there, again = count_corpus(corpus, tmp_path / "there", Farm(None, True, cluster))
    assert there.read_bytes() == here.read_bytes()
    assert again == counted
    assert counted.captions == 500


@pytest.mark.full
def test_a_node_that_cannot_count_is_said(cluster: str) -> None:
    broken = [Part(Path("x"), 0, PHRASES, [None])]  # type: ignore[list-item]
    with pytest.raises(UserError, match=r"A Ray worker cannot count: .*installed on every node"):
        list(Farm(2, True, cluster).count(broken, Reading()))


@pytest.mark.full
def test_an_address_without_a_cluster_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("item,text,truth\n1,a red car,true\n1,a blue car,false\n")
    (tmp_path / "corpus.txt").write_text("a red car\n")
    asked = [
        "familiarity",
        f"table:{tmp_path / 't.csv'}",
        "--reference",
        tmp_path / "corpus.txt",
        "--out",
        tmp_path / "out",
    ]
    code = "from evaluator.cli.main import main; main(prog_name='score')"
    command = [sys.executable, "-c", code, *map(str, asked), "--farm", "ray", "--address", "127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no Ray cluster answers there" in done.stderr
    assert "Traceback" not in done.stderr
