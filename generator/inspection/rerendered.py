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
"""Least PSNR of an image that was rendered elsewhere, on the whole and in the box of every object."""
_BOX = 1  # pixels by which a recorded box may differ
_VISIBLE = 0.05  # by which a recorded visible fraction may differ
_SAME = 0.99  # least share of an output's numbers that are the same wherever it is made
_BLOCK = 8
LARGEST = 12.0
"""Mean difference of an 8x8 block, 0..255, above which an image that was rendered elsewhere is another one."""
_COMMON = 0.2  # more correlation of differences within a split than between splits
_FEWEST = 4  # images of which correlations tell something
_NEAR = 0.01  # metres of depth, or lengths of a normal, that count as the same


@dataclass
class Compared:
    """How images compare: `identical` to the byte; the scenes of `others`, their least PSNR in decibels on the whole or
    in a box, and the `largest` mean difference of an 8x8 block, 0..255. `marks`: of each split, the sum of the
    differences of its images as unit vectors, and of how many. `faulty`: scenes that findings name already."""

    identical: int = 0
    others: list[str] = field(default_factory=list)
    least: float = float("inf")
    largest: float = 0.0
    marks: dict[Any, tuple[NDArray[np.float64], int]] = field(default_factory=dict)
    faulty: set[str] = field(default_factory=set)

    def add(self, scene_id: str, split: Any, off: NDArray[np.float64]) -> None:
        """An image that differs: `off` is the new one minus the recorded one, [h, w, 3]."""
        self.others.append(scene_id)
        self.largest = max(self.largest, _largest_block(np.abs(off)))
        if length := float(np.linalg.norm(off)):
            sums, n = self.marks.get(split, (np.zeros(off.shape), 0))
            if sums.shape == off.shape:
                self.marks[split] = sums + off / length, n + 1

    def findings(self) -> Iterator[Finding]:
        """What the images of a world show together.

        One kind of processor and version of Blender renders the same bytes: where some images are, all have to be.
        Elsewhere no difference is common to the images of one split.
        """
        if self.identical:
            for scene_id in (each for each in self.others if each not in self.faulty):
                yield finding(
                    "not the same render",
                    f"scene {scene_id}: rendered again, its image has other bytes, and those of {self.identical:,} "
                    f"other scenes have the same",
                )
            return
        for split, common in _common(self.marks).items():
            if common > _COMMON:
                yield finding(
                    "not the same render",
                    f"what differs from a new render is the same in images of the split {'/'.join(split)}: their mean "
                    f"correlation is {common:.2f} more than that with images of other splits, expected at most "
                    f"{_COMMON}",
                )


def _largest_block(off: NDArray[np.float64]) -> float:
    """The largest mean over a block of 8x8 pixels, at any place."""
    return float(ndimage.uniform_filter(off.mean(-1), _BLOCK, mode="constant").max())


def _common(marks: Mapping[Any, tuple[NDArray[np.float64], int]]) -> dict[Any, float]:
    """By split of enough images: how much more their differences correlate with each other than with those of other
    splits."""
    found = {}
    for split, (own, n) in marks.items():
        others = [(sums, m) for name, (sums, m) in marks.items() if name != split and sums.shape == own.shape]
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
    """Render scenes of a world as its manifest says, and yield what differs from its files and records.

    `rows`: rows of scenes.parquet. `compared` counts. `splits`: of each scene in every benchmark. Raises UserError if
    Blender cannot render here.
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
        quality = {key: value for key, value in world.manifest["request"]["quality"].items() if key != "name"}
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
                yield from _file_faults(dataset, path, folder / path, made["objects"], compared, split)
                (folder / path).unlink()
    yield from compared.findings()


def _strange_quality(recorded: Mapping[str, Any]) -> str | None:
    """Why a recorded quality is none that can be asked for: a manifest may ask for samples without end."""
    declared = qualities().get(recorded["name"])
    settings = {} if declared is None else declared.model_dump(exclude={"microseconds"})
    if {"name": recorded["name"], **settings} != recorded or declared is None:
        return f"the manifest records the quality {recorded}, which this version does not declare"
    return None


def _device(request: Mapping[str, Any]) -> str:
    """The recorded kind of device if it is here."""
    try:
        return find_device(request["device"])
    except UserError:
        return find_device("auto")


def _box_faults(row: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[Finding]:
    for i, (listed, seen) in enumerate(zip(row["objects"], made["objects"], strict=True)):
        if not near(listed["amodal_box"], seen["amodal_box"]):
            yield finding(
                "wrong box",
                f"scene {row['scene_id']}: object {i} has the box {tuple(listed['amodal_box'])}, rendered again "
                f"{tuple(seen['amodal_box'])}",
            )
        share = seen["visible_fraction"]
        if not abs(listed["visible_fraction"] - share) <= _VISIBLE:
            yield finding(
                "wrong box",
                f"scene {row['scene_id']}: of object {i} {listed['visible_fraction']:.2f} is listed as "
                f"visible, rendered again {share:.2f}",
            )


def near(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two boxes are the same, up to a pixel."""
    return len(one) == len(other) and all(abs(a - b) <= _BOX for a, b in zip(one, other, strict=True))


def _file_faults(
    dataset: Dataset, path: str, again: Path, objects: Sequence[Mapping[str, Any]], compared: Compared, split: Any
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
                f"scene {scene_id}: rendered again, a block of 8x8 pixels of its image differs by {block:.1f} of 255, "
                f"expected at most {LARGEST:.0f}",
            )
        elif min(whole, worst) < LEAST_DECIBELS:
            compared.faulty.add(scene_id)
            yield finding(
                "not the same render",
                f"scene {scene_id}: rendered again, its image has {whole:.1f} dB on the whole and {worst:.1f} dB in "
                f"the box of an object, expected {LEAST_DECIBELS:.0f} or more",
            )
    elif not same_output(folder, recorded, again.read_bytes()):
        yield finding("not the same render", f"scene {scene_id}: rendered again, it has other {folder}")


def decibels(one: Image.Image, other: Image.Image, boxes: Sequence[Box]) -> tuple[float, float]:
    """PSNR of two images of one size on the whole, and the least in any of the boxes; infinite where they are the
    same."""
    a, b = (np.asarray(image.convert("RGB")) for image in (one, other))
    if a.shape != b.shape:
        return 0.0, 0.0
    parts = [
        (slice(top, bottom), slice(left, right)) for left, top, right, bottom in boxes if left < right and top < bottom
    ]
    return _psnr(a, b), min((_psnr(a[part], b[part]) for part in parts), default=float("inf"))


def _psnr(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    return float("inf") if (one == other).all() else float(peak_signal_noise_ratio(one, other, data_range=255))


def same_output(name: str, one: bytes, other: bytes) -> bool:
    """Whether two files of an output (generator.dataset.outputs) say the same, but for what processors round
    differently."""
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
