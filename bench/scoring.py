"""Scoring with a small model of random weights, against a loop that encodes each pair on its own."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import open_clip
from PIL import Image
from safetensors.torch import save_file

from bench.figures import Figure, repeated, seconds
from bench.worlds import BENCHMARK, write_texts, write_world
from evaluator.models.registry import DualEncoder, load_model
from evaluator.scoring import collect_needs, score
from evaluator.training.scratch import SMALL
from generator.dataset.reader import Benchmark, Dataset, World

SCENES = {"train": 24, "val": 100, "seen": 200, "partial": 200, "unseen": 100}
BATCH = 128
LOOPED = 200


def figures() -> list[Figure]:
    """Pairs a second of both ways, their ratio, and similarities a second of a retrieval pool; no embedding is cached before."""
    with tempfile.TemporaryDirectory() as folder:
        root, model = Path(folder) / "world", _model(Path(folder) / "model")
        write_texts(root, write_world(root, SCENES))
        dataset = Dataset.open(root)
        world, benchmark = dataset.world, dataset.benchmark(BENCHMARK)
        pairs = repeated("binary, score run", "pairs/s", _scorer(model, world, benchmark, "binary", Path(folder)))
        loop = repeated("binary, a pair at a time", "pairs/s", lambda: _loop(model, world, benchmark))
        pool = repeated("R@1, score run", "pairs/s", _scorer(model, world, benchmark, "retrieval", Path(folder)))
    ratios = tuple(a / b for a, b in zip(pairs.values, loop.values, strict=True))
    return [pairs, loop, Figure("score run against a pair at a time", "times", ratios), pool]


def _model(folder: Path) -> DualEncoder:
    folder.mkdir()
    weights = {name: tensor.contiguous() for name, tensor in open_clip.CLIP(**SMALL).state_dict().items()}
    save_file(weights, folder / "open_clip_model.safetensors")
    config = {
        "model_cfg": SMALL,
        "preprocess_cfg": {"mean": open_clip.OPENAI_DATASET_MEAN, "std": open_clip.OPENAI_DATASET_STD},
    }
    (folder / "open_clip_config.json").write_text(json.dumps(config), encoding="utf-8")
    return load_model(f"open_clip:local-dir:{folder}", None)


def _scorer(model: DualEncoder, world: World, benchmark: Benchmark, protocol: str, folder: Path) -> Callable[[], float]:
    needs = collect_needs(benchmark, [protocol])
    pairs = len(needs.pairs) + sum(len(images) * len(texts) for images, texts in needs.pools.values())

    def measure() -> float:
        with tempfile.TemporaryDirectory(dir=folder) as out, tempfile.TemporaryDirectory(dir=folder) as cache:
            return pairs / seconds(lambda: score(model, world, benchmark, needs, Path(out), BATCH, Path(cache)))

    return measure


def _loop(model: DualEncoder, world: World, benchmark: Benchmark) -> float:
    pairs = collect_needs(benchmark, ["binary"]).pairs[:LOOPED]

    def run() -> None:
        for scene_id, text_id in pairs:
            with Image.open(world.image_path(scene_id)) as image:
                picture = model.encode_images([image.convert("RGB")])
            np.vdot(picture, model.encode_texts([benchmark.text_of[text_id]]))

    return len(pairs) / seconds(run)
