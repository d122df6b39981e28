"""What a training changed on benchmarks that it was not trained for: forgetting.json in the model's folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from evaluator.provenance.records import MeasuredRecord
from generator.base.files import read_json, write_json
from generator.base.limits import MOST_LIST

FORGETTING = "forgetting.json"
BEFORE, AFTER = "before", "after"
_LABELS = ("protocol", "metric", "kind", "skill", "level", "n", "split", "error", "average")


class ForgettingRecord(TypedDict):
    """forgetting.json. base: the model that the training started from."""

    base: dict[str, str]
    measured: list[MeasuredRecord]


def read_forgetting(folder: Path) -> list[MeasuredRecord]:
    """What was measured of the model in a folder; nothing where there is no forgetting.json. Raises UserError where it is damaged."""
    path = folder / FORGETTING
    return list(read_json(path, ForgettingRecord, MOST_LIST)["measured"]) if path.exists() else []


def add_forgetting(folder: Path, base: dict[str, str], measured: MeasuredRecord) -> None:
    """Add what was measured on a benchmark to the folder's forgetting.json, in place of an earlier measurement on it."""
    kept = [each for each in read_forgetting(folder) if _benchmark(each) != _benchmark(measured)]
    write_json(folder / FORGETTING, {"base": base, "measured": [*kept, measured]})


def changes(measured: Sequence[MeasuredRecord]) -> list[dict[str, Any]]:
    """A row for each share: its `benchmark` and labels, `items`, and `before` and `after` (0..1, None where nothing was scored)."""
    found = []
    for each in measured:
        before: list[Any] = each["before"]["rows"]
        after: list[Any] = each["after"]["rows"]
        value = {_key(row): row["value"] for row in after}
        found += [
            {
                "benchmark": each["before"]["benchmark"], **{name: row[name] for name in _LABELS}, "items": row["items"],
                BEFORE: row["value"], AFTER: value.get(_key(row)),
            }
            for row in before if row["unit"] == "share"
        ]  # fmt: skip
    return found


def _benchmark(measured: MeasuredRecord) -> str:
    """The digests of a benchmark and its world."""
    return measured["after"]["factors"]["benchmark"]


def _key(row: dict[str, Any]) -> tuple[object, ...]:
    return tuple(row[name] for name in _LABELS)
