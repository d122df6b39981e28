"""The train split as tensors."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import open_clip
import pyarrow.compute as pc
import torch
from torch import Tensor

from generator.dataset.errors import UserError
from generator.dataset.progress import SILENT, Progress
from generator.dataset.reader import Benchmark, World

TRAIN = "train"
"""The protocol of training items, and the split of their scenes."""


@dataclass(frozen=True)
class TrainingSet:
    """Images and texts of the train split, held in memory.

    images: uint8 (n, 3, size, size). tokens: int64 (m, context), one row for each distinct text. captions: int64 (n, 2),
    rows of `tokens` that are true of each image, one for each order of mention. negatives: int64 (n, 2), the swap negative
    of each caption, -1 where it has none. scenes: scene_id of each image. texts: text_id of each row of `tokens`.
    """

    images: Tensor
    tokens: Tensor
    captions: np.ndarray
    negatives: np.ndarray
    scenes: Sequence[str] = ()
    texts: Sequence[str] = ()


def read_training_set(
    world: World, benchmark: Benchmark, size: int, context: int, progress: Progress = SILENT
) -> TrainingSet:
    """Read the train split: images scaled on their shorter side to `size` and cropped in the middle.

    Raises UserError when an item of the protocol train is not of the split train, or its scene is not.
    """
    _check_split(benchmark)
    pairs: dict[str, list[tuple[str, str]]] = defaultdict(list)
    negative_of: dict[tuple[str, str], str] = {}
    train = set(benchmark.items_of(TRAIN)["item_id"].to_pylist())
    columns = (benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id", "text_id", "truth", "of"))
    for item_id, scene_id, text_id, truth, of in zip(*columns, strict=True):
        if item_id not in train:
            continue
        if truth:
            pairs[scene_id].append((scene_id, text_id))
        else:
            negative_of[scene_id, of] = text_id
    scenes = sorted(pairs)
    row_of: dict[str, int] = {}
    for text_id in [t for scene in scenes for _, t in pairs[scene]] + list(negative_of.values()):
        row_of.setdefault(text_id, len(row_of))
    captions = np.array([[row_of[t] for _, t in pairs[scene]] for scene in scenes])
    negatives = np.array([[row_of.get(negative_of.get(key, ""), -1) for key in pairs[scene]] for scene in scenes])
    tokens = open_clip.SimpleTokenizer(context_length=context)([benchmark.text_of[t] for t in row_of])
    return TrainingSet(_images(world, scenes, size, progress), tokens, captions, negatives, scenes, list(row_of))


def _check_split(benchmark: Benchmark) -> None:
    """Training data are the items of protocol train, over the scenes of split train: the judge's definition too."""
    items = benchmark.items_of(TRAIN)
    astray = items.filter(pc.fill_null(pc.not_equal(items["split"], TRAIN), True))["item_id"].to_pylist()
    train = set(items["item_id"].to_pylist())
    scenes = set(benchmark.splits.filter(pc.equal(benchmark.splits["split"], TRAIN))["scene_id"].to_pylist())
    rows = zip(*(benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id")), strict=True)
    astray += [item_id for item_id, scene_id in rows if item_id in train and scene_id not in scenes]
    if astray:
        raise UserError(
            f"{benchmark.folder} trains on scenes outside its split train ({len(astray)} rows, the first of item {astray[0]}), so "
            f"that nothing would be unseen; `gen verify` names them all. Make the benchmark again."
        )


def _images(world: World, scenes: list[str], size: int, progress: Progress) -> Tensor:
    scale = open_clip.transform.image_transform(size, is_train=False).transforms
    crop = [step for step in scale if type(step).__name__ in ("Resize", "CenterCrop")]
    images = torch.empty((len(scenes), 3, size, size), dtype=torch.uint8)
    for i, scene_id in enumerate(progress.each(scenes, "reading images", len(scenes))):
        picture = world.image(scene_id)
        for step in crop:
            picture = step(picture)
        images[i] = torch.from_numpy(np.asarray(picture).copy()).permute(2, 0, 1)
    return images
