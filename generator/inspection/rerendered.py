"""Renders recorded scenes again and compares images, outputs and boxes with those of the world."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from skimage.metrics import peak_signal_noise_ratio

from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress
from generator.dataset.outputs import Box, decode
from generator.dataset.reader import Dataset
from generator.judge.certificate import Finding, finding
from generator.render.farm import Farm
from generator.render.rerender import Changes, prepare_rerender
from generator.render.run import worker_setup
from generator.render.settings import find_device, qualities
from generator.scene.planned import Recorded

LEAST_DECIBELS = 38.0
"""Minimum PSNR between renders of a scene on different machines, in the whole image and in the box
of every object."""
_BOX = 1  # pixels by which a recorded box may differ
_VISIBLE = 0.05  # by which a recorded visible fraction may differ
_SAME = 0.99  # minimum share of an output's numbers that agree between machines
_BLOCK = 8
LARGEST = 12.0
"""Maximum mean difference of an 8x8 block, 0..255, between renders of a scene on different
machines."""
_COMMON = (
    0.2  # maximum of: correlation of differences within a split minus correlation between splits
)
_FEWEST = 4  # minimum number of images for a correlation
_NEAR = 0.01  # tolerance in metres of depth, or in components of a unit normal


@dataclass
class Compared:
    """Results of comparing new renders with recorded images.

    `identical`: number of byte-identical images. `others`: scenes of the other images; `least`:
    their minimum PSNR in
    decibels, in whole images and boxes; `largest`: their maximum mean difference of an 8x8 block,
    0..255. `marks`: by
    split, the sum of its images' differences as unit vectors, and their number. `faulty`: scenes
    with a finding.
    """

    identical: int = 0
    others: list[str] = field(default_factory=list)
    least: float = float("inf")
    largest: float = 0.0
    marks: dict[Any, tuple[NDArray[np.float64], int]] = field(default_factory=dict)
    faulty: set[str] = field(default_factory=set)

    def add(self, scene_id: str, split: Any, off: NDArray[np.float64]) -> None:
        """Add an image that differs. `off`: the new image minus the recorded image, [h, w, 3]."""
        self.others.append(scene_id)
        self.largest = max(self.largest, _largest_block(np.abs(off)))
        if length := float(np.linalg.norm(off)):
            sums, n = self.marks.get(split, (np.zeros(off.shape), 0))
            if sums.shape == off.shape:
                self.marks[split] = sums + off / length, n + 1

    def findings(self) -> Iterator[Finding]:
        """Findings over all images of a world.

        The same processor type and Blender version render the same bytes: if some images are
        identical, all must be. Otherwise the images of one split must not differ from their new
        renders in the same way.
        """
        if self.identical:
            for scene_id in (each for each in self.others if each not in self.faulty):
                yield finding(
                    "not the same render",
                    f"scene {scene_id}: rendered again, its image has other bytes, while the "
                    f"images of {self.identical:,} other scenes are identical",
                )
            return
        for split, common in _common(self.marks).items():
            if common > _COMMON:
                yield finding(
                    "not the same render",
                    f"images of the split {'/'.join(split)} differ from new renders in the same "
                    f"way: the mean correlation of their differences is {common:.2f} higher than "
                    f"with images of other splits, expected at most {_COMMON}",
                )


def _largest_block(off: NDArray[np.float64]) -> float:
    """The largest mean over any block of 8x8 pixels."""
    return float(ndimage.uniform_filter(off.mean(-1), _BLOCK, mode="constant").max())


def _common(marks: Mapping[Any, tuple[NDArray[np.float64], int]]) -> dict[Any, float]:
    """Mean correlation of differences within a split minus that with other splits, by split with
    enough images."""
    found = {}
    for split, (own, n) in marks.items():
        others = [
            (sums, m)
            for name, (sums, m) in marks.items()
            if name != split and sums.shape == own.shape
        ]
        m = sum(count for _, count in others)
        if n < _FEWEST or m < _FEWEST:
            continue
        within = (float((own * own).sum()) - n) / (n * (n - 1))
        across = sum(float((own * sums).sum()) for sums, _ in others) / (n * m)
        found[split] = within - across
    return found


def render_again(
    dataset: Dataset,
    rows: Sequence[Mapping[str, Any]],
    farm: Farm,
    compared: Compared,
    progress: Progress = SILENT,
    splits: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> Iterator[Finding]:
    """Render scenes of a world with its manifest's settings, and yield differences from its files
    and records.

    `rows`: rows of scenes.parquet. `compared`: is updated. `splits`: by scene_id, its split in
    every benchmark. Raises
    UserError if Blender cannot render here.
    """
    world = dataset.world
    if fault := _strange_quality(world.manifest["request"]["quality"]):
        yield finding("not rendered again", fault)
        return
    work = prepare_rerender(dataset, Changes(_device(world.manifest["request"])))
    by_id = {row["scene_id"]: row for row in rows}
    jobs = [Recorded(scene_id, row["scene"], row["cluster_id"]) for scene_id, row in by_id.items()]
    with TemporaryDirectory() as name, progress.track("rendering again", len(jobs)) as advance:
        folder = Path(name)
        quality = {
            key: value
            for key, value in world.manifest["request"]["quality"].items()
            if key != "name"
        }
        setup = worker_setup(work.request, folder) | {
            "vocabulary": world.vocabulary_text,
            "quality": {**quality, "microseconds": 0.0},
        }
        for answer in farm.render(jobs, len(jobs), setup, work.timeout):
            advance()
            made = answer.get("scene", answer)
            if "failed" in made:
                yield finding("not rendered again", f"scene {made['scene_id']}: {made['failed']}")
                continue
            row = by_id[made["scene_id"]]
            yield from _box_faults(row, made)
            for path in made["files"]:
                split = splits.get(made["scene_id"], ())
                yield from _file_faults(
                    dataset, path, folder / path, made["objects"], compared, split
                )
                (folder / path).unlink()
    yield from compared.findings()


def _strange_quality(recorded: Mapping[str, Any]) -> str | None:
    """An error message if a recorded quality is not a declared quality, else None: it might ask for
    endless samples."""
    declared = qualities().get(recorded["name"])
    settings = {} if declared is None else declared.model_dump(exclude={"microseconds"})
    if {"name": recorded["name"], **settings} != recorded or declared is None:
        return f"the manifest records the quality {recorded}, which this version does not declare"
    return None


def _device(request: Mapping[str, Any]) -> str:
    """The recorded kind of device if it is available, else the kind that `auto` finds."""
    try:
        return find_device(request["device"])
    except UserError:
        return find_device("auto")


def _box_faults(row: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[Finding]:
    for i, (listed, seen) in enumerate(zip(row["objects"], made["objects"], strict=True)):
        if not near(listed["amodal_box"], seen["amodal_box"]):
            yield finding(
                "wrong box",
                f"scene {row['scene_id']}: object {i} has the box {tuple(listed['amodal_box'])}, "
                f"rendered again {tuple(seen['amodal_box'])}",
            )
        share = seen["visible_fraction"]
        if not abs(listed["visible_fraction"] - share) <= _VISIBLE:
            yield finding(
                "wrong box",
                f"scene {row['scene_id']}: object {i} has the visible fraction "
                f"{listed['visible_fraction']:.2f}, rendered again {share:.2f}",
            )


def near(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two boxes differ by at most 1 pixel per coordinate."""
    return len(one) == len(other) and all(
        abs(a - b) <= _BOX for a, b in zip(one, other, strict=True)
    )


