"""Checks the form of items: ids, kinds, skills, and the slots of their candidates (docs/dataset.md)."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from generator.judge.benchmark import Benchmark
from generator.judge.files import labels
from generator.judge.findings import Finding, finding
from generator.judge.protocols import FORMS, KNOWN, RAW, UNSEEN_ATOMS, slot_fault

_ID = re.compile(r"(.+)-([^-]+)-(\d+)")


def form_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items of a known protocol whose kind, skill, slots or id are not those that their protocol gives them."""
    rows = benchmark.candidates
    slots: dict[int, Counter[tuple[str, bool]]] = defaultdict(Counter)
    scenes: dict[int, set[str]] = defaultdict(set)
    items = rows.item.tolist()
    for (item, slot, truth), n in Counter(zip(items, rows.slot.tolist(), rows.truth.tolist(), strict=True)).items():
        slots[item][slot, truth] = n
    for item, scene in set(zip(items, rows.scene.tolist(), strict=True)):
        scenes[item].add(benchmark.scene_ids[scene] if scene >= 0 else "")
    numbers: dict[tuple[str, str], set[int]] = defaultdict(set)
    table = benchmark.tables["items"]
    columns = (table["item_id"].to_pylist(), benchmark.protocols, benchmark.kinds, labels(table["skill"]))
    for item, (item_id, protocol, kind, skill) in enumerate(zip(*columns, strict=True)):
        if protocol not in KNOWN:
            continue
        form = FORMS.get((protocol, kind))
        if form is None:
            yield finding("wrong form of item", f"item {item_id}: the protocol {protocol} has no kind '{kind}'")
            continue
        if skill not in form.skills:
            yield finding("wrong form of item", f"item {item_id}: it is listed with the skill {skill}")
        if fault := slot_fault(form, protocol, slots[item]):
            yield finding("wrong form of item", f"item {item_id}: {fault}")
        if benchmark.item_split[item] == UNSEEN_ATOMS and (protocol, kind) != RAW:
            yield finding(
                "wrong form of item",
                f"item {item_id}: it is over a scene with unseen atoms, which are asked by raw retrieval alone",
            )
        match = _ID.fullmatch(item_id)
        if not match or match[1] != protocol or match[2] not in scenes[item]:
            yield finding(
                "wrong item id",
                f"item {item_id}: expected {protocol}, its scene {' or '.join(sorted(scenes[item]))}, and a number",
            )
        else:
            numbers[protocol, match[2]].add(int(match[3]))
    for (protocol, scene), found in numbers.items():
        if found != set(range(len(found))):
            yield finding(
                "wrong item id",
                f"the items of {protocol} over scene {scene} are numbered {', '.join(map(str, sorted(found)))}, not from 0 on",
            )
