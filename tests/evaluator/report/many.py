"""Runs as large as those of a paper, written as files: three models, three training seeds of each,
four protocols, thousands of items over scenes of two rectangles."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from PIL import Image, ImageDraw

from evaluator.protocols.items import COUNTS
from evaluator.provenance.contamination import unknown_training
from generator.base.files import sha256, write_json
from generator.base.tables import write_table
from generator.dataset.records import SCORES
from generator.dataset.writer import WorldWriter, write_benchmark
from tests.evaluator.report.conftest import GAP, ROW
from tests.evaluator.synthetic import FACTORS, write_record

MODELS = {"scratch": 0.5, "finetuned": 0.8, "hard negatives": 1.4}
"""How far each model tells a true text from a false one, in standard deviations of its scores."""
COLORS, SHAPES = (
    ("red", "blue", "green", "orange", "purple", "teal"),
    ("cube", "cone", "heart", "star", "arch", "ring"),
)
HELD_OUT = [list(pair) for pair in product(COLORS[:3], SHAPES[:3])]
SPLITS = ("seen", "partial", "unseen")
FALSE = {"binary": 1, "hard_positives": 1, "skill": 4, "retrieval": 0}
"""How many false texts a question of each protocol has; those of retrieval are in a pool."""
METRIC = {
    "binary": "accuracy",
    "hard_positives": "original accuracy",
    "skill": "R@1",
    "retrieval": "R@1",
}
EVIL = "a <script>alert(1)</script> & \u202ered\x1b cube"
"""The caption of the first scene."""


def write_many(folder: Path, items: int, scenes: int, seeds: int = 3) -> list[str]:
    """Write folder/dataset and runs beside it; returns each run as MODEL=FOLDER, as `score report`
    takes it."""
    rng = np.random.default_rng(0)
    scenes_content = [_scene(rng, SPLITS[i % 3]) for i in range(scenes)]
    root = folder / "dataset"
    _write_world(root, scenes_content)
    tables = _questions(rng, scenes_content, items)
    write_benchmark(
        root, "many", tables, {"kind": "color", "category": "shape", "bindings": HELD_OUT}, {}
    )
    bindings = [
        ";".join(f"{color}:{shape}" for color, shape in objects) for objects in scenes_content
    ]
    sources = []
    for model, sharpness in MODELS.items():
        for seed in range(seeds):
            run = folder / f"{model}-{seed}".replace(" ", "-")
            _write_run(root, run, tables, bindings, np.random.default_rng(seed), sharpness)
            sources.append(f"{model}={run}")
    return sources


def _scene(rng: np.random.Generator, split: str) -> list[tuple[str, str]]:
    """Two objects, of which as many have a held-out binding as the split says."""
    held_out = {"seen": (False, False), "partial": (True, False), "unseen": (True, True)}[split]
    places = {
        one: [pair for pair in product(COLORS, SHAPES) if (list(pair) in HELD_OUT) == one]
        for one in (True, False)
    }
    first, second = (places[one] for one in held_out)
    a, x = first[rng.integers(len(first))]
    apart = [
        (b, y) for b, y in second if b != a and y != x
    ]  # or exchanging their colours would change nothing
    return [(a, x), apart[rng.integers(len(apart))]]


def _write_world(root: Path, scenes: Sequence[Sequence[tuple[str, str]]]) -> None:
    request = {
        "family": "none",
        "width": 64,
        "height": 64,
        "scenes": {},
        "seed": 0,
        "block_seed": 0,
    }
    with WorldWriter(root, request) as writer:
        for i, objects in enumerate(scenes):
            image = Image.new("RGB", (64, 64), (225, 225, 225))
            for k, (color, shape) in enumerate(objects):
                size = 8 + 2 * SHAPES.index(shape)
                ImageDraw.Draw(image).rectangle(
                    (6 + 30 * k, 32 - size, 26 + 30 * k, 24 + size), fill=color
                )
            file = writer.images / f"{i:06d}.png"
            image.save(file)
            object_records = [
                {
                    "category": shape,
                    "attributes": {"color": color},
                    "amodal_box": [0, 0, 9, 9],
                    "visible_fraction": 1.0,
                }
                for color, shape in objects
            ]
            record = {
                "scene_id": f"{i:06d}",
                "cluster_id": f"k{i}",
                "objects": object_records,
                "relations": [],
                "scene": "{}",
            }
            writer.add({**record, "files": {f"images/{file.name}": sha256(file)}})
        writer.finish('category = "shape"\n')


def _questions(
    rng: np.random.Generator, scenes: Sequence[Sequence[tuple[str, str]]], items: int
) -> dict[str, Any]:
    texts: dict[str, str] = {}
    tables: dict[str, Any] = {"texts": [], "items": [], "candidates": [], "pools": []}

    def text_id(words: str) -> str:
        return texts.setdefault(words, f"t{len(texts):06d}")

    for i in range(items):
        protocol, scene = list(FALSE)[i % 4], i // 4 % len(scenes)
        (a, x), (b, y) = scenes[scene]
        caption = EVIL if scene == 0 else f"a {a} {x} and a {b} {y}"
        others = [
            f"a {b} {x} and a {a} {y}",
            *(f"a {c} {x} and a {b} {y}" for c in COLORS if c not in (a, b)),
        ]
        slots = [
            ("c", True, caption),
            *(("n", False, words) for words in others[: FALSE[protocol]]),
        ]
        if protocol == "hard_positives":
            slots.append(("p", True, f"a {b} {y} and a {a} {x}"))
        kind = {"binary": "swap", "hard_positives": "replace", "skill": None, "retrieval": "grid"}[
            protocol
        ]
        item = {
            "item_id": f"{protocol}-{i:06d}",
            "protocol": protocol,
            "kind": kind,
            "split": SPLITS[scene % 3],
        }
        item |= {"skill": ("attribute", "object")[i // 4 % 2], "cluster_id": f"k{scene}"}
        tables["items"].append(item | {"pool_id": "grid" if protocol == "retrieval" else None})
        tables["candidates"] += [
            {
                "item_id": item["item_id"],
                "scene_id": f"{scene:06d}",
                "text_id": text_id(words),
                "slot": slot,
                "truth": truth,
            }
            for slot, truth, words in slots
        ]
    tables["texts"] = [{"text_id": name, "text": words} for words, name in texts.items()]
    return tables


def _write_run(
    root: Path,
    folder: Path,
    tables: dict[str, Any],
    bindings: Sequence[str],
    rng: np.random.Generator,
    sharpness: float,
) -> None:
    items = pd.DataFrame(tables["items"])
    candidates = pd.DataFrame(tables["candidates"]).merge(
        pd.DataFrame(tables["texts"]), how="left", on="text_id"
    )
    drop = items["split"].map({"seen": 1.0, "partial": 0.6, "unseen": 0.2}).to_numpy() * sharpness
    of = candidates["item_id"].map(pd.Series(drop, items["item_id"])).to_numpy()
    candidates["score"] = np.round(
        rng.normal(0.2, 0.05, len(candidates)) + 0.05 * of * candidates["truth"], 4
    )
    pair = ["scene_id", "text_id"]
    candidates["score"] = candidates.groupby(pair)["score"].transform("first")
    folder.mkdir()
    unique_pairs = candidates.drop_duplicates(pair)
    pairs = {
        "image_id": unique_pairs["scene_id"],
        "text_id": unique_pairs["text_id"],
        "channel": "cosine",
        "score": unique_pairs["score"],
    }
    table = pa.Table.from_pandas(
        pd.DataFrame({**pairs, "unscored": None}), SCORES, preserve_index=False
    )
    write_table(folder / "scores.parquet", table, SCORES)
    rows = _outcomes(items, candidates, rng)
    rows["bindings"] = rows["scene_id"].astype(int).map(lambda scene: bindings[scene])
    (folder / "tables").mkdir()
    rows.to_csv(folder / "tables" / "items.csv", index=False)
    about = {
        "model": "given",
        "certificate": "verified",
        "channel": "cosine",
        "training": unknown_training(),
    }
    write_record(
        folder, root, "many", **about, protocols=list(FALSE), info={"weights": folder.name}
    )
    write_json(
        folder / "results.json",
        {
            **about,
            "benchmark": "many",
            "rules": {"tie_tolerance": 1e-5, "level": 0.95},
            "factors": {**FACTORS, "model": "given", "training_seed": int(folder.name[-1])},
            "unknown_protocols": {},
            "rows": _rows(rows),
            "fits": [],
            "cells": [],
        },
    )


def _outcomes(
    items: pd.DataFrame, candidates: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    """tables/items.csv: a few items tie and a few have no score."""
    best = {
        side: candidates[candidates["truth"] == (side == "true")]
        .sort_values("score")
        .groupby("item_id")
        .last()
        for side in ("true", "false")
    }
    rows = items.rename(columns={"cluster_id": "cluster"}).drop(columns="pool_id")
    for side, best_rows in best.items():
        rows[side] = rows["item_id"].map(best_rows["score"])
        rows[f"{side}_text"] = rows["item_id"].map(best_rows["text"])
    pooled = rows["false"].isna().to_numpy()
    rows.loc[pooled, "false"] = np.round(rng.normal(0.24, 0.04, pooled.sum()), 4)
    rows.loc[pooled, "false_text"] = "a teal ring and a teal star"
    rows["tie"] = (rows["true"] == rows["false"]).astype(str).str.lower()
    rows["value"] = (rows["true"] > rows["false"]).astype(float)
    unscored = rng.random(len(rows)) < 0.01
    rows.loc[unscored, ["value", "true", "false"]] = np.nan
    rows["unscored"] = np.where(unscored, "the model's score is not a number", "")
    rows["metric"], rows["level"] = rows["protocol"].map(METRIC), ""
    rows[list(COUNTS)] = pd.NA
    rows["scene_id"] = rows["item_id"].map(candidates.groupby("item_id")["scene_id"].first())
    return rows


def _rows(outcomes: pd.DataFrame) -> list[dict[str, Any]]:
    """Main rows of results by split, and their gap, with normal intervals."""
    rows: list[dict[str, Any]] = []
    for protocol, metric in METRIC.items():
        of = {**ROW, "protocol": protocol, "metric": metric}
        ends = {}
        for split in SPLITS:
            values = outcomes[(outcomes["protocol"] == protocol) & (outcomes["split"] == split)][
                "value"
            ]
            n, mean = int(values.count()), values.mean()
            half = 1.96 * values.std() / np.sqrt(n)
            ends[split] = (mean, half)
            of |= {"items": n, "unscored": int(values.isna().sum()), "clusters": n}
            numbers = {"value": mean, "low": max(0.0, mean - half), "high": min(1.0, mean + half)}
            numbers["chance"] = 1 / (1 + FALSE[protocol]) if FALSE[protocol] else 1 / 900
            rows.append({**of, "split": split, **numbers})
        (seen, a), (unseen, b) = ends["seen"], ends["unseen"]
        half, gap = float(np.hypot(a, b)), seen - unseen
        rows.append(
            {**of, **GAP, "value": gap, "low": gap - half, "high": gap + half, "chance": None}
        )
    return json.loads(json.dumps(rows))  # numbers of numpy become plain
