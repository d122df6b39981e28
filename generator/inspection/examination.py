"""Implements `gen verify --images`: samples scenes, checks their images, and reports to the
certificate."""

import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from generator.assets.sets import check_assets
from generator.base.declarations import whole_number
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress
from generator.base.streams import Stream
from generator.dataset.reader import Dataset, Level
from generator.inspection.pixels import PixelCheck
from generator.inspection.rerendered import Compared, render_again
from generator.judge.certificate import DAMAGE, Finding, Images, finding
from generator.judge.files import image_fault
from generator.render.farm import Farm
from generator.scene.scene import Scene
from generator.vocabulary.schema import parse_vocabulary

_COLUMNS = ("scene_id", "cluster_id", "width", "height", "objects", "scene")


def parse_images(spec: str) -> int | None:
    """Parse `--images`: a number of images, or None for all. Raises UserError unless it is a number
    ≥ 1 or "all"."""
    if spec == "all":
        return None
    number = whole_number(spec)
    if not number:
        raise UserError(
            f"Expected --images to be a number of images such as 100, or all; got '{spec}'."
        )
    return number


def blender_here() -> str | None:
    """The version of Blender's module; None if it is not installed."""
    try:
        return version("bpy")
    except PackageNotFoundError:
        return None


@dataclass
class Examination:
    """Compares images of a dataset with its records. Implements
    `generator.judge.certificate.Examine`.

    `number`: how many scenes to sample, from every split; None for all. `render`: whether to render
    them again too.
    `seed`: seed of the sample, unpredictable by default.
    """

    number: int | None
    render: bool
    seed: int = field(default_factory=lambda: secrets.randbelow(2**32))
    farm: Farm = field(default_factory=Farm)
    progress: Progress = SILENT

    def __call__(self, root: Path, splits: Mapping[str, tuple[str, ...]]) -> Images:
        """Compare images of the dataset in `root` with its records.

        Raises UserError if a mesh is not installed, or if `render` is set and Blender cannot render
        here.
        """
        drawn = sample_scenes(
            splits, len(splits) if self.number is None else self.number, self.seed
        )
        try:
            dataset = Dataset.open(root)
            vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "world/vocabulary.toml")
            rows = list(_rows(dataset, set(drawn)))
        except UserError as error:
            return Images(
                findings=[finding("damaged world", f"no image was checked: {error.message}")]
            )
        check_assets(dataset.world.manifest["request"].get("assets"))
        check = PixelCheck(vocabulary)
        findings = [finding("wrong word", sentence) for sentence in check.misnamed()]
        for row in self.progress.each(rows, "comparing images with records", len(rows)):
            findings += _row_faults(dataset, row, check)
        findings += check.floor_faults()
        facts: dict[str, Any] = {
            "scenes": len(rows),
            "of": len(splits),
            "seed": self.seed,
            **check.judged,
        }
        sentence = (
            f"{len(rows):,} of {len(splits):,} images compared with their records (boxes of "
            f"{check.judged['objects']:,} objects, outlines of {check.judged['outlines']:,}, "
            f"colors of {check.judged['colors']:,}, {check.judged['floors']:,} bare floors)"
        )
        if self.render:
            compared = Compared()
            findings += render_again(dataset, rows, self.farm, compared, self.progress, splits)
            facts |= _facts(compared)
            sentence += f", and rendered again with Blender {blender_here()}: {_said(compared)}"
        levels = (
            (Level.SAMPLED, Level.ALL) if self.render else (Level.OUTLINES_SAMPLED, Level.OUTLINES)
        )
        level = levels[len(rows) == len(splits)] if rows else Level.RECORDS
        return Images(level, findings, facts, sentence)


def _rows(dataset: Dataset, drawn: set[str]) -> Iterator[dict[str, Any]]:
    for batch in dataset.world.batches("scenes", _COLUMNS):
        yield from (row for row in batch.to_pylist() if row["scene_id"] in drawn)


def _row_faults(dataset: Dataset, row: Mapping[str, Any], check: PixelCheck) -> Iterator[Finding]:
    """Faults of one image. A damaged image is one finding and is not compared with its record."""
    where, path, size = (
        f"scene {row['scene_id']}",
        f"images/{row['scene_id']}.png",
        (row["width"], row["height"]),
    )
    try:
        fault = image_fault(dataset.world.read(path), path, size)
        if fault:
            yield finding("damaged image", f"world/{path} {fault}")
            return
        image = np.asarray(dataset.world.image(row["scene_id"]))
    except UserError as error:
        yield finding("damaged image", error.message)
        return
    try:
        boxes = [each["amodal_box"] for each in row["objects"]]
        yield from check.faults(where, image, Scene.from_json(row["scene"]), boxes)
    except DAMAGE as error:
        yield finding("wrong record", f"{where}: its record cannot be drawn: {error!r}")


def _facts(compared: Compared) -> dict[str, Any]:
    return {
        "blender": blender_here(),
        "rendered_again": compared.identical + len(compared.others),
        "identical": compared.identical,
        "least_decibels": round(compared.least, 2) if compared.others else None,
        "largest_difference": round(compared.largest, 2) if compared.others else None,
    }


def _said(compared: Compared) -> str:
    if not compared.others:
        return f"all {compared.identical:,} are byte-identical"
    n = len(compared.others)
    return (
        f"{n:,} of {compared.identical + n:,} differ from a new render, by at most "
        f"{compared.largest:.1f} of 255 in a block of 8x8 pixels ({compared.least:.1f} dB or more)"
    )


def sample_scenes(splits: Mapping[str, tuple[str, ...]], number: int, seed: int) -> list[str]:
    """Sorted ids of `number` scenes, or of all if there are fewer.

    `splits`: by scene_id, its split in every benchmark. Scenes with the same splits are a stratum.
    Scenes are drawn
    from the strata in turn (round-robin).
    """
    strata = defaultdict[tuple[str, ...], list[str]](list)
    for scene_id in sorted(splits):
        strata[splits[scene_id]].append(scene_id)
    order = [
        (turn, name, scene_id)
        for name, scenes in strata.items()
        for turn, scene_id in enumerate(Stream("images", seed, *name).shuffled(scenes))
    ]
    return sorted(scene_id for _, _, scene_id in sorted(order)[:number])
