"""What an export for training holds of each scene: its image and what is true and false of it."""

import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from generator.dataset.errors import UserError
from generator.dataset.licences import licences_of_others
from generator.dataset.reader import Benchmark, Dataset
from generator.holdout.membership import SPLITS

_FRAGMENTS = "d"  # slots of decomposed captions: pieces that say little of the scene


@dataclass(frozen=True)
class Sample:
    """A scene of a split: its image as PNG, and the distinct texts that are true and false of it, in their order."""

    scene_id: str
    image: bytes
    captions: list[str]
    negatives: list[str]


class Samples:
    """The scenes of a benchmark's splits that have a caption."""

    def __init__(self, dataset: Dataset, benchmark: Benchmark):
        self._world, self._text_of = dataset.world, benchmark.text_of
        self._texts: dict[str, dict[str, bool]] = defaultdict(dict)
        columns = (benchmark.candidates[name].to_pylist() for name in ("scene_id", "text_id", "slot", "truth"))
        for scene_id, text_id, slot, truth in zip(*columns, strict=True):
            if not slot.startswith(_FRAGMENTS):
                self._texts[scene_id][text_id] = truth
        self._scenes: dict[str, list[str]] = defaultdict(list)
        pairs = zip(benchmark.splits["scene_id"].to_pylist(), benchmark.splits["split"].to_pylist(), strict=True)
        for scene_id, split in pairs:
            if split is not None and any(self._texts[scene_id].values()):
                self._scenes[split].append(scene_id)

    def splits(self) -> dict[str, int]:
        """How many scenes each split has; none is empty."""
        names = [split for split in SPLITS if split in self._scenes]
        names += sorted(set(self._scenes).difference(names))
        return {name: len(self._scenes[name]) for name in names}

    @property
    def licences(self) -> str:
        """What has to go with images of meshes of others; empty where there are none."""
        lines = licences_of_others(self._world.manifest["request"].get("assets"))
        return "\n".join(["The images show meshes of others:", "", *lines, ""]) if lines else ""

    def of(self, split: str) -> Iterator[Sample]:
        """The scenes of a split. Raises UserError when an image is damaged."""
        for scene_id in self._scenes[split]:
            told: dict[bool, list[str]] = {True: [], False: []}
            for text_id, truth in self._texts[scene_id].items():
                told[truth].append(self._text_of[text_id])
            yield Sample(scene_id, self._world.read(f"images/{scene_id}.png"), told[True], told[False])


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder to write into that becomes `out` when all went well. Raises UserError when `out` is there already."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is there already; remove it or choose another --out.")
    draft = out.with_name(f".{out.name}.{os.getpid()}")
    draft.mkdir(parents=True)
    try:
        yield draft
        os.replace(draft, out)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
