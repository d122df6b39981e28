"""Datasets for tests of the judge: rendered ones to damage, and small ones made by hand."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from generator.base.files import read_json, write_json, write_sums
from generator.dataset.records import BENCHMARK_TABLES, FORMAT, SCENES
from generator.dataset.writer import write_index
from generator.judge.verify import verify_dataset

BENCHMARK = "color-shape-3x3-b0"

Rows = list[dict[str, Any]]


def edit(folder: Path, table: str, change: Callable[[Rows], object]) -> None:
    """Change a table and seal the component again, so that only the judge's reasoning can find it
    out."""
    path = folder / f"{table}.parquet"
    schema = SCENES if table == "scenes" else BENCHMARK_TABLES[table]
    rows = pq.read_table(path, schema=schema).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    seal(folder)


def seal(folder: Path) -> None:
    """Recompute every digest and card as an attacker would, so that only what the tables say is
    wrong."""
    manifest = read_json(folder / "manifest.json")
    manifest["sums"] = write_sums(folder, {})
    write_json(folder / "manifest.json", manifest)
    root = folder.parent if folder.name == "world" else folder.parents[1]
    if folder.name == "world":
        for other in folder.parent.glob("benchmarks/*/manifest.json"):
            write_json(other, {**read_json(other), "world": manifest["sums"]})
    if (root / "world/manifest.json").exists():
        write_index(root)


def restate(root: Path, **stated: Any) -> None:
    """Change what the manifest of the benchmark says, and write the cards again."""
    path = root / "benchmarks" / BENCHMARK / "manifest.json"
    write_json(path, {**read_json(path), **stated})
    write_index(root)


def judged(root: Path) -> dict[str, Any]:
    certificate = verify_dataset(root, None)[BENCHMARK]
    assert read_json(root / "benchmarks" / BENCHMARK / "verify.json") == certificate
    return certificate


def details_of(certificate: dict[str, Any], fault: str) -> str:
    return " | ".join(
        finding["what"] for finding in certificate["findings"] if finding["fault"] == fault
    )


def text_row(text: str) -> dict[str, Any]:
    """A row of the texts table, without what no check of the judge reads."""
    return {
        "text_id": hashlib.sha256(text.encode()).hexdigest()[:16],
        "text": text,
        "template": "x",
        "level": "L1",
    }


VOCABULARY = """
category = "shape"
tested = "color"
[attributes.color]
red = {}
blue = {}
green = {}
[objects]
cube = {}
sphere = {}
cone = {}
[relations]
left = { phrase = "to the left of", margin = 0.2 }
"""

HELD = [["red", "cube"], ["red", "sphere"]]
BLOCK = {
    "design": "bindsplit",
    "kind": "color",
    "category": "shape",
    "values": ["red"],
    "objects": ["cube", "sphere"],
    "bindings": HELD,
    "block_seed": 0,
}


def make(root: Path, scenes: dict[str, list[str]], splits: dict[str, str], **tables: Rows) -> Path:
    """A dataset: the objects of each scene from left to right, as "red cube", 1 m apart; the split
    of each scene."""
    folders = root / "world", root / "benchmarks" / BENCHMARK
    for folder in folders:
        folder.mkdir(parents=True)
    (folders[0] / "vocabulary.toml").write_text(VOCABULARY, encoding="utf-8")
    (folders[0] / "images").mkdir()
    for number, scene_id in enumerate(scenes):
        Image.new("RGB", (1, 1), (number % 256, number // 256, 0)).save(
            folders[0] / f"images/{scene_id}.png"
        )
    rows = [
        scene_row(scene_id, [words.split() for words in objects])
        for scene_id, objects in scenes.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCENES), folders[0] / "scenes.parquet")
    tables["splits"] = [
        {"scene_id": scene_id, "split": split} for scene_id, split in splits.items()
    ]
    for name, schema in BENCHMARK_TABLES.items():
        pq.write_table(
            pa.Table.from_pylist(tables.get(name, []), schema=schema),
            folders[1] / f"{name}.parquet",
        )
    write_json(folders[1] / "holdout.json", BLOCK)
    request = {"width": 1, "height": 1, "vocabulary": VOCABULARY, "holdouts": [BLOCK]}
    stated = {"format": FORMAT, "name": BENCHMARK, "sums": "", "design": "bindsplit"}
    empty = _empty_cells(tables.get("items", []), splits)
    write_json(folders[1] / "manifest.json", {**stated, "empty_cells": empty})
    write_json(
        folders[0] / "manifest.json",
        {"format": FORMAT, "request": request, "sums": "", "scenes": len(scenes), "failed": 0},
    )
    for folder in reversed(folders):
        seal(folder)
    return root


def _empty_cells(items: Rows, splits: dict[str, str]) -> list[str]:
    """The questions that one split has and another lacks, as `gen describe` declares them."""
    scene_splits = {"seen", "partial", "unseen", "all"} & set(splits.values())
    cells = {
        tuple(item.get(name) for name in ("protocol", "kind", "skill", "split")) for item in items
    }
    return sorted(
        " ".join(filter(None, (*question, split)))
        for question in {cell[:3] for cell in cells if cell[3] in scene_splits}
        for split in scene_splits
        if (*question, split) not in cells
    )


def scene_row(scene_id: str, objects: list[list[str]]) -> dict[str, Any]:
    placed = [
        {"category": category, "attributes": {"color": color}, "position": [float(i), 0.0, 0.0]}
        for i, (color, category) in enumerate(objects)
    ]
    pairs = [(i, j) for i in range(len(objects)) for j in range(len(objects)) if i != j]
    return {
        "scene_id": scene_id,
        "status": "ok",
        "width": 1,
        "height": 1,
        "objects": [
            {
                "amodal_box": [0, 0, 1, 1],
                "visible_fraction": 1.0,
                **obj,
                "attributes": list(obj["attributes"].items()),
            }
            for obj in placed
        ],
        "relations": [{"subject": i, "relation": "left", "object": j} for i, j in pairs if j > i],
        "scene": json.dumps(
            {"objects": placed, "camera": {"position": [0, -9, 5], "target": [0, 0, 0]}}
        ),
    }


SPLITS = {"000000": "seen", "000001": "partial", "000002": "unseen", "000003": "val"}
CROWDS = {
    "000000": ["blue cube", "green cone", "blue sphere"],
    "000001": ["red cube", "green cone", "red sphere"],
    "000002": ["red cube", "red sphere", "red cube"],
    "000003": ["green cube"],
}


def ask(
    root: Path,
    of: str,
    texts: dict[str, list[tuple[str, bool]]],
    pool: Sequence[str] = (),
    **item: Any,
) -> Path:
    """A dataset of one item over the scene of a split, with (text, truth) by slot."""
    scene = next(scene_id for scene_id, split in SPLITS.items() if split == of)
    words = {text for slot in texts.values() for text, _ in slot} | {*pool}
    rows = {text: text_row(text) for text in sorted(words)}
    candidates = [
        {
            "item_id": "i",
            "scene_id": scene,
            "text_id": rows[text]["text_id"],
            "slot": slot,
            "truth": truth,
        }
        for slot, pairs in texts.items()
        for text, truth in pairs
    ]
    pools = [{"pool_id": "pool", "text_id": rows[text]["text_id"]} for text in pool]
    items = [{"item_id": "i", "split": of, **({"pool_id": "pool"} if pool else {}), **item}]
    return make(
        root,
        CROWDS,
        SPLITS,
        texts=list(rows.values()),
        items=items,
        candidates=candidates,
        pools=pools,
    )
