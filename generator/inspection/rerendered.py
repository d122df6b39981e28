"""Renders recorded scenes again and compares images, outputs and boxes with those of the world.

One build of Blender on one kind of processor renders the same bytes. Between machines, images
differ by noise: so their difference is bounded, and it must not be the same for all images of a
split, which a model could learn.
"""

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
from generator.dataset.outputs import Box, ObjectBoxes, decode
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
LARGEST_DIFFERENCE = 12.0
"""Maximum mean difference of a block of 8x8 pixels, 0..255, between such renders. A mark of a few
pixels hardly changes the PSNR, but its block."""
_BLOCK = 8  # pixels
_BOX_TOLERANCE = 1
"""Pixels by which a recorded box may differ."""
_VISIBLE_TOLERANCE = 0.05
"""By how much a recorded visible fraction may differ."""
_EQUAL_SHARE = 0.99
"""Minimum share of an output's numbers that agree between machines."""
_VALUE_TOLERANCE = 0.01
"""Difference of equal numbers: metres of depth, or components of a unit normal."""
_COMMON_CORRELATION = 0.2
"""Maximum of: correlation of differences within a split minus correlation between splits. Only a
mark of the split is shared by its images alone, however faint it is in each."""
_FEWEST_IMAGES = 4
"""Minimum number of images for a correlation."""

Splits = tuple[str, ...]
"""The split of a scene in every benchmark."""


@dataclass
class DifferenceSum:
    """The differences of the images of one split, each scaled to length 1."""

    total: NDArray[np.float64]
    """Their sum, [height, width, 3]."""
    number: int = 0
    """How many they are."""


@dataclass
class Comparison:
    """Results of comparing new renders with recorded images."""

    n_identical: int = 0
    """Number of byte-identical images."""
    different: list[str] = field(default_factory=list)
    """Scenes of the other images."""
    least_decibels: float = float("inf")
    """Minimum PSNR of these, in whole images and boxes."""
    largest_difference: float = 0.0
    """Maximum mean difference of a block of 8x8 pixels of these, 0..255."""
    by_split: dict[Splits, DifferenceSum] = field(default_factory=dict)
    """Their differences by split."""
    faulty: set[str] = field(default_factory=set)
    """Scenes with a finding."""

    @property
    def n_compared(self) -> int:
        """Number of compared images."""
        return self.n_identical + len(self.different)

    def add_difference(self, scene_id: str, split: Splits, difference: NDArray[np.float64]) -> None:
        """Add an image that differs.

        Args:
            scene_id: Its scene.
            split: The split of the scene in every benchmark.
            difference: The new image minus the recorded image, [h, w, 3].
        """
        self.different.append(scene_id)
        largest = _largest_block(np.abs(difference))
        self.largest_difference = max(self.largest_difference, largest)
        length = float(np.linalg.norm(difference))
        if not length:
            # The files differ in their bytes, but in no pixel.
            return
        own = self.by_split.setdefault(split, DifferenceSum(np.zeros(difference.shape)))
        if own.total.shape == difference.shape:
            own.total = own.total + difference / length
            own.number += 1

    def findings(self) -> Iterator[Finding]:
        """Findings over all images of a world.

        If some images are identical, this is the kind of machine that rendered them, and all must
        be. Otherwise the images of one split must not differ from their new renders in the same
        way.
        """
        if self.n_identical:
            for scene_id in self.different:
                if scene_id not in self.faulty:
                    yield finding(
                        "not the same render",
                        f"scene {scene_id}: rendered again, its image has other bytes, while the "
                        f"images of {self.n_identical:,} other scenes are identical",
                    )
            return
        for split, excess in _excess_correlations(self.by_split).items():
            if excess > _COMMON_CORRELATION:
                yield finding(
                    "not the same render",
                    f"images of the split {'/'.join(split)} differ from new renders in the same "
                    f"way: the mean correlation of their differences is {excess:.2f} higher than "
                    f"with images of other splits, expected at most {_COMMON_CORRELATION}",
                )


def _largest_block(difference: NDArray[np.float64]) -> float:
    """The largest mean over any block of 8x8 pixels."""
    means = ndimage.uniform_filter(difference.mean(-1), _BLOCK, mode="constant")
    return float(means.max())


def _excess_correlations(by_split: Mapping[Splits, DifferenceSum]) -> dict[Splits, float]:
    """Mean correlation of differences within a split minus that with other splits, by split with
    enough images.

    With unit vectors u of a split, |sum u|^2 = n + sum of the n (n - 1) products of two different
    ones; and (sum u) (sum v) is the sum of all products with the vectors v of another split.
    """
    excess = {}
    for split, own in by_split.items():
        others = []
        for other_split, other in by_split.items():
            if other_split != split and other.total.shape == own.total.shape:
                others.append(other)
        n = own.number
        m = sum(other.number for other in others)
        if n < _FEWEST_IMAGES or m < _FEWEST_IMAGES:
            continue
        square_of_sum = float((own.total * own.total).sum())
        within = (square_of_sum - n) / (n * (n - 1))
        products = [float((own.total * other.total).sum()) for other in others]
        across = sum(products) / (n * m)
        excess[split] = within - across
    return excess


