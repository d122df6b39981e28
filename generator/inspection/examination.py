"""Implements `gen verify --images`: samples scenes, renders them again, and reports to the
certificate."""

import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from generator.assets.sets import check_assets
from generator.base.declarations import whole_number
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress
from generator.base.streams import Stream
from generator.dataset.certificate import Level
from generator.dataset.reader import Dataset
from generator.inspection.declared_colors import DeclaredColors
from generator.inspection.rerendered import Comparison, compare_renders
from generator.judge.certificate import Images, finding
from generator.render.farm import Farm
from generator.vocabulary.schema import parse_vocabulary

_COLUMNS = ("scene_id", "cluster_id", "objects", "scene")
"""The columns of scenes.parquet that are compared or rendered."""


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


def blender_version() -> str | None:
    """The version of Blender's module; None if it is not installed."""
    try:
        return version("bpy")
    except PackageNotFoundError:
        return None


@dataclass
class Examination:
    """Renders images of a dataset again. Implements `generator.judge.certificate.Examine`."""

    number: int | None
    """How many scenes to sample, from every split; None for all."""
    seed: int = field(default_factory=lambda: secrets.randbelow(2**32))
    """Seed of the sample. By default nobody can foresee it, so no image is safe to change."""
    farm: Farm = field(default_factory=Farm)
    """Where to render."""
    progress: Progress = SILENT
    """Told of each image that is rendered."""

    def __call__(self, root: Path, splits: Mapping[str, tuple[str, ...]]) -> Images:
        """Render scenes of the dataset in `root` again and compare them with its files.

        Args:
            root: The folder of the dataset.
            splits: The split of each scene in every benchmark, by scene_id.

        Raises:
            UserError: Blender cannot render here, or a mesh is not installed.
        """
        number = len(splits) if self.number is None else self.number
        sampled = set(sample_scenes(splits, number, self.seed))
        try:
            dataset = Dataset.open(root)
            vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "world/vocabulary.toml")
            rows = list(_read_rows(dataset, sampled))
        except UserError as error:
            damage = finding("damaged world", f"no image was checked: {error.message}")
            return Images(findings=[damage])
        check_assets(dataset.world.manifest["request"].get("assets"))

        # Rendering again cannot find this: red objects that are called blue render the same.
        misnamed = DeclaredColors(vocabulary).misnamed()
        findings = [finding("wrong word", sentence) for sentence in misnamed]
        comparison = Comparison()
        findings += compare_renders(
            dataset, rows, self.farm, comparison, progress=self.progress, splits=splits
        )
        facts = {"scenes": len(rows), "of": len(splits), "seed": self.seed, **_facts(comparison)}
        sentence = (
            f"{len(rows):,} of {len(splits):,} images rendered again with Blender "
            f"{blender_version()}: {_describe(comparison)}"
        )
        if not rows:
            level = Level.RECORDS
        else:
            level = Level.ALL if len(rows) == len(splits) else Level.SAMPLED
        return Images(level, findings, facts, sentence)


def _read_rows(dataset: Dataset, scene_ids: set[str]) -> Iterator[dict[str, Any]]:
    for batch in dataset.world.batches("scenes", _COLUMNS):
        for row in batch.to_pylist():
            if row["scene_id"] in scene_ids:
                yield row


def _facts(comparison: Comparison) -> dict[str, Any]:
    """The numbers of a comparison, for the certificate."""
    differ = bool(comparison.different)
    return {
        "blender": blender_version(),
        "rendered_again": comparison.n_compared,
        "identical": comparison.n_identical,
        "least_decibels": round(comparison.least_decibels, 2) if differ else None,
        "largest_difference": round(comparison.largest_difference, 2) if differ else None,
    }


def _describe(comparison: Comparison) -> str:
    if not comparison.different:
        return f"all {comparison.n_identical:,} are byte-identical"
    return (
        f"{len(comparison.different):,} of {comparison.n_compared:,} differ from a new render, by "
        f"at most {comparison.largest_difference:.1f} of 255 in a block of 8x8 pixels "
        f"({comparison.least_decibels:.1f} dB or more)"
    )


def sample_scenes(splits: Mapping[str, tuple[str, ...]], number: int, seed: int) -> list[str]:
    """Sorted ids of `number` scenes, or of all if there are fewer.

    Scenes with the same splits are a stratum. Scenes are drawn from the strata in turn
    (round-robin), so that a small sample has scenes of every split.

    Args:
        splits: By scene_id, its split in every benchmark.
        number: How many scenes.
        seed: Decides which.
    """
    strata = defaultdict[tuple[str, ...], list[str]](list)
    for scene_id in sorted(splits):
        strata[splits[scene_id]].append(scene_id)
    by_turn = []
    for names, scenes in strata.items():
        shuffled = Stream("images", seed, *names).shuffled(scenes)
        by_turn += [(turn, names, scene_id) for turn, scene_id in enumerate(shuffled)]
    return sorted(scene_id for _, _, scene_id in sorted(by_turn)[:number])
