"""Checks minimal pairs: the two scenes differ only in what two of their objects have exchanged."""

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from generator.judge.findings import Finding, finding

_COLUMNS = ("scene_id", "twin_of", "status", "scene")


class Twins:
    """Reads the scenes table in order; a twin comes right after its scene."""

    def __init__(self) -> None:
        self._before: tuple[Any, ...] = (None,) * len(_COLUMNS)

    def faults(self, table: pa.Table) -> Iterator[Finding]:
        """Faults of the twins in the next rows of the table."""
        for row in zip(*(table[name].to_pylist() for name in _COLUMNS), strict=True):
            scene_id, twin_of, status, record = row
            other_id, _, other_status, other_record = self._before
            self._before = row
            if twin_of is None:
                continue
            if twin_of != other_id:
                yield finding(
                    "wrong twin", f"scene {scene_id} is listed as the twin of {twin_of}, which does not stand before it"
                )
            elif status == other_status == "ok" and (fault := _difference(record, other_record)):
                yield finding("wrong twin", f"scene {scene_id} is listed as the twin of {twin_of}, but {fault}")


def _difference(record: str, other_record: str) -> str | None:
    """How two records differ where a minimal pair must not; None for unreadable records, which World reports."""
    try:
        scene, other = json.loads(record), json.loads(other_record)
        for part in ("camera", "lamps", "environment"):
            if scene[part] != other[part]:
                return f"not with the same {part}"
        return _objects(scene["objects"], other["objects"])
    except (ValueError, KeyError, TypeError):
        return None


def _objects(things: list[dict[str, Any]], others: list[dict[str, Any]]) -> str | None:
    if len(things) != len(others):
        return f"it has {len(things)} objects, not {len(others)}"
    differing = [i for i in range(len(things)) if things[i] != others[i]]
    if len(differing) != 2:
        return f"{len(differing)} of its objects are not the same, not two"
    i, j = differing
    if things[i]["position"] != others[i]["position"] or things[j]["position"] != others[j]["position"]:
        return "its objects do not stand in the same places"
    moved = _appearance(things[i]) == _appearance(others[j]) and _appearance(things[j]) == _appearance(others[i])
    if moved or _exchanged_value(things[i], things[j], others[i], others[j]):
        return None
    return "its two objects have not exchanged one value, nor their places"


def _appearance(thing: dict[str, Any]) -> tuple[str, dict[str, str]]:
    return thing["category"], thing["attributes"]


def _exchanged_value(
    one: dict[str, Any], two: dict[str, Any], other_one: dict[str, Any], other_two: dict[str, Any]
) -> bool:
    """Whether two objects kept their poses and exchanged the values of one attribute kind."""
    still = all(
        now["category"] == then["category"] and now["heading"] == then["heading"]
        for now, then in ((one, other_one), (two, other_two))
    )
    changed = [kind for kind, value in one["attributes"].items() if value != other_one["attributes"].get(kind)]
    if not still or len(changed) != 1:
        return False
    kind = changed[0]
    return one["attributes"] == {**other_one["attributes"], kind: other_two["attributes"][kind]} and two[
        "attributes"
    ] == {**other_two["attributes"], kind: other_one["attributes"][kind]}
