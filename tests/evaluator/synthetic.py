"""A run without a model: a benchmark of every protocol with items drawn at random, and random
scores with planted ties."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from generator.base.files import write_json
from generator.base.tables import write_table
from generator.dataset.reader import Dataset
from generator.dataset.records import SCORES
from generator.dataset.writer import WorldWriter, write_benchmark

Row = dict[str, Any]
SPLITS = ("val", "seen", "partial", "unseen")
LEVELS = {"O": (1, 0, 0), "OA": (1, 1, 0), "OR": (1, 0, 1), "OAR": (1, 1, 1)}

FACTORS: Row = {
    "model": "m",
    "treatment": {},
    "training_seed": None,
    "design": {},
    "block": "k",
    "block_seed": 0,
    "benchmark": "b/w",
}
"""The factors of a run (evaluator.runs.folder)."""


def find(results: Row, protocol: str, split: str, **labels: object) -> Row:
    """The one row of results with these labels; of a protocol with one metric, that metric's row.
    Unless another metric is named, of `binary` the accuracy, and of `retrieval` R@1, also in
    sampled pools. A gap is "first - second"."""
    first, _, minus = split.partition(" - ")
    labels_of_row = {"protocol": protocol, "split": first, "minus": minus or None, **labels}
    usual_metrics = {"binary": ("accuracy",), "retrieval": ("R@1", "R@1, sampled pool")}
    matching_rows = []
    for row in results["rows"]:
        is_usual = protocol not in usual_metrics or row["metric"] in usual_metrics[protocol]
        has_labels = all(row[name] == value for name, value in labels_of_row.items())
        if has_labels and ("metric" in labels or is_usual):
            matching_rows.append(row)
    (only_row,) = matching_rows
    return only_row


def unnamed(rows: list[Row]) -> list[Row]:
    """Rows of results without the names of model and benchmark, to compare runs."""
    return [
        {name: value for name, value in row.items() if name not in ("model", "benchmark")}
        for row in rows
    ]


def pool_matrix(folder: Path, pool: str) -> np.ndarray:
    """The scores of a pool of a dual encoder's run, float32 (images, texts), by one product of its
    embeddings."""
    images, texts = (np.load(folder / "pools" / f"{pool}.{of}.npy") for of in ("images", "texts"))
    assert images.dtype == texts.dtype == np.float32
    return np.asarray(images @ texts.T)


class Builder:
    """Collects the rows of a benchmark: `add` makes an item from its candidates (slot, truth,
    kind)."""

    def __init__(self, seed: int = 0, scenes: int = 60):
        self.rng = np.random.default_rng(seed)
        self.scenes = scenes
        self.texts: list[Row] = []
        self.items: list[Row] = []
        self.candidates: list[Row] = []
        self.pools: list[Row] = []

    def add(
        self,
        protocol: str,
        kind: str | None,
        candidates: Sequence[tuple[str, bool, str | None]],
        skill: str | None = None,
        level: str = "OA",
        counts: tuple[int, int, int] = (2, 2, 0),
    ) -> str:
        """Add an item over a random scene; returns its id. Every scene has one cluster and one
        split, two scenes a cluster."""
        scene = int(self.rng.integers(self.scenes))
        item_id = f"{protocol}-{len(self.items):06d}"
        self.items.append(
            {
                "item_id": item_id,
                "protocol": protocol,
                "kind": kind,
                "skill": skill,
                "split": SPLITS[scene // 2 % 4],
                "cluster_id": f"k{scene // 2}",
                "held_out_positive": 0,
                "held_out_negative": 0,
            }
        )
        for slot, truth, candidate_kind in candidates:
            text_id = f"t{len(self.texts):07d}"
            self.texts.append(
                {
                    "text_id": text_id,
                    "text": f"text {text_id}",
                    "level": level,
                    "n_objects": counts[0],
                    "n_attributes": counts[1],
                    "n_relations": counts[2],
                }
            )
            self.candidates.append(
                {
                    "item_id": item_id,
                    "scene_id": f"s{scene:04d}",
                    "text_id": text_id,
                    "slot": slot,
                    "truth": truth,
                    "kind": candidate_kind,
                    "changed": [],
                }
            )
        return item_id

    def counts(self, level: str, most: int = 3) -> tuple[int, int, int]:
        """Random counts at a level."""
        a, b, c = (int(self.rng.integers(1, most + 1)) * part for part in LEVELS[level])
        return a, b, c

    def write(self, root: Path, name: str = "all") -> Path:
        """Write a world without images and the benchmark over it."""
        request = {
            "family": "none",
            "width": 8,
            "height": 8,
            "scenes": {},
            "seed": 0,
            "block_seed": 0,
        }
        with WorldWriter(root, request) as writer:
            writer.finish('category = "shape"\n')
        tables = {
            "texts": self.texts,
            "items": self.items,
            "candidates": self.candidates,
            "pools": self.pools,
        }
        write_benchmark(root, name, tables, None, {})
        return root


CAPTION, FALSE_TEXT = ("c", True, None), ("n", False, None)
"""A true caption and a false text, as `Builder.add` takes them."""


def one_of_each(builder: Builder, times: int) -> Builder:
    """Items of every protocol but retrieval, `times` of each kind."""
    for _ in range(times):
        for kind in ("swap", "flip", "order"):
            builder.add("binary", kind, [CAPTION, FALSE_TEXT])
        _add_crepe(builder)
        _add_compass(builder)
        for kind, skill in (
            ("replace", "attribute"),
            ("replace", "relation"),
            ("replace", "object"),
            ("swap", "attribute"),
            ("converse", "relation"),
        ):
            builder.add("hard_positives", kind, [CAPTION, FALSE_TEXT, ("p", True, None)], skill)
        _add_confusion(builder)
        contexts = [("context", True, None), ("context", False, None)]
        builder.add("context", "swap", [CAPTION, FALSE_TEXT, *contexts])
        _add_class_lists(builder)
    return builder


def _add_crepe(builder: Builder) -> None:
    """An item of each kind of CREPE's protocols."""
    atom, comp = [("n", False, "atom")] * 4, [("n", False, "comp")] * 6
    for kind, negatives in (("atom", atom), ("comp", comp), ("both", atom + comp)):
        builder.add("systematicity", kind, [CAPTION, *negatives])
    for kind, size in (("atom", 5), ("swap", 5), ("neg", 5), ("all", 15)):
        counts = (2, 1, int(builder.rng.integers(1, 4)))
        builder.add("productivity", kind, [CAPTION, *[FALSE_TEXT] * size], counts=counts)


