"""What a training learns from: images, and the captions, negatives and positives of each."""

import json
import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pyarrow.compute as pc
from PIL import Image

from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, World

logger = logging.getLogger(__name__)
TRAIN = "train"
"""The protocol of training items, and the split of their scenes."""
NEGATIVES = ("swap", "replace", "flip", "neg")
POSITIVES = ("swap", "replace", "converse")
"""The kinds of training negatives and positives (docs/language.md)."""
NEGATIVE, POSITIVE = "n", "p"
"""The slots of a caption's negatives and of its positives."""


class Images(Protocol):
    """Where images lie: a World, or the folder of a corpus."""

    def image(self, name: str) -> Image.Image:
        """An RGB image by its name."""
        ...


@dataclass(frozen=True)
class TrainingData:
    """Texts by image.

    texts: distinct. captions: int64 (n, c), indices of `texts` that are captions of each of n images. negatives, positives:
    int64 (n, c, k), those of each caption. true: int64 (n, t), every text that is true of the image, captions and positives. All
    four have -1 where there are fewer. images: where each image lies, and its name. mirrored: whether an image may be mirrored,
    because no text says where something is. text_ids: those of `texts`, for benchmarks.
    """

    texts: Sequence[str]
    captions: np.ndarray
    negatives: np.ndarray
    positives: np.ndarray
    true: np.ndarray
    images: Sequence[tuple[Images, str]]
    mirrored: bool
    text_ids: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.images)

    @property
    def scenes(self) -> list[str]:
        """The names of the images."""
        return [name for _, name in self.images]

    def used(self) -> np.ndarray:
        """Indices of the texts that some step may show: captions, negatives and positives."""
        rows = np.concatenate([each.ravel() for each in (self.captions, self.negatives, self.positives)])
        return np.unique(rows[rows >= 0])

    def of_each_class(self, most: int | None, seed: int) -> "TrainingData":
        """At most so many images of each class, drawn by seed; a class is the images that the same captions describe."""
        if most is None:
            return self
        classes: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for i, row in enumerate(self.captions):
            classes[tuple(sorted(row))].append(i)
        kept = sorted(
            i for key, rows in classes.items() for i in Stream(seed, "images of a class", *key).sample(rows, most)
        )
        arrays = {name: getattr(self, name)[kept] for name in ("captions", "negatives", "positives", "true")}
        return replace(self, images=[self.images[i] for i in kept], **arrays)


@dataclass
class Described:
    """The captions of an image while they are collected: the negatives and positives of each, and what else is true."""

    captions: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    true: dict[str, None] = field(default_factory=dict)


def collect(
    described: Mapping[tuple[Images, str], Described], words: Mapping[str, str], mirrored: bool
) -> TrainingData:
    """The arrays of some images; texts are named by keys of `words`, which hold what they say.

    A negative that is true of its image, as a caption or a positive of it, is left out.
    """
    rows: dict[str, int] = {}
    astray = [(name, text) for (_, name), each in described.items() for text in _true_negatives(each)]
    if astray:
        name, text = astray[0]
        logger.info(
            f"Left out {len(astray):,} negatives that are true of their image, such as '{words[text]}' of {name}."
        )

    def row(text: str) -> int:
        return rows.setdefault(text, len(rows))

    captions = [[row(text) for text in each.captions] for each in described.values()]
    both = [
        [
            ([row(text) for text in negatives if text not in each.true], list(map(row, positives)))
            for negatives, positives in each.captions.values()
        ]
        for each in described.values()
    ]
    true = [[row(text) for text in each.true] for each in described.values()]
    return TrainingData(
        [words[text] for text in rows],
        _filled(captions, 2),
        _filled([[negatives for negatives, _ in each] for each in both], 3),
        _filled([[positives for _, positives in each] for each in both], 3),
        _filled(true, 2),
        list(described),
        mirrored,
        list(rows),
    )


def _true_negatives(image: Described) -> list[str]:
    return [text for negatives, _ in image.captions.values() for text in negatives if text in image.true]


