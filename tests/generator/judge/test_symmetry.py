"""Unequal familiarity of true and false texts is named."""

from pathlib import Path

import pyarrow.parquet as pq

from tests.generator.judge.datasets import Rows, ask, edit, held_out, judged, restate, said


def test_an_asymmetric_item(copied: Path, benchmark: Path) -> None:
    value, thing = held_out(benchmark)

    def plant(rows: Rows) -> None:
        seen = {
            row["scene_id"] for row in pq.read_table(benchmark / "splits.parquet").to_pylist() if row["split"] == "seen"
        }
        foils = [row for row in rows if row["scene_id"] in seen and not row["truth"]]
        texts = {row["text"]: row["text_id"] for row in pq.read_table(benchmark / "texts.parquet").to_pylist()}
        foils[0]["text_id"] = next(text_id for text, text_id in texts.items() if f"{value} {thing}" in text)

    edit(benchmark, "candidates", plant)
    assert "its true texts name 0 held-out bindings, its false ones" in said(judged(copied), "asymmetric familiarity")


def test_familiarity_is_compared_within_each_question(tmp_path: Path) -> None:
    questions = {
        "c": [("a red cube and a green cone", True)],
        "p": [("There is a red cube and a green cone.", True)],
        "n": [("a red sphere and a blue cone", False)],
        "d1": [("There is a green cone in the image.", True), ("There is a blue cone in the image.", False)],
    }
    assert (
        judged(ask(tmp_path / "a", "partial", questions, held_out_positive=1, held_out_negative=1))["status"] == "clean"
    )
    questions["d2"] = [("There is a red cube.", True), ("There is a blue cube.", False)]
    certificate = judged(ask(tmp_path / "b", "partial", questions, held_out_positive=1, held_out_negative=1))
    assert certificate["faults"] == {"asymmetric familiarity": 1}
    assert "its true texts name 1 held-out bindings, its false ones 0 held-out bindings" in said(
        certificate, "asymmetric familiarity"
    )
    questions["p"] = [("There is a green cone.", True)]
    certificate = judged(ask(tmp_path / "c", "partial", questions, held_out_positive=2))
    assert certificate["faults"] == {"asymmetric familiarity": 2, "wrong familiarity": 1}
    assert "its true texts name 0 held-out bindings or 1 held-out bindings" in said(
        certificate, "asymmetric familiarity"
    )


def test_familiarity_that_is_declared_unequal_is_not_compared(tmp_path: Path) -> None:
    questions = {"c": [("a red cube", True)], "n": [("a blue cube", False)]}
    root = ask(tmp_path / "a", "partial", questions, held_out_positive=1, held_out_negative=0)
    assert judged(root)["faults"] == {"asymmetric familiarity": 1}
    restate(root, equal_familiarity=False, declared_leaks=["unequal"])
    certificate = judged(root)
    assert certificate["status"] == "as declared"
    assert "symmetric" not in certificate["sentence"]
