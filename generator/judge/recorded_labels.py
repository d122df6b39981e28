"""Whether what is listed beside texts and truths is so: groups, held-out bindings of scenes, numbers in the manifest."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from generator.judge.case import Case
from generator.judge.files import Finding, finding, labels


def listed_findings(case: Case) -> Iterator[Finding]:
    """Items of another group than their scenes; scenes with other held-out bindings; wrong numbers of items."""
    yield from _groups(case)
    yield from _held_out(case)
    yield from _numbers(case)


def _groups(case: Case) -> Iterator[Finding]:
    """Intervals are computed over `cluster_id`; tables without it have none to be judged."""
    rows = case.candidates
    listed = labels(case.tables["items"]["cluster_id"])
    judged = np.flatnonzero((rows.item >= 0) & (rows.scene >= 0))
    width = max(len(case.scene_ids), 1)
    groups: dict[int, str] = {}
    fitting: dict[int, set[str]] = {}
    for pair in np.unique(rows.item[judged] * width + rows.scene[judged]).tolist():
        item, scene = divmod(pair, width)
        if scene not in groups:
            groups[scene] = case.held_out.cluster(case.shown[scene])
        fitting.setdefault(item, set()).add(groups[scene])
    for item, found in fitting.items():
        if listed[item] is not None and listed[item] not in found:
            yield finding(
                "wrong group",
                f"item {case.item_id(item)} is listed in group {listed[item]}, its scene is of {' or '.join(sorted(found))}",
            )


def _held_out(case: Case) -> Iterator[Finding]:
    splits, held_out = case.tables["splits"], case.held_out
    for column, what, of in (
        ("held_out_bindings", "bindings", held_out.bindings_shown),
        ("held_out_triples", "triples", held_out.triples_shown),
    ):
        for scene_id, listed in zip(splits["scene_id"].to_pylist(), splits[column].to_pylist(), strict=True):
            if listed is None or scene_id not in case.world.shown:
                continue
            shown = [" ".join(each) for each in of(case.world.shown[scene_id])]
            if sorted(listed) != sorted(shown):
                yield finding(
                    "wrong familiarity",
                    f"scene {scene_id} is listed with the held-out {what} {', '.join(listed) or 'none'}, it shows "
                    f"{', '.join(shown) or 'none'}",
                )


def _numbers(case: Case) -> Iterator[Finding]:
    items = case.tables["items"]
    found = Counter(zip(labels(items["protocol"]).tolist(), labels(items["kind"]).tolist(), strict=True))
    told = {f"{protocol} {kind}": n for (protocol, kind), n in found.items()}
    listed = case.manifest.get("texts", {}).get("items")
    for name in [] if listed is None else sorted(told.keys() | listed.keys()):
        if told.get(name, 0) != listed.get(name, 0):
            yield finding(
                "wrong count", f"there are {told.get(name, 0)} items of {name}, the manifest says {listed.get(name, 0)}"
            )
