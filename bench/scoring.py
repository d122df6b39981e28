"""Scoring with a model of random weights: against the loops of other harnesses, and against its
encoders alone.

SugarCrepe's evaluation encodes an image and each of its two texts one by one; CLIP_benchmark's
retrieval encodes batches of images with all their texts. Both encode a text again for every image
beside it.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pyarrow as pa
import torch
from PIL import Image
from safetensors.torch import save_file

from bench.figures import Figure, repeated, seconds
from evaluator.models.contracts import DualEncoder
from evaluator.models.registry import load_model
from evaluator.scoring.needs import Needs, collect_needs, make_needs, words
from evaluator.scoring.score import score
from generator.dataset.reader import Benchmark, Dataset, World
from tests.generator.unrendered import BENCHMARK, write_texts, write_world

SCENES = {"train": 60, "val": 20, "seen": 120, "partial": 120, "unseen": 60}
"""Scenes of the world, by split."""
TEXTS = 10
"""Texts an image."""
IMAGES = 120
"""Images that are scored, and different texts."""
BATCH = 128
"""Images or texts of a batch."""
LOOPED = 60
"""Pairs of SugarCrepe's way, which is slow."""
SHAPE: dict[str, Any] = {
    "embed_dim": 256,
    "vision_cfg": {
        "layers": 6,
        "width": 256,
        "head_width": 64,
        "patch_size": 16,
        "image_size": 160,
    },
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 256, "heads": 4, "layers": 6},
}
"""The shape of a small CLIP: its encoders, not the disk, should be what takes time."""