def compare_renders(
    dataset: Dataset,
    rows: Sequence[Mapping[str, Any]],
    farm: Farm,
    comparison: Comparison,
    *,
    progress: Progress = SILENT,
    splits: Mapping[str, Splits] = MappingProxyType({}),
) -> Iterator[Finding]:
    """Render scenes of a world with its manifest's settings, and yield differences from its files
    and records.

    Args:
        dataset: The dataset.
        rows: Rows of scenes.parquet.
        farm: Where to render.
        comparison: Is updated.
        progress: Shows how far it is.
        splits: By scene_id, its split in every benchmark.

    Raises:
        UserError: Blender cannot render here.
    """
    request = dataset.world.manifest["request"]
    fault = _unknown_quality(request["quality"])
    if fault:
        yield finding("not rendered again", fault)
        return
    work = prepare_rerender(dataset, Changes(_available_device(request)))
    row_of = {row["scene_id"]: row for row in rows}
    jobs = []
    for scene_id, row in row_of.items():
        jobs.append(Recorded(scene_id, row["scene"], row["cluster_id"]))
    with TemporaryDirectory() as name, progress.track("rendering again", len(jobs)) as advance:
        folder = Path(name)
        quality = {key: value for key, value in request["quality"].items() if key != "name"}
        setup = worker_setup(work.request, folder) | {
            "vocabulary": dataset.world.vocabulary_text,
            "quality": {**quality, "microseconds": 0.0},
        }
        for answer in farm.render(jobs, len(jobs), setup, work.timeout):
            advance()
            render = answer.get("scene", answer)
            scene_id = render["scene_id"]
            if "failed" in render:
                yield finding("not rendered again", f"scene {scene_id}: {render['failed']}")
                continue
            yield from _box_findings(row_of[scene_id], render)
            split = splits.get(scene_id, ())
            for path in render["files"]:
                new = _NewFile(path, folder / path, render["objects"], split)
                yield from _file_findings(dataset, new, comparison)
                # Not at the end, when the files of a large world would fill the disk.
                new.file.unlink()
    yield from comparison.findings()


def _unknown_quality(recorded: Mapping[str, Any]) -> str | None:
    """An error message if a recorded quality is not a declared quality, else None: it might ask for
    endless samples."""
    declared = qualities().get(recorded["name"])
    if declared is not None:
        settings = declared.model_dump(exclude={"microseconds"})
        if {"name": recorded["name"], **settings} == recorded:
            return None
    return f"the manifest records the quality {recorded}, which this version does not declare"


def _available_device(request: Mapping[str, Any]) -> str:
    """The recorded kind of device if it is available, else the kind that `auto` finds."""
    try:
        return find_device(request["device"])
    except UserError:
        return find_device("auto")


def _box_findings(row: Mapping[str, Any], render: Mapping[str, Any]) -> Iterator[Finding]:
    """Recorded boxes and visible fractions that differ from those of a new render."""
    for i, (listed, new) in enumerate(zip(row["objects"], render["objects"], strict=True)):
        where = f"scene {row['scene_id']}: object {i}"
        if not near(listed["amodal_box"], new["amodal_box"]):
            yield finding(
                "wrong box",
                f"{where} has the box {tuple(listed['amodal_box'])}, rendered again "
                f"{tuple(new['amodal_box'])}",
            )
        listed_share, new_share = listed["visible_fraction"], new["visible_fraction"]
        # Negated, so that NaN is a finding too.
        if not abs(listed_share - new_share) <= _VISIBLE_TOLERANCE:
            yield finding(
                "wrong box",
                f"{where} has the visible fraction {listed_share:.2f}, rendered again "
                f"{new_share:.2f}",
            )