def _add_compass(builder: Builder) -> None:
    """An item of each level and skill of COMPASS' protocols."""
    for level in ("OA", "OAR"):
        counts = builder.counts(level)
        n = sum(counts)
        decomposed = []
        for i in range(1, n + 1):
            decomposed += [(f"d{i}", True, None), (f"d{i}", False, None)]
        texts = [CAPTION, *[FALSE_TEXT] * n, *decomposed]
        builder.add("integration", None, texts, None, level, counts)
    for skill in ("object", "attribute", "relation"):
        for level in LEVELS:
            texts = [CAPTION, *[FALSE_TEXT] * 4]
            builder.add("skill", None, texts, skill, level, builder.counts(level))


def _add_confusion(builder: Builder) -> None:
    """An item of the protocol confusion with 3 to 15 false texts."""
    patterns = []
    for _ in range(int(builder.rng.integers(3, 16))):
        changed = str(builder.rng.choice(["none", "attribute", "category", "both"]))
        patterns.append(("n", False, changed))
    n_captions = int(builder.rng.integers(1, 3))
    builder.add("confusion", None, [*[CAPTION] * n_captions, *patterns])


def _add_class_lists(builder: Builder) -> None:
    """An item of each kind of the protocol gzsl."""
    for kind, hard in (
        ("two-object", ("color", "shape")),
        ("three-object", ("color", "color", "shape", "shape")),
        ("relational", ("flip", "order")),
    ):
        texts = [CAPTION]
        for changed in (*hard, "distractor", "distractor"):
            texts.append(("n", False, changed))
        if kind == "relational":
            texts += [("zsl", True, None), *[("zsl", False, "distractor")] * 2]
        builder.add("gzsl", kind, texts)
    builder.add("gzsl", "single", [CAPTION, *[("n", False, "label")] * 5])


