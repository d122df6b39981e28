"""`gen export webdataset`: images and captions in tars, a folder a split, for training with the webdataset library."""

import json
from collections.abc import Iterator
from pathlib import Path

from generator.base.progress import SILENT, Progress
from generator.dataset.packing import Member, TarWriter
from generator.exports.samples import Sample, Samples, whole_folder


def export_webdataset(samples: Samples, size: int, out: Path, progress: Progress = SILENT) -> dict[str, int]:
    """Write `out`/SPLIT/000000.tar and so on, of at most `size` bytes each; returns the number of scenes by split.

    A scene is ID.png, ID.txt (its first caption) and ID.json (scene_id, split, captions, negatives). A tar holds at
    least one scene, however large.
    """
    splits = samples.splits()
    with whole_folder(out) as folder, progress.track("writing", sum(splits.values())) as advance:
        if samples.licences:
            (folder / "LICENCE.md").write_text(samples.licences, encoding="utf-8")
        for split in splits:
            (folder / split).mkdir()
            members = (_members(sample, split) for sample in samples.of(split))
            for _ in _tars(folder / split, members, size):
                advance()
    return splits


def _tars(folder: Path, scenes: Iterator[list[Member]], size: int) -> Iterator[None]:
    """Write the tars of a split; yields after each scene."""
    number, scene = 0, next(scenes, None)
    while scene is not None:
        with TarWriter(folder / f"{number:06d}.tar") as tar:
            while scene is not None and tar.fits(scene, size):
                tar.add(scene)
                yield
                scene = next(scenes, None)
        number += 1


def _members(sample: Sample, split: str) -> list[Member]:
    shown = {
        "scene_id": sample.scene_id, "split": split, "captions": sample.captions, "negatives": sample.negatives,
    }  # fmt: skip
    return [
        (f"{sample.scene_id}.png", sample.image),
        (f"{sample.scene_id}.txt", sample.captions[0].encode()),
        (f"{sample.scene_id}.json", json.dumps(shown, sort_keys=True, ensure_ascii=False).encode()),
    ]