def near(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two boxes differ by at most 1 pixel per coordinate.

    >>> near((0, 0, 5, 5), (1, 0, 5, 4)), near((0, 0, 5, 5), (2, 0, 5, 5)), near((), (0, 0, 5, 5))
    (True, False, False)
    """
    if len(one) != len(other):
        return False
    return all(abs(a - b) <= _BOX_TOLERANCE for a, b in zip(one, other, strict=True))


@dataclass(frozen=True)
class _NewFile:
    """A file of a new render."""

    path: str
    """Its path within a world, such as images/000017.png."""
    file: Path
    """The file itself."""
    objects: Sequence[Mapping[str, Any]]
    """The objects of its scene, as the worker measured them."""
    split: Splits
    """The split of its scene in every benchmark."""


def _file_findings(dataset: Dataset, new: _NewFile, comparison: Comparison) -> Iterator[Finding]:
    """Differences between a file of a scene and the same file of a new render."""
    folder, scene_id = new.path.split("/")[0], Path(new.path).stem
    is_image = folder == "images"
    try:
        recorded = dataset.world.read(new.path)
        recorded_image = dataset.world.image(scene_id) if is_image else None
    except UserError as error:
        yield finding("damaged file", error.message)
        return
    data = new.file.read_bytes()
    if recorded == data:
        comparison.n_identical += is_image
    elif recorded_image is not None:
        yield from _image_findings(scene_id, recorded_image, new=new, comparison=comparison)
    elif not same_output(folder, recorded, data):
        yield finding(
            "not the same render", f"scene {scene_id}: rendered again, its output {folder} differs"
        )


def _image_findings(
    scene_id: str, recorded: Image.Image, *, new: _NewFile, comparison: Comparison
) -> Iterator[Finding]:
    """An image that differs from its new render more than renders of two machines do."""
    boxes = [measured["amodal_box"] for measured in new.objects]
    with Image.open(new.file) as image:
        if image.size != recorded.size:
            comparison.different.append(scene_id)
            comparison.faulty.add(scene_id)
            yield finding(
                "not the same render",
                f"scene {scene_id}: rendered again, its image has {image.width}x{image.height} "
                f"pixels, not {recorded.width}x{recorded.height}",
            )
            return
        whole, worst_box = decibels(recorded, image, boxes)
        difference = _pixels(image) - _pixels(recorded)
    comparison.add_difference(scene_id, new.split, difference)
    comparison.least_decibels = min(comparison.least_decibels, whole, worst_box)
    block = _largest_block(np.abs(difference))
    if block > LARGEST_DIFFERENCE:
        comparison.faulty.add(scene_id)
        yield finding(
            "not the same render",
            f"scene {scene_id}: rendered again, a block of 8x8 pixels of its image differs by "
            f"{block:.1f} of 255, expected at most {LARGEST_DIFFERENCE:.0f}",
        )
    elif min(whole, worst_box) < LEAST_DECIBELS:
        comparison.faulty.add(scene_id)
        yield finding(
            "not the same render",
            f"scene {scene_id}: rendered again, its image has {whole:.1f} dB as a whole and "
            f"{worst_box:.1f} dB in the box of an object, expected {LEAST_DECIBELS:.0f} or more",
        )


def _pixels(image: Image.Image) -> NDArray[np.float64]:
    return np.asarray(image.convert("RGB"), float)


def decibels(one: Image.Image, other: Image.Image, boxes: Sequence[Box]) -> tuple[float, float]:
    """Compute the peak signal-to-noise ratio of two images of one size.

    Args:
        one: An image.
        other: Another one.
        boxes: Parts of the image, such as the boxes of its objects.

    Returns:
        PSNR in dB of the whole image, and the minimum over the boxes; infinite if equal, 0 if the
        sizes differ.
    """
    first = np.asarray(one.convert("RGB"))
    second = np.asarray(other.convert("RGB"))
    if first.shape != second.shape:
        return 0.0, 0.0
    worst_box = float("inf")
    for left, top, right, bottom in boxes:
        # The box of an object outside the image has no pixels.
        if left < right and top < bottom:
            box = slice(top, bottom), slice(left, right)
            worst_box = min(worst_box, _psnr(first[box], second[box]))
    return _psnr(first, second), worst_box


def _psnr(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    # Without an error, the ratio would be divided by 0.
    if (one == other).all():
        return float("inf")
    return float(peak_signal_noise_ratio(one, other, data_range=255))


def same_output(name: str, one: bytes, other: bytes) -> bool:
    """Compare two files of an output (generator.dataset.outputs).

    Args:
        name: The output, such as `depth`.
        one: The bytes of a file.
        other: The bytes of another one.

    Returns:
        Whether they agree up to rounding differences of processors.
    """
    try:
        first, second = decode(name, one), decode(name, other)
        if name == "boxes":
            return len(first) == len(second) and all(map(_same_boxes, first, second))
        if first.shape != second.shape:
            return False
        is_close = np.isclose(first, second, rtol=0, atol=_VALUE_TOLERANCE)
        return bool(is_close.mean() >= _EQUAL_SHARE)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _same_boxes(one: ObjectBoxes, other: ObjectBoxes) -> bool:
    """Whether the boxes of an object agree."""
    return (
        (one.index, one.category) == (other.index, other.category)
        and near(one.amodal_box, other.amodal_box)
        and near(one.visible_box or (), other.visible_box or ())
        and abs(one.visible_fraction - other.visible_fraction) <= _VISIBLE_TOLERANCE
    )
