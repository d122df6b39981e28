"""Score dual encoders: each image and each text is encoded once; the score of a pair is a cosine in float32."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.images import Images
from evaluator.models.contracts import DualEncoder
from evaluator.scoring.batches import BatchRunner, Job, Settings, plan_batches
from evaluator.scoring.cache import EmbeddingCache
from evaluator.scoring.distributed import Process, VectorStore
from evaluator.scoring.needs import Needs
from evaluator.scoring.preflight import announce_time
from evaluator.scoring.writing import write_embeddings, write_scores
from generator.dataset.reader import Benchmark

CHANNEL = "cosine"
_ROWS = 65_536
"""Pairs whose cosines are computed at once."""


def score_dual(
    model: DualEncoder, world: Images, benchmark: Benchmark, needs: Needs, names: Mapping[str, str], out: Path, settings: Settings, process: Process,
    cache_folder: Path | None, on_batch_size: Callable[[int], None],
) -> None:  # fmt: skip
    """Encode inputs that are not in the cache; the main process writes scores.parquet and, for pools, their embeddings.

    names: the name of each text in the cache, by text_id. Images may be computed in bfloat16; texts are always computed in float32. Protocols compare texts, and two that
    should tie must not differ by rounding, while an image's rounding affects all its texts alike.
    """
    images, texts = needs.images, needs.texts
    image_name = {image: f"image:{world.image_digest(image)}" for image in images}
    text_name = {text: f"text:{names[text]}" for text in texts}
    jobs = [
        (_texts(model, benchmark, text_name), replace(settings, precision="float32"), model.key),
        (_images(model, world, image_name), settings, cache_key(model.key, settings.precision)),
    ]
    with (
        VectorStore(EmbeddingCache(jobs[0][2], cache_folder), out, "texts", process) as text_store,
        VectorStore(EmbeddingCache(jobs[1][2], cache_folder), out, "images", process) as image_store,
    ):
        stores = (text_store, image_store)
        runners = [BatchRunner(job, store, process, how) for (job, how, _), store in zip(jobs, stores, strict=True)]
        for runner in runners:
            runner.warm_up()
        on_batch_size(runners[1].batch_size)
        announce_time(runners, process)
        for runner in runners:
            runner.finish()
        if process.is_main:
            text_vectors, image_vectors = (
                _matrix(store.gather(list(dict.fromkeys(names.values()))), list(names.values()))
                for store, names in zip(stores, (text_name, image_name), strict=True)
            )
            _write(out, needs, image_vectors, text_vectors)


def cache_key(key: str, precision: str) -> str:
    """Name of the cache of a model's results in a precision."""
    return key if precision == "float32" else f"{key}-{precision}"


def _texts(model: DualEncoder, benchmark: Benchmark, names: dict[str, str]) -> Job:
    text_of = {name: benchmark.text_of[text] for text, name in names.items()}
    distinct = list(text_of)

    def compute(rows: list[int], images: Mapping[str, Any]) -> np.ndarray:
        return model.encode_texts([text_of[distinct[row]] for row in rows])

    plan = partial(plan_batches, len(distinct))
    return Job("text", distinct, plan, lambda rows: [], lambda image: None, compute)


def _images(model: DualEncoder, world: Images, names: dict[str, str]) -> Job:
    scene_of = {name: scene for scene, name in names.items()}
    distinct = list(scene_of)

    def compute(rows: list[int], images: Mapping[str, Any]) -> np.ndarray:
        return model.encode_images([images[scene_of[distinct[row]]] for row in rows])

    return Job(
        "image", distinct, partial(plan_batches, len(distinct)), lambda rows: [scene_of[distinct[row]] for row in rows],
        lambda scene: model.prepare(world.image(scene)), compute,
    )  # fmt: skip


def _matrix(vectors: dict[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
    """The vectors of names, float32 (n, d)."""
    return np.stack([vectors[name] for name in names]).astype(np.float32)


def _write(out: Path, needs: Needs, images: np.ndarray, texts: np.ndarray) -> None:
    image_row, text_row = ({name: row for row, name in enumerate(names)} for names in (needs.images, needs.texts))
    left = np.array([image_row[image] for image, _ in needs.pairs], dtype=np.int64)
    right = np.array([text_row[text] for _, text in needs.pairs], dtype=np.int64)
    scores = np.empty((len(left), 1), dtype=np.float32)
    with np.errstate(invalid="ignore"):
        for start in range(0, len(left), _ROWS):
            part = slice(start, start + _ROWS)
            scores[part, 0] = np.einsum("nd,nd->n", images[left[part]], texts[right[part]])
        write_scores(out, needs.pairs, scores, (CHANNEL,))
        for pool, (pool_images, pool_texts) in needs.pools.items():
            for of, vectors, row_of, names in (
                ("images", images, image_row, pool_images),
                ("texts", texts, text_row, pool_texts),
            ):
                write_embeddings(out, pool, of, vectors, np.array([row_of[name] for name in names], np.int64))
