"""forgetting.json: one measurement for each benchmark, and the shares before and after."""

from pathlib import Path
from typing import Any

import pytest

from evaluator.provenance.forgetting import add_forgetting, changes, read_forgetting
from generator.base.errors import UserError

LABELS: dict[str, Any] = dict.fromkeys(("kind", "skill", "level", "n", "error", "average"))


def results(digest: str, **values: float | None) -> Any:
    rows = [
        {**LABELS, "protocol": "binary", "metric": "accuracy", "split": split, "unit": "share", "items": 4, "value": value}
        for split, value in values.items()
    ]  # fmt: skip
    gap = {**LABELS, "protocol": "binary", "metric": "accuracy", "split": "seen - unseen", "unit": "difference", "items": 4, "value": 0.1}  # fmt: skip
    return {"benchmark": f"b{digest}", "factors": {"benchmark": digest}, "rows": [*rows, gap]}


def measured(digest: str, before: float, after: float | None) -> Any:
    return {"before": results(digest, seen=before), "after": results(digest, seen=after)}


def test_a_benchmark_is_measured_once(tmp_path: Path) -> None:
    assert read_forgetting(tmp_path) == []
    base = {"model": "m", "weights_sha256": "0"}
    for each in (measured("1", 0.5, 0.4), measured("2", 0.6, None), measured("1", 0.5, 0.3)):
        add_forgetting(tmp_path, base, each)
    assert read_forgetting(tmp_path) == [measured("2", 0.6, None), measured("1", 0.5, 0.3)]
    (tmp_path / "forgetting.json").write_text('{"base": {}}')
    with pytest.raises(UserError, match=r"forgetting\.json is damaged: it lacks 'measured'|forgetting\.json"):
        read_forgetting(tmp_path)


def test_changes_are_those_of_equal_rows() -> None:
    found = measured("1", 0.5, 0.25)
    found["after"]["rows"].reverse()
    del found["after"]["rows"][0]
    (row,) = changes([found])
    assert (row["benchmark"], row["protocol"], row["split"], row["items"]) == ("b1", "binary", "seen", 4)
    assert (row["before"], row["after"]) == (0.5, 0.25)
    assert changes([{"before": results("1", seen=0.5), "after": results("1", unseen=0.5)}])[0]["after"] is None
