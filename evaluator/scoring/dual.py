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
from evaluator.scoring.needs import DistinctNames, Needs, words
from evaluator.scoring.store import EMBEDDINGS, Process, VectorCache
from evaluator.scoring.writing import IMAGE_SIDE, TEXT_SIDE, pool_path, write_matrix, write_scores
from generator.dataset.reader import Benchmark, Images

CHANNEL = "cosine"
PAIRS_AT_ONCE = 65_536
"""Pairs whose cosines are computed at once, so that memory does not grow with their number."""

_Vectors = tuple[np.ndarray, np.ndarray]
"""Distinct vectors, float32 (m, d), and the index of the vector of each row of the needs, (n,)."""


def score_dual(
    model: DualEncoder,
    world: Images,
    *,
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

    Images may be computed in bfloat16, texts are always computed in float32: protocols compare
    texts, and texts that should tie must not differ by rounding. The rounding of an image affects
    all its texts alike.

    Args:
        model: The model.
        world: The images.
        benchmark: The texts.
        needs: The pairs to score.
        names: The name of each text in the cache, in the order of the needs.
        out: The folder of the run.
        settings: Device, precision and batch size.
        process: This process; each encodes its share.
        cache_folder: The folder of the cache; None for the user's.
    """
    texts = DistinctNames([f"text:{name}" for name in names])
    image_names = [f"image:{world.image_digest(image)}" for image in needs.images.to_pylist()]
    images = DistinctNames(image_names)

    def encode_all(job: Job, job_settings: Settings) -> np.ndarray | None:
        key = cache_key(model.key, job_settings.precision)
        cache = VectorCache.of_model(EMBEDDINGS, key, cache_folder)
        return compute(job, cache, out=out, settings=job_settings, process=process)

    text_job = _text_job(model, words(benchmark, needs.texts), texts)
    image_job = _image_job(model, world, ids=needs.images, names=images)
    text_vectors = encode_all(text_job, replace(settings, precision="float32"))
    image_vectors = encode_all(image_job, settings)
    # None in processes other than the main one.
    if text_vectors is not None and image_vectors is not None:
        image_side = (image_vectors, images.index)
        _write(out, needs, images=image_side, texts=(text_vectors, texts.index))


def cache_key(key: str, precision: str) -> str:
    """The name of the cache of a model's results in a precision.

    >>> cache_key("0a1b", "float32"), cache_key("0a1b", "bfloat16")
    ('0a1b', '0a1b-bfloat16')
    """
    return key if precision == "float32" else f"{key}-{precision}"


def _text_job(model: DualEncoder, texts: pa.ChunkedArray, names: DistinctNames) -> Job:
    def encode(rows: np.ndarray, images: Mapping[str, Any]) -> np.ndarray:
        text_rows = pa.array(names.first[rows])
        return model.encode_texts(texts.take(text_rows).to_pylist())

    return Job(
        item="text",
        total=len(names),
        names=names.at,
        plan=partial(plan_batches, len(names)),
        images=lambda rows: [],
        load=lambda image: None,
        compute=encode,
    )


def _image_job(model: DualEncoder, world: Images, *, ids: pa.Array, names: DistinctNames) -> Job:
    def scene_ids(rows: np.ndarray) -> list[str]:
        image_rows = pa.array(names.first[rows])
        return ids.take(image_rows).to_pylist()

    def encode(rows: np.ndarray, images: Mapping[str, Any]) -> np.ndarray:
        return model.encode_images([images[scene] for scene in scene_ids(rows)])

    return Job(
        item="image",
        total=len(names),
        names=names.at,
        plan=partial(plan_batches, len(names)),
        images=scene_ids,
        load=lambda scene: model.prepare(world.image(scene)),
        compute=encode,
    )


def _write(out: Path, needs: Needs, *, images: _Vectors, texts: _Vectors) -> None:
    """Write the files of scores from the vectors of all images and texts."""
    image_vectors, image_index = images
    text_vectors, text_index = texts
    pair_images, pair_texts = needs.pairs
    scores = np.empty((len(pair_images), 1), dtype=np.float32)
    # A model may give NaN, which is written as unscored.
    with np.errstate(invalid="ignore"):
        for start in range(0, len(pair_images), PAIRS_AT_ONCE):
            part = slice(start, start + PAIRS_AT_ONCE)
            image_rows = image_index[pair_images[part]]
            text_rows = text_index[pair_texts[part]]
            # Vectors have unit length, so their dot product is the cosine.
            scores[part, 0] = np.einsum(
                "nd,nd->n", image_vectors[image_rows], text_vectors[text_rows]
            )
        image_ids, text_ids = needs.ids()
        write_scores(out, image_ids, text_ids, scores=scores, channels=(CHANNEL,))
        # A pool keeps the embeddings of both sides, far smaller than its matrix of scores.
        for pool, (pool_images, pool_texts) in needs.pools.items():
            image_path = pool_path(out, pool, side=IMAGE_SIDE)
            text_path = pool_path(out, pool, side=TEXT_SIDE)
            write_matrix(image_path, image_vectors, image_index[pool_images])
            write_matrix(text_path, text_vectors, text_index[pool_texts])
