"""Score dual encoders: each image and each text is encoded once; the score of a pair is a cosine in
float32."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.models.contracts import DualEncoder
from evaluator.scoring.batches import Job, Settings, compute, plan_batches
from evaluator.scoring.needs import Distinct, Needs, words
from evaluator.scoring.store import EMBEDDINGS, Process, VectorCache
from evaluator.scoring.writing import pool_path, write_matrix, write_scores
from generator.dataset.reader import Benchmark, Images

CHANNEL = "cosine"
PAIRS_AT_ONCE = 65_536
"""Pairs whose cosines are computed at once."""


def score_dual(
    model: DualEncoder,
    world: Images,
    benchmark: Benchmark,
    needs: Needs,
    names: Sequence[str],
    out: Path,
    settings: Settings,
    process: Process,
    cache_folder: Path | None,
) -> None:
    """Encode inputs that are not in the cache; the main process writes scores.parquet and, for
    pools, their embeddings.

    names: the name of each text in the cache, in the order of the needs. Images may be computed in
        bfloat16, texts are
    always computed in float32: protocols compare texts, and texts that should tie must not differ
    by rounding. The
    rounding of an image affects all its texts alike.
    """
    texts = Distinct([f"text:{name}" for name in names])
    images = Distinct([f"image:{world.image_digest(image)}" for image in needs.images.to_pylist()])
    text_job = _texts(model, words(benchmark, needs.texts), texts)
    image_job = _images(model, world, needs.images, images)
    found = []
    for job, how in ((text_job, replace(settings, precision="float32")), (image_job, settings)):
        cache = VectorCache.of_model(EMBEDDINGS, cache_key(model.key, how.precision), cache_folder)
        found.append(compute(job, cache, out, how, process))
    text_vectors, image_vectors = found
    if text_vectors is not None and image_vectors is not None:
        _write(out, needs, (image_vectors, images.place), (text_vectors, texts.place))


def cache_key(key: str, precision: str) -> str:
    """The name of the cache of a model's results in a precision."""
    return key if precision == "float32" else f"{key}-{precision}"


def _texts(model: DualEncoder, texts: pa.ChunkedArray, names: Distinct) -> Job:
    def encode(rows: np.ndarray, images: Mapping[str, Any]) -> np.ndarray:
        return model.encode_texts(texts.take(pa.array(names.first[rows])).to_pylist())

    plan = partial(plan_batches, len(names))
    return Job("text", len(names), names.of, plan, lambda rows: [], lambda image: None, encode)


def _images(model: DualEncoder, world: Images, ids: pa.Array, names: Distinct) -> Job:
    def scenes(rows: np.ndarray) -> list[str]:
        return ids.take(pa.array(names.first[rows])).to_pylist()

    def encode(rows: np.ndarray, images: Mapping[str, Any]) -> np.ndarray:
        return model.encode_images([images[scene] for scene in scenes(rows)])

    plan = partial(plan_batches, len(names))
    return Job(
        "image",
        len(names),
        names.of,
        plan,
        scenes,
        lambda scene: model.prepare(world.image(scene)),
        encode,
    )


def _write(
    out: Path,
    needs: Needs,
    images: tuple[np.ndarray, np.ndarray],
    texts: tuple[np.ndarray, np.ndarray],
) -> None:
    """Write the files of scores. images, texts: the distinct vectors, float32 (m, d), and the index
    of each row's vector, (n,)."""
    (image_vectors, image_row), (text_vectors, text_row) = images, texts
    left, right = needs.pairs
    scores = np.empty((len(left), 1), dtype=np.float32)
    with np.errstate(invalid="ignore"):
        for start in range(0, len(left), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            scores[part, 0] = np.einsum(
                "nd,nd->n",
                image_vectors[image_row[left[part]]],
                text_vectors[text_row[right[part]]],
            )
        write_scores(out, *needs.ids(), scores, (CHANNEL,))
        for pool, (pool_images, pool_texts) in needs.pools.items():
            write_matrix(pool_path(out, pool, of="images"), image_vectors, image_row[pool_images])
            write_matrix(pool_path(out, pool, of="texts"), text_vectors, text_row[pool_texts])