def check_kinds(negatives: Collection[str], positives: Collection[str]) -> None:
    """Raise UserError for kinds of training negatives and positives that there are not."""
    for what, given, known in (("negatives", negatives, NEGATIVES), ("positives", positives, POSITIVES)):
        if unknown := [kind for kind in given if kind not in known]:
            raise UserError(f"Unknown kind of training {what} '{unknown[0]}'; {did_you_mean(unknown[0], list(known))}")


def default_kinds(benchmark: Benchmark) -> tuple[str, ...]:
    """The kinds of training captions to learn from: plain ones, and relations where relations are held out; all kinds where a
    benchmark has no plain ones."""
    there = tuple(sorted(set(benchmark.items_of(TRAIN)["kind"].to_pylist())))
    related = bool((benchmark.holdout or {}).get("triples"))
    usual = tuple(kind for kind in ("plain", *(("relations",) if related else ())) if kind in there)
    return usual or there


def read_training_data(
    world: World,
    benchmark: Benchmark,
    kinds: Collection[str] = (),
    negatives: Collection[str] = (),
    positives: Collection[str] = (),
    as_captions: bool = False,
) -> TrainingData:
    """Read the train split: captions of some kinds (none for `default_kinds`), their negatives and positives of some kinds.

    as_captions: whether these positives are captions like others, instead. Raises UserError when the train split is empty, when
    an item of the protocol train is not of the split train, or its scene is not, and for kinds that there are not.
    """
    check_kinds(negatives, positives)
    _check_split(benchmark)
    kind_of = _kinds_of(benchmark, kinds)
    words = benchmark.text_of
    described: dict[str, Described] = defaultdict(Described)
    columns = [
        benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id", "text_id", "slot", "kind", "of")
    ]
    said: set[str] = set()
    for item_id, scene_id, text_id, slot, kind, of in zip(*columns, strict=True):
        if item_id not in kind_of:
            continue
        image = described[scene_id]
        if slot == NEGATIVE:
            if kind in negatives:
                image.captions[of][0].append(text_id)
                said.add(text_id)
            continue
        image.true.setdefault(text_id)
        said.add(text_id)
        if slot != POSITIVE or (as_captions and kind in positives):
            image.captions.setdefault(text_id, ([], []))
        elif kind in positives:
            image.captions[of][1].append(text_id)
    ordered: dict[tuple[Images, str], Described] = {(world, scene): described[scene] for scene in sorted(described)}
    return collect(ordered, words, not says_where(benchmark, said))


def says_where(benchmark: Benchmark, texts: Collection[str]) -> bool:
    """Whether some of these texts state a relation, or have no form that would tell: mirroring could make them false."""
    form_of = dict(zip(benchmark.texts["text_id"].to_pylist(), benchmark.texts["form"].to_pylist(), strict=True))
    return any(form_of[text] is None or json.loads(form_of[text]).get("relations") for text in texts)


def _kinds_of(benchmark: Benchmark, kinds: Collection[str]) -> dict[str, str]:
    """The kind of each training item of these kinds."""
    items = benchmark.items_of(TRAIN)
    found = dict(zip(items["item_id"].to_pylist(), items["kind"].to_pylist(), strict=True))
    if not found:
        raise UserError(
            f"{benchmark.folder} has no training items: its train split is empty; render scenes for it (`gen render --scenes`)."
        )
    if unknown := sorted(set(kinds) - set(found.values())):
        raise UserError(
            f"{benchmark.folder} has no training texts of the kind {', '.join(unknown)}; it has "
            f"{', '.join(sorted(set(found.values())))}."
        )
    asked = set(kinds or default_kinds(benchmark))
    return {item: kind for item, kind in found.items() if kind in asked}


def _filled(rows: Sequence[Sequence[Any]], dimensions: int) -> np.ndarray:
    """Rows of numbers, or of rows of numbers, as one int64 array filled up with -1."""
    if dimensions == 2:
        found = np.full((len(rows), max(map(len, rows), default=0)), -1, np.int64)
        for i, row in enumerate(rows):
            found[i, : len(row)] = row
        return found
    width = max((len(each) for row in rows for each in row), default=0)
    found = np.full((len(rows), max(map(len, rows), default=0), max(1, width)), -1, np.int64)
    for i, row in enumerate(rows):
        for j, each in enumerate(row):
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