def _file_faults(
    dataset: Dataset,
    path: str,
    again: Path,
    objects: Sequence[Mapping[str, Any]],
    compared: Compared,
    split: Any,
) -> Iterator[Finding]:
    try:
        recorded = dataset.world.read(path)
    except UserError as error:
        yield finding("damaged file", error.message)
        return
    folder, scene_id = path.split("/")[0], Path(path).stem
    if recorded == again.read_bytes():
        compared.identical += folder == "images"
    elif folder == "images":
        listed = dataset.world.image(scene_id)
        with Image.open(again) as image:
            whole, worst = decibels(listed, image, [each["amodal_box"] for each in objects])
            off = np.asarray(image.convert("RGB"), float) - np.asarray(listed.convert("RGB"), float)
        compared.add(scene_id, split, off)
        compared.least = min(compared.least, whole, worst)
        if (block := _largest_block(np.abs(off))) > LARGEST:
            compared.faulty.add(scene_id)
            yield finding(
                "not the same render",
                f"scene {scene_id}: rendered again, a block of 8x8 pixels of its image differs by "
                f"{block:.1f} of 255, expected at most {LARGEST:.0f}",
            )
        elif min(whole, worst) < LEAST_DECIBELS:
            compared.faulty.add(scene_id)
            yield finding(
                "not the same render",
                f"scene {scene_id}: rendered again, its image has {whole:.1f} dB as a whole and "
                f"{worst:.1f} dB in the box of an object, expected {LEAST_DECIBELS:.0f} or more",
            )
    elif not same_output(folder, recorded, again.read_bytes()):
        yield finding(
            "not the same render", f"scene {scene_id}: rendered again, its output {folder} differs"
        )


def decibels(one: Image.Image, other: Image.Image, boxes: Sequence[Box]) -> tuple[float, float]:
    """PSNR of two images: of the whole image, and the minimum over the boxes. Infinite if equal, 0
    if sizes differ."""
    a, b = (np.asarray(image.convert("RGB")) for image in (one, other))
    if a.shape != b.shape:
        return 0.0, 0.0
    parts = [
        (slice(top, bottom), slice(left, right))
        for left, top, right, bottom in boxes
        if left < right and top < bottom
    ]
    return _psnr(a, b), min((_psnr(a[part], b[part]) for part in parts), default=float("inf"))


def _psnr(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    return (
        float("inf")
        if (one == other).all()
        else float(peak_signal_noise_ratio(one, other, data_range=255))
    )


def same_output(name: str, one: bytes, other: bytes) -> bool:
    """Whether two files of an output (generator.dataset.outputs) agree up to rounding differences
    of processors."""
    try:
        a, b = decode(name, one), decode(name, other)
        if name == "boxes":
            return len(a) == len(b) and all(
                near(x.amodal_box, y.amodal_box)
                and near(x.visible_box or (), y.visible_box or ())
                and abs(x.visible_fraction - y.visible_fraction) <= _VISIBLE
                and (x.index, x.category) == (y.index, y.category)
                for x, y in zip(a, b, strict=True)
            )
        return a.shape == b.shape and bool(np.isclose(a, b, rtol=0, atol=_NEAR).mean() >= _SAME)
    except (OSError, ValueError, KeyError, TypeError):
        return False
