"""Training data are the items of protocol train over scenes of split train, by every reading."""

from pathlib import Path

from tests.generator.judge.datasets import BENCHMARK, ask, edit, judged, said

ITEM = {"c": [("a green cone", True)]}


def test_an_item_trains_in_its_own_split_alone(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "partial", ITEM, protocol="train", kind="plain")
    told = said(judged(root), "training outside train")
    assert "item i is of the protocol train and in the split partial" in told
    assert "item i trains on scene 000001, which is in partial" in told


def test_an_item_in_the_split_train_is_of_the_protocol_train(tmp_path: Path) -> None:
    root = ask(tmp_path / "a", "val", ITEM, protocol="binary", kind="swap", split="train")
    edit(
        root / "benchmarks" / BENCHMARK,
        "splits",
        lambda rows: [row.update(split="train") for row in rows if row["scene_id"] == "000003"],
    )
    told = said(judged(root), "training outside train")
    assert told == "item i is in the split train and of the protocol binary"