def add_pair(builder: Builder, kind: str = "swap", lacking: int | None = None) -> str:
    """An item of two images and their captions: four candidates, shuffled."""
    item_id = builder.add("pairs", kind, [])
    first = int(builder.rng.integers(builder.scenes))
    scenes = (f"s{first:04d}", f"s{(first + 1) % builder.scenes:04d}")
    texts = []
    for _ in range(2):
        text_id = f"t{len(builder.texts):07d}"
        builder.texts.append(
            {
                "text_id": text_id,
                "text": text_id,
                "level": "OA",
                "n_objects": 2,
                "n_attributes": 2,
                "n_relations": 0,
            }
        )
        texts.append(text_id)
    rows: list[Row] = [
        {
            "item_id": item_id,
            "scene_id": scenes[i],
            "text_id": texts[k],
            "slot": str(k),
            "truth": i == k,
            "changed": [],
        }
        for k in range(2)
        for i in range(2)
    ]
    rows_in_file = [row for place, row in enumerate(rows) if place != lacking]
    builder.candidates += [rows_in_file[i] for i in builder.rng.permutation(len(rows_in_file))]
    return item_id


def planted(rng: np.random.Generator, n: int) -> np.ndarray:
    """Scores (n,) float32 with many ties: few distinct values, and steps just within and just
    beyond the tolerance."""
    steps = rng.choice([0, 0, 0.4, 3, -0.4, -3], n) * 1e-5
    return (rng.choice([0.1, 0.2, 0.2, 0.3, 0.9, 120.0], n) + steps).astype(np.float32)


def write_run(
    root: Path,
    folder: Path,
    score: Callable[[int], np.ndarray],
    broken: Sequence[int] = (),
    absent: Sequence[int] = (),
    indistinct: dict[str, str] | None = None,
) -> Path:
    """Write a run of the benchmark `all`: `score(n)` gives the scores of its candidates, in their
    order.

    Those in `broken` are no number, those in `absent` are left out.
    """
    dataset = Dataset.open(root)
    benchmark = dataset.benchmark("all")
    rows = benchmark.candidates
    n = rows.num_rows
    values, wrong = score(n).astype(np.float32), np.isin(np.arange(n), broken)
    table = pa.table(
        {
            "image_id": rows["scene_id"],
            "text_id": rows["text_id"],
            "channel": ["cosine"] * n,
            "score": pa.array(values, mask=wrong),
            "unscored": pa.array(
                np.where(wrong, "the model's score is not a number", None), pa.string()
            ),
        },
        schema=SCORES,
    )
    folder.mkdir()
    write_table(
        folder / "scores.parquet", table.filter(pa.array(~np.isin(np.arange(n), absent))), SCORES
    )
    protocols = sorted(set(benchmark.items["protocol"].to_pylist()) - {"train", "unheard-of"})
    write_record(folder, root, "all", protocols=protocols, indistinct_texts=indistinct or {})
    return folder


def write_record(folder: Path, root: Path, name: str | None = None, **more: object) -> None:
    """Write run.json of a run of a benchmark of the dataset `root`."""
    dataset = Dataset.open(root)
    benchmark = dataset.benchmark(name)
    write_json(
        folder / "run.json",
        {
            "model": "random",
            "benchmark": benchmark.digest,
            "world": dataset.world.digest,
            "dataset": str(root),
            "benchmark_name": benchmark.name,
            "certificate": "not verified",
            "indistinct_texts": {},
            "info": {},
            "python": "",
            "versions": {},
            **more,
        },
    )