def figures() -> list[Figure]:
    """Pairs a second of the three ways, ratios, time over that of the encoders alone, similarities
    a second of a pool.

    No embedding is cached before.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "world"
        model = _model(Path(folder) / "model")
        write_texts(root, write_world(root, SCENES))
        dataset = Dataset.open(root)
        world, benchmark = dataset.world, dataset.benchmark(BENCHMARK)
        needs = _ten_texts(benchmark)
        run = _scorer(model, world, benchmark, needs, Path(folder))
        encoders = _encoders(model, world, benchmark, needs)
        # In turn, since the speed of a machine varies.
        timed = [(seconds(encoders), seconds(run)) for _ in range(5)]
        loop = repeated(
            "SugarCrepe's way",
            "pairs/s",
            lambda: LOOPED / seconds(lambda: _one_by_one(model, world, benchmark, needs)),
        )
        batched = repeated(
            "CLIP_benchmark's way",
            "pairs/s",
            lambda: (
                needs.pairs.shape[1] / seconds(lambda: _batched(model, world, benchmark, needs))
            ),
        )
        whole = collect_needs(benchmark, ["retrieval"])
        cells = sum(len(images) * len(texts) for images, texts in whole.pools.values())
        pool = cells / seconds(_scorer(model, world, benchmark, whole, Path(folder)))
    pairs = Figure(
        f"{needs.pairs.shape[1]:,} pairs, score run",
        "pairs/s",
        tuple(needs.pairs.shape[1] / run for _, run in timed),
    )
    over_loop = tuple(value / loop.median for value in pairs.values)
    over_batched = tuple(value / batched.median for value in pairs.values)
    over_encoders = tuple(100 * (run / alone - 1) for alone, run in timed)
    return [
        pairs,
        loop,
        batched,
        Figure("score run against SugarCrepe's way (bar: 4 or more)", "times", over_loop),
        Figure("score run against CLIP_benchmark's way", "times", over_batched),
        Figure("score run over its encoders alone (bar: 10 or less)", "% more time", over_encoders),
        Figure("R@1, score run", "pairs/s", (pool,)),
    ]


def _ten_texts(benchmark: Benchmark) -> Needs:
    """Ten captions of the grid an image, neighbours in their order: each caption stands beside
    several images."""
    whole = collect_needs(benchmark, ["binary", "retrieval"])
    images, texts = whole.pools["grid"]
    few = texts[:IMAGES]
    place = np.repeat(np.arange(min(IMAGES, len(images))), TEXTS)
    texts = few[(place + np.tile(np.arange(TEXTS), len(place) // TEXTS)) % len(few)]
    sides = (whole.images.take(pa.array(images[place])), whole.texts.take(pa.array(texts)))
    images_column, texts_column = (pa.chunked_array([side]) for side in sides)
    return make_needs(images_column, texts_column, contest=place, pools={})


def _model(folder: Path) -> DualEncoder:
    folder.mkdir()
    torch.manual_seed(0)
    weights = {
        name: tensor.contiguous() for name, tensor in open_clip.CLIP(**SHAPE).state_dict().items()
    }
    save_file(weights, folder / "open_clip_model.safetensors")
    config = {
        "model_cfg": SHAPE,
        "preprocess_cfg": {
            "mean": open_clip.OPENAI_DATASET_MEAN,
            "std": open_clip.OPENAI_DATASET_STD,
        },
    }
    (folder / "open_clip_config.json").write_text(json.dumps(config), encoding="utf-8")
    model: DualEncoder = load_model(f"open_clip:local-dir:{folder}", None)
    return model


def _scorer(
    model: DualEncoder, world: World, benchmark: Benchmark, needs: Needs, folder: Path
) -> Callable[[], object]:
    def run() -> None:
        # A new cache each time: nothing must be found in it.
        with (
            tempfile.TemporaryDirectory(dir=folder) as out,
            tempfile.TemporaryDirectory(dir=folder) as cache,
        ):
            score(
                model,
                world,
                benchmark=benchmark,
                needs=needs,
                out=Path(out),
                batch=BATCH,
                cache_folder=Path(cache),
            )

    return run


def _encoders(
    model: DualEncoder, world: World, benchmark: Benchmark, needs: Needs
) -> Callable[[], object]:
    """The encoders alone, on the distinct images and texts, in batches of the same size; images are
    in memory."""
    pictures = [world.image(image) for image in needs.images.to_pylist()]
    texts = words(benchmark, needs.texts).to_pylist()

    def run() -> None:
        for start in range(0, len(pictures), BATCH):
            model.encode_images(pictures[start : start + BATCH])
        for start in range(0, len(texts), BATCH):
            model.encode_texts(texts[start : start + BATCH])

    return run


def _one_by_one(model: DualEncoder, world: World, benchmark: Benchmark, needs: Needs) -> None:
    """Two texts an image, as SugarCrepe's items have; LOOPED pairs in all."""
    for scene_id, texts in list(_texts_of_images(needs).items())[: LOOPED // 2]:
        picture = model.encode_images([model.prepare(_opened(world, scene_id))])
        # Encoded again for each image, as those loops do.
        for text_id in texts[:2]:
            np.vdot(picture, model.encode_texts([benchmark.text_of[text_id]]))


def _batched(model: DualEncoder, world: World, benchmark: Benchmark, needs: Needs) -> None:
    """Batches of images, and all texts of each image."""
    texts_of = _texts_of_images(needs)
    images = list(texts_of)
    for start in range(0, len(images), BATCH):
        part = images[start : start + BATCH]
        pictures = model.encode_images(
            [model.prepare(_opened(world, scene_id)) for scene_id in part]
        )
        for scene_id, picture in zip(part, pictures, strict=True):
            model.encode_texts([benchmark.text_of[text] for text in texts_of[scene_id]]) @ picture


def _texts_of_images(needs: Needs) -> dict[str, list[str]]:
    texts_of_image: dict[str, list[str]] = {}
    for scene_id, text_id in zip(*(side.to_pylist() for side in needs.ids()), strict=True):
        texts_of_image.setdefault(scene_id, []).append(text_id)
    return texts_of_image


def _opened(world: World, scene_id: str) -> Image.Image:
    with Image.open(world.image_path(scene_id)) as image:
        return image.convert("RGB")
