"""The balance that a manifest states is compared with the scenes."""

from pathlib import Path
from typing import Any

import pytest

from tests.generator.judge.datasets import judged, make, restate, said

SCENES = {"000000": ["blue cube"], "000001": ["green cone"], "000002": ["blue cone"]}
BALANCE = {"color": {"names": 2, "spread": 1}, "shape": {"names": 2, "spread": 1},
           "color by place": {"names": 2, "spread": 1}, "shape by place": {"names": 2, "spread": 1}}  # fmt: skip


def stating(root: Path, balance: dict[str, Any]) -> Path:
    make(root, SCENES, dict.fromkeys(SCENES, "seen"))
    restate(root, balance=balance)
    return root


def test_the_balance_of_the_scenes_passes(tmp_path: Path) -> None:
    assert judged(stating(tmp_path / "a", {"seen": BALANCE}))["status"] == "clean"


@pytest.mark.parametrize(
    ("balance", "what"),
    [
        ({"seen": {**BALANCE, "color": {"names": 2, "spread": 0}}}, "color is listed as 2 names, 0 apart, the scenes give 2 names, 1 apart"),
        ({"seen": {**BALANCE, "size": {"names": 2, "spread": 0}}}, "size is listed as 2 names, 0 apart, the scenes give nothing"),
        ({}, "split seen: color is listed as nothing"),
    ],
)  # fmt: skip
def test_another_balance_is_named(tmp_path: Path, balance: dict[str, Any], what: str) -> None:
    assert what in said(judged(stating(tmp_path / "a", balance)), "wrong balance")
