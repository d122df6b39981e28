"""Models that embed images and texts apart: each image and each text is encoded once; a score is a cosine in float32."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.models.registry import DualEncoder
from evaluator.scoring.batches import Job, Settings, Stage, plain_plan
from evaluator.scoring.cache import EmbeddingCache
from evaluator.scoring.distributed import Rank, Store
from evaluator.scoring.needs import Needs
from evaluator.scoring.preflight import announce_time
from evaluator.scoring.writing import write_pool, write_scores
from generator.dataset.reader import Benchmark, World

CHANNEL = "cosine"
_ROWS = 65_536


def score_dual(
    model: DualEncoder, world: World, benchmark: Benchmark, needs: Needs, out: Path, settings: Settings, rank: Rank,
    cache_folder: Path | None, sized: Callable[[int], None],
) -> None:  # fmt: skip
    """Encode what is not in the cache; the first process writes scores.parquet and pools/*.npy.

    Images may be computed in bfloat16. Texts are always computed in float32: they are compared with one another, and two
    that should tie must not differ by rounding, while what an image's rounding does is the same to all its texts.
    """
    images, texts = needs.images, needs.texts
    image_name = {image: f"image:{world.image_digest(image)}" for image in images}
    text_name = {text: f"text:{text_digest(benchmark.text_of[text])}" for text in texts}
    jobs = [
        (_texts(model, benchmark, text_name), replace(settings, precision="float32"), model.key),
        (_images(model, world, image_name), settings, precise_key(model.key, settings.precision)),
    ]
    with (
        Store(EmbeddingCache(jobs[0][2], cache_folder), out, "texts", rank) as text_store,
        Store(EmbeddingCache(jobs[1][2], cache_folder), out, "images", rank) as image_store,
    ):
        stores = (text_store, image_store)
        stages = [Stage(job, store, rank, how) for (job, how, _), store in zip(jobs, stores, strict=True)]
        for stage in stages:
            stage.warm_up()
        sized(stages[1].limit)
        announce_time(stages, rank)
        for stage in stages:
            stage.finish()
        if rank.first:
            text_vectors, image_vectors = (
                _matrix(store.gather(list(dict.fromkeys(names.values())), what), list(names.values()))
                for store, names, what in zip(stores, (text_name, image_name), ("texts", "images"), strict=True)
            )
            _write(out, needs, image_vectors, text_vectors)


def precise_key(key: str, precision: str) -> str:
    """What identifies what was computed in a precision: that of the model, and the precision where it is not float32."""
    return key if precision == "float32" else f"{key}-{precision}"


def text_digest(text: str) -> str:
    """What identifies a text in the cache."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _texts(model: DualEncoder, benchmark: Benchmark, names: dict[str, str]) -> Job:
    text_of = {name: benchmark.text_of[text] for text, name in names.items()}
    distinct = list(text_of)

    def compute(rows: list[int], loaded: Mapping[str, Any]) -> np.ndarray:
        return model.encode_texts([text_of[distinct[row]] for row in rows])

    plan = partial(plain_plan, len(distinct))
    return Job("texts", distinct, plan, lambda rows: [], lambda image: None, compute)


def _images(model: DualEncoder, world: World, names: dict[str, str]) -> Job:
    scene_of = {name: scene for scene, name in names.items()}
    distinct = list(scene_of)
    prepare = getattr(model, "prepare", lambda image: image)

    def compute(rows: list[int], loaded: Mapping[str, Any]) -> np.ndarray:
        return model.encode_images([loaded[scene_of[distinct[row]]] for row in rows])

    return Job(
        "images", distinct, partial(plain_plan, len(distinct)), lambda rows: [scene_of[distinct[row]] for row in rows],
        lambda scene: prepare(world.image(scene)), compute,
    )  # fmt: skip


def _matrix(vectors: dict[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
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
            matrix = images[[image_row[i] for i in pool_images]] @ texts[[text_row[t] for t in pool_texts]].T
            write_pool(out, pool, CHANNEL, 0, matrix)
