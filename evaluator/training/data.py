"""The train split as tensors."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import open_clip
import pyarrow.compute as pc
import torch
from torch import Tensor

from generator.dataset.errors import UserError, did_you_mean
from generator.dataset.progress import SILENT, Progress
from generator.dataset.reader import Benchmark, World

TRAIN = "train"
"""The protocol of training items, and the split of their scenes."""
NEGATIVES = ("swap", "replace", "flip", "neg")
"""The kinds of training negatives (docs/language.md)."""
LEAST_CONTEXT = 16
"""The least length of a row of tokens."""


NEGATIVE, POSITIVE = "n", "p"
"""The slots of a caption's negatives and of its positives."""


@dataclass(frozen=True)
class TrainingTexts:
    """The texts of the train split, by image.

    tokens: int64 (m, context), one row for each distinct text. captions: int64 (n, c), rows of `tokens` that are captions of
    each image. negatives: int64 (n, c, k), the negatives of each caption. true: int64 (n, t), every row that is true of the
    image, captions and positives. All three have -1 where an image has fewer. scenes: scene_id of each image. texts: text_id
    of each row of `tokens`.
    """

    tokens: Tensor
    captions: np.ndarray
    negatives: np.ndarray
    true: np.ndarray
    scenes: Sequence[str] = ()
    texts: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class TrainingSet(TrainingTexts):
    """Texts and images of the train split, held in memory. images: uint8 (n, 3, size, size)."""

    images: Tensor


def default_kinds(benchmark: Benchmark) -> tuple[str, ...]:
    """The kinds of training captions to learn from: plain ones, and relations where relations are held out; all kinds where a
    benchmark has no plain ones."""
    there = tuple(sorted(set(benchmark.items_of(TRAIN)["kind"].to_pylist())))
    related = bool((benchmark.holdout or {}).get("triples"))
    usual = tuple(kind for kind in ("plain", *(("relations",) if related else ())) if kind in there)
    return usual or there


def read_training_texts(
    benchmark: Benchmark,
    kinds: Collection[str],
    negatives: Collection[str],
    positives: bool = False,
    context: int = LEAST_CONTEXT,
) -> TrainingTexts:
    """Read the texts of the train split: captions of some kinds, their negatives of some kinds; positives are captions too
    where asked for. Rows of tokens are as long as the longest text needs, and at least `context`.

    Raises UserError when an item of the protocol train is not of the split train, or its scene is not, and for kinds of captions that
    the benchmark does not have or of negatives that there are not.
    """
    for kind in negatives:
        if kind not in NEGATIVES:
            raise UserError(f"Unknown kind of training negatives '{kind}'; {did_you_mean(kind, list(NEGATIVES))}")
    _check_split(benchmark)
    items = benchmark.items_of(TRAIN)
    kind_of = dict(zip(items["item_id"].to_pylist(), items["kind"].to_pylist(), strict=True))
    if unknown := sorted(set(kinds) - set(kind_of.values())):
        raise UserError(
            f"{benchmark.folder} has no training texts of the kind {', '.join(unknown)}; it has "
            f"{', '.join(sorted(set(kind_of.values())))}."
        )
    rows: dict[str, int] = {}
    captions: dict[str, dict[int, list[int]]] = defaultdict(dict)
    true: dict[str, dict[int, None]] = defaultdict(dict)
    columns = [
        benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id", "text_id", "slot", "kind", "of")
    ]
    for item_id, scene_id, text_id, slot, kind, of in zip(*columns, strict=True):
        if kind_of.get(item_id) not in kinds:
            continue
        if slot == NEGATIVE:
            if kind in negatives:
                captions[scene_id][rows[of]].append(rows.setdefault(text_id, len(rows)))
            continue
        row = rows.setdefault(text_id, len(rows))
        true[scene_id].setdefault(row)
        if slot != POSITIVE or positives:
            captions[scene_id].setdefault(row, [])
    scenes = sorted(captions)
    tokens = _tokens([benchmark.text_of[text] for text in rows], context)
    return TrainingTexts(
        tokens,
        _padded([list(captions[scene]) for scene in scenes]),
        _padded([list(captions[scene].values()) for scene in scenes]),
        _padded([list(true[scene]) for scene in scenes]),
        scenes,
        list(rows),
    )


def with_images(texts: TrainingTexts, world: World, size: int, progress: Progress = SILENT) -> TrainingSet:
    """The texts with their images, scaled on their shorter side to `size` and cropped in the middle."""
    return TrainingSet(**vars(texts), images=_images(world, texts.scenes, size, progress))


def _tokens(texts: Sequence[str], context: int) -> Tensor:
    tokenizer = open_clip.SimpleTokenizer()
    longest = max((len(tokenizer.encode(text)) for text in texts), default=0) + 2  # start and end of the text
    rows: Tensor = tokenizer(texts, context_length=max(context, longest))
    return rows


def _padded(rows: Sequence[Sequence[Any]]) -> np.ndarray:
    """Rows of numbers, or of rows of numbers, as one int64 array filled up with -1."""
    inner = [each for row in rows for each in row if isinstance(each, list)]
    shape = [len(rows), max(map(len, rows), default=0)]
    if inner:
        shape.append(max(1, *map(len, inner)))
    found = np.full(shape, -1, np.int64)
    for i, row in enumerate(rows):
        if not inner:
            found[i, : len(row)] = row
        for j, each in enumerate(row if inner else ()):
            found[i, j, : len(each)] = each
    return found


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


def _images(world: World, scenes: Sequence[str], size: int, progress: Progress) -> Tensor:
    scale = open_clip.transform.image_transform(size, is_train=False).transforms
    crop = [step for step in scale if type(step).__name__ in ("Resize", "CenterCrop")]
    images = torch.empty((len(scenes), 3, size, size), dtype=torch.uint8)
    for i, scene_id in enumerate(progress.each(scenes, "reading images", len(scenes))):
        picture = world.image(scene_id)
        for step in crop:
            picture = step(picture)
        images[i] = torch.from_numpy(np.asarray(picture).copy()).permute(2, 0, 1)
    return images
