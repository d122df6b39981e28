"""Checks the balance that the manifest states: how evenly values and objects occur in each split."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from generator.judge.benchmark import Benchmark
from generator.judge.findings import Finding, finding

BY_PLACE = "by place"


def balance_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Numbers in the manifest's `balance` that differ from those of the scenes. Without `balance` there are none."""
    listed = benchmark.manifest.get("balance")
    if listed is None:
        return
    found = _balance(benchmark)
    for split in sorted({*listed} | {*found}):
        stated, own = listed.get(split, {}), found.get(split, {})
        for name in sorted({*stated} | {*own}):
            if stated.get(name) != own.get(name):
                yield finding(
                    "wrong balance",
                    f"split {split}: {name} is listed as {_in_words(stated.get(name))}, the scenes give {_in_words(own.get(name))}",
                )


def _balance(benchmark: Benchmark) -> dict[str, dict[str, dict[str, int]]]:
    kind, category = benchmark.held_out.kind, benchmark.held_out.category
    tables: dict[str, dict[str, dict[object, Counter[str]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(Counter))
    )
    for scene_id, split in benchmark.split_of.items():
        if split is None or scene_id not in benchmark.world.shown:
            continue
        table = tables[split]
        for place, (thing, values) in enumerate(benchmark.world.shown[scene_id].objects):
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
    """The number of names, and the largest difference between two names' counts within a group."""
    names = {name for group in groups for name in group}
    return {
        "names": len(names),
        "spread": max(max(group[n] for n in names) - min(group[n] for n in names) for group in groups),
    }


def _in_words(entry: Any) -> str:
    if not isinstance(entry, dict):
        return "nothing"
    return f"{entry.get('names')} names, {entry.get('spread')} apart"
