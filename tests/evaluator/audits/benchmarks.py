"""Benchmarks without images for the audit, and what is read off its results."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.audit import AuditRequest, audit
from evaluator.audits.sample import AuditQuestion
from generator.dataset.writer import WorldWriter, write_benchmark

COLOURS = ("red", "blue", "green", "yellow", "purple", "black", "white", "orange")
SHAPES = ("cube", "sphere", "cone", "torus", "pyramid", "cylinder", "heart", "star")
Entry = dict[str, Any]


def write(root: Path, entries: Iterable[Entry], atoms: int | None = 4) -> Path:
    """A dataset without images, whose one benchmark has an item for each entry.

    An entry has `texts`, a list of (slot, truth, text[, of[, kind[, scene]]]), and may have
    protocol, kind, skill, split, cluster, level.
    """
    with WorldWriter(root, {"width": 8, "height": 8, "family": "none"}) as writer:
        writer.finish("")
    texts, items, candidates = {}, [], []
    for i, entry in enumerate(entries):
        item_id = entry.get("item_id", f"i{i:05}")
        usual = {"protocol": "binary", "kind": "swap", "skill": None, "split": "unseen"}
        labels = {name: entry.get(name, value) for name, value in usual.items()}
        items.append({"item_id": item_id, "cluster_id": entry.get("cluster", item_id), **labels})
        for slot, truth, text, *more in entry["texts"]:
            of, kind, scene = (*more, None, None, None)[:3]
            counts = (
                {"n_objects": atoms, "n_attributes": 0, "n_relations": 0}
                if atoms is not None
                else {}
            )
            texts[text] = {"text_id": text, "text": text, "level": entry.get("level"), **counts}
            candidates.append(
                {
                    "item_id": item_id,
                    "scene_id": scene or item_id,
                    "text_id": text,
                    "slot": slot,
                    "truth": truth,
                    "changed": [],
                    "of": of,
                    "kind": kind,
                }
            )
    write_benchmark(
        root,
        "b",
        {"texts": list(texts.values()), "items": items, "candidates": candidates},
        None,
        {},
    )
    return root


def pair(true: str, false: str, **more: Any) -> Entry:
    return {"texts": [("c", True, true), ("n", False, false, true)], **more}


def swaps(n: int, seed: int = 0) -> Iterator[tuple[str, str, str]]:
    """Captions, their attribute swaps and their clusters, the truth chosen by chance."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        (a, b), (x, y) = rng.choice(COLOURS, 2, replace=False), rng.choice(SHAPES, 2, replace=False)
        yield f"a {a} {x} and a {b} {y}", f"a {b} {x} and a {a} {y}", "+".join(sorted((a, b, x, y)))


def audited(tmp_path: Path, entries: Sequence[Entry], **more: Any) -> dict[str, Any]:
    return audit(AuditRequest(write(tmp_path / "d", entries), **more))


def only(results: dict[str, Any]) -> dict[str, Any]:
    (kind,) = results["kinds"]
    return kind


def question(*texts: str, cluster: str = "k", atoms: int | None = 4) -> AuditQuestion:
    return AuditQuestion("i", cluster, texts[0], texts[1:], atoms, 0)
