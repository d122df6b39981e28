"""Words of evaluation that no training text has are declared, and no others."""

from pathlib import Path

from generator.base.files import read_json
from tests.generator.judge.datasets import add_text, ask, edit, judged, restate, said

ASKED = {"c": [("a green cube", True)], "n": [("There is a blue cone.", False)]}


def test_a_benchmark_without_training_texts_has_no_unknown_words(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "val", ASKED, protocol="binary", kind="swap")
    assert said(judged(root), "unknown word") == ""


def test_declared_words_are_those_that_training_lacks(copied: Path, benchmark: Path) -> None:
    assert read_json(benchmark / "manifest.json")["unknown_words"] == {}
    assert said(judged(copied), "unknown word") == ""
    restate(copied, unknown_words={"binary": ["red", "cube"], "gzsl": ["photo"]})
    told = said(judged(copied), "unknown word")
    assert "protocol binary: declared as unknown to training, and not so: cube, red" in told
    assert "protocol gzsl: declared as unknown to training, and not so: photo" in told


def test_undeclared_words_of_candidates_and_of_pools_are_named(copied: Path, benchmark: Path) -> None:
    text_id = add_text(benchmark, "There are three spheres, two cones and no cross.")

    def ask_it(rows: list) -> None:
        next(row for row in rows if row["item_id"].startswith("binary") and not row["truth"])["text_id"] = text_id

    edit(benchmark, "candidates", ask_it)
    told = said(judged(copied), "unknown word")
    assert told.startswith("protocol binary: evaluation words that no training text has, undeclared: ")
    assert "three" in told
    pool = [{"pool_id": "grid", "text_id": add_text(benchmark, "a red cube and seven spheres")}]
    edit(benchmark, "pools", lambda rows: rows.extend(pool))
    assert "protocol retrieval: evaluation words" in said(judged(copied), "unknown word")
