"""Groups, held-out facts and counts that differ from the scenes are named."""

from pathlib import Path

from tests.generator.judge.datasets import BENCHMARK, ask, edit, judged, restate, said

ITEM = {"c": [("a green cone", True)], "n": [("a blue cone", False)]}


def test_another_group_is_named(tmp_path: Path) -> None:
    right = "green+red+red|cone+cube+sphere"
    assert judged(ask(tmp_path / "a", "partial", ITEM, cluster_id=right))["status"] == "clean"
    what = said(judged(ask(tmp_path / "b", "partial", ITEM, cluster_id="other")), "wrong group")
    assert what == f"item i is listed in group other, its scene is of {right}"


def test_other_held_out_bindings_are_named(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "partial", ITEM)
    edit(root / "benchmarks" / BENCHMARK, "splits", lambda rows: rows[0].update(held_out_bindings=["red cube"]))
    assert "with the held-out bindings red cube, it shows none" in said(judged(root), "wrong familiarity")


def test_a_wrong_number_of_items_is_named(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "partial", ITEM, protocol="binary", kind="swap")
    restate(root, texts={"items": {"binary swap": 2}})
    assert said(judged(root), "wrong count") == "there are 1 items of binary swap, the manifest says 2"
