"""Images, candidates and questions that occur twice are named."""

from pathlib import Path

from tests.generator.judge.datasets import BENCHMARK, CROWDS, ask, edit, judged, make, said, seal

ITEM = {"c": [("a green cone", True)], "n": [("a blue cone", False)]}


def test_two_scenes_of_a_split_have_two_images(tmp_path: Path) -> None:
    root = make(tmp_path / "a", CROWDS | {"000004": ["blue cube"]}, {"000003": "val", "000004": "val"})
    assert judged(root)["status"] == "clean"
    images = root / "world/images"
    (images / "000004.png").write_bytes((images / "000003.png").read_bytes())
    seal(root / "world")
    assert "scenes 000003 and 000004 of val have one image" in said(judged(root), "repeated image")


def test_a_candidate_stands_once(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "partial", ITEM)
    edit(root / "benchmarks" / BENCHMARK, "candidates", lambda rows: rows.append(rows[0]))
    assert said(judged(root), "repeated candidate") == "item i has 'a green cone' with scene 000001 in the slot c twice"


def test_a_question_is_asked_once(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "partial", ITEM, protocol="binary", kind="swap")
    folder = root / "benchmarks" / BENCHMARK
    edit(folder, "items", lambda rows: rows.append({**rows[0], "item_id": "j"}))
    edit(folder, "candidates", lambda rows: rows.extend([{**row, "item_id": "j"} for row in list(rows)]))
    assert said(judged(root), "repeated item") == "items i and j ask the same question"
