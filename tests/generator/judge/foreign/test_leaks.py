"""Arrangements and images in two splits, and exposed bindings, are named."""

import json
from itertools import permutations
from pathlib import Path

from generator.judge.foreign.label_tables import SplitRoles
from tests.generator.judge.foreign.label_files import (
    LEAKING,
    THREE,
    grid,
    judged,
    rows,
    said,
)


def test_the_three_converse_leaks_are_named(tmp_path: Path) -> None:
    found = judged(tmp_path / "splits.json", json.dumps(LEAKING))
    assert found["faults"] == {"converse leak": 3}
    assert said(found, "converse leak") == THREE
    assert found["status"] == "failed"


def test_a_split_over_ordered_pairs_leaks(tmp_path: Path) -> None:
    """A random split over ordered pairs puts one arrangement into two splits, in two orders of mention."""
    colors, animals = grid()
    scenes = [(*pair, *paint) for pair in permutations(animals[:6], 2) for paint in permutations(colors[:4], 2)]
    lines = [f"{a},{b},{x},{y},{'train' if n % 3 else 'test'}" for n, (a, b, x, y) in enumerate(scenes)]
    found = judged(tmp_path / "a.csv", rows("first,second,first.color,second.color,split", *lines))
    side = {(a, b, x, y): n % 3 == 0 for n, (a, b, x, y) in enumerate(scenes)}
    leaks = sum(side[a, b, x, y] != side[b, a, y, x] for a, b, x, y in scenes) // 2
    assert leaks > 50
    assert found["faults"]["reordered leak"] == leaks
    assert len(said(found, "reordered leak")) == 21
    assert any("paired otherwise in another split" in note for note in found["notes"])


def test_the_same_words_and_the_same_image_in_two_splits(tmp_path: Path) -> None:
    table = rows("caption,split,filename", "a red cube,train,1.png", "Red  cube,test,2.png", "a blue cube,test,1.png",
                 "a photo of a green cone,train,3.png", "a green cone,train,3.png")  # fmt: skip
    found = judged(tmp_path / "a.csv", table)
    assert said(found, "shared arrangement") == ['"a red cube" (train, line 2) = "red cube" (test, line 3)']
    assert said(found, "shared image") == ["1.png (train, line 2; test, line 4)"]
    assert found["faults"] == {"shared arrangement": 1, "shared image": 1}


def test_splits_that_are_meant_to_show_the_same(tmp_path: Path) -> None:
    table = rows("label,split", "red cube,train", "red cube,id_val", "red cone,ood", "red cube,ood")
    found = judged(tmp_path / "a.csv", table, roles=SplitRoles(familiar=("id_val",)))
    assert len(said(found, "shared arrangement")) == 1
    assert "(ood, line 5)" in said(found, "shared arrangement")[0]
    clean = judged(tmp_path / "a.csv", table.replace("red cube,ood\n", ""), roles=SplitRoles(familiar=("id_val",)))
    assert clean["status"] == "clean"
