"""Whether values and objects are as evenly spread over each split as the manifest says."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from generator.judge.case import Case
from generator.judge.files import Finding, finding

BY_PLACE = "by place"


def spread_findings(case: Case) -> Iterator[Finding]:
    """Numbers of the manifest's `balance` that the scenes do not bear out; without it there is nothing to judge."""
    listed = case.manifest.get("balance")
    if listed is None:
        return
    found = _spreads(case)
    for split in sorted({*listed} | {*found}):
        told, own = listed.get(split, {}), found.get(split, {})
        for name in sorted({*told} | {*own}):
            if told.get(name) != own.get(name):
                yield finding(
                    "wrong balance",
                    f"split {split}: {name} is listed as {_words(told.get(name))}, the scenes give {_words(own.get(name))}",
                )


def _spreads(case: Case) -> dict[str, dict[str, dict[str, int]]]:
    kind, category = case.held_out.kind, case.held_out.category
    tables: dict[str, dict[str, dict[object, Counter[str]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(Counter))
    )
    for scene_id, split in case.split_of.items():
        if split is None or scene_id not in case.world.shown:
            continue
        table = tables[split]
        for place, (thing, values) in enumerate(case.world.shown[scene_id].objects):
            value = values.get(kind, "")
            for name, told in ((kind, value), (category, thing)):
                table[name][None][told] += 1
                table[f"{name} {BY_PLACE}"][place][told] += 1
            for other, told in values.items():
                if other != kind:
                    table[f"{other} x {kind}"][value][told] += 1
    return {
        split: {name: _spread(list(groups.values())) for name, groups in table.items()}
        for split, table in tables.items()
    }


def _spread(groups: list[Counter[str]]) -> dict[str, int]:
    """How many names there are, and the widest difference between the most and the least frequent of them in a group."""
    names = {name for group in groups for name in group}
    return {
        "names": len(names),
        "spread": max(max(group[n] for n in names) - min(group[n] for n in names) for group in groups),
    }


def _words(entry: Any) -> str:
    if not isinstance(entry, dict):
        return "nothing"
    return f"{entry.get('names')} names, {entry.get('spread')} apart"
