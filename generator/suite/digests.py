"""Digests of a world of a suite, and the published digests of a suite's standard form.

Digests are taken of contents, not of files: of rows in the order of their tables, written as JSON.
So another version of the library that writes the tables does not change them.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import Field, ValidationError

from generator.base.declarations import Declared, sentence_of
from generator.base.errors import UserError
from generator.base.files import read_toml, write_text
from generator.dataset.reader import Dataset
from generator.dataset.records import BENCHMARK_TABLES
from generator.plan.store import StoredPlan
from generator.suite.record import WorldDigests

_SHA256 = r"^[0-9a-f]{64}$"


class PublishedWorld(Declared):
    """The published digests of a world; a digest that nobody has published yet is missing."""

    plan: str = Field(pattern=_SHA256)
    """As in `WorldDigests`."""
    texts: str | None = Field(default=None, pattern=_SHA256)
    """As in `WorldDigests`; None before the world was rendered anywhere."""
    images: Mapping[str, str] = Field(default_factory=dict)
    """SHA-256 of the images, by version of Blender."""


class PublishedDigests(Declared):
    """A file of digests, such as scenes/suites/jackalope-1.digests.toml."""

    parts: Mapping[str, Mapping[str, PublishedWorld]] = Field(default_factory=dict)
    """Published worlds by part and TRACK/WORLD."""

    def world(self, part: str, key: str) -> PublishedWorld | None:
        """Find the digests of a world.

        Args:
            part: The part of the suite.
            key: TRACK/WORLD.

        Returns:
            The digests; None if none are published.
        """
        return self.parts.get(part, {}).get(key)


def read_published(path: Path) -> PublishedDigests:
    """Read a file of published digests.

    Args:
        path: The file.

    Returns:
        The digests; none if there is no file.

    Raises:
        UserError: The file has a mistake.
    """
    # A suite of the user's own has none.
    if not path.is_file():
        return PublishedDigests()
    try:
        return PublishedDigests.model_validate(read_toml(path, "file of digests"))
    except ValidationError as error:
        raise UserError(f"The digests {path}: {sentence_of(dict(error.errors()[0]))}") from None


def write_published(path: Path, published: PublishedDigests, heading: str) -> None:
    """Write a file of published digests.

    Args:
        path: The file.
        published: The digests.
        heading: Comment lines that begin the file, with a line break at the end.
    """
    # TOML has no null.
    content = published.model_dump(exclude_none=True, exclude_defaults=True)
    write_text(path, heading + tomli_w.dumps(content))


def plan_digest(root: Path) -> str:
    """Compute the digest of a plan.

    Args:
        root: The folder of the planned or rendered dataset.

    Returns:
        SHA-256 of the plan's request, with vocabulary and holdouts, and of every planned scene.

    Raises:
        UserError: There is no plan, or it is damaged.
    """
    plan = StoredPlan(root)
    rows = (scene.to_row() for scene in plan)
    return _digest_of([plan.request], rows)


def texts_digest(dataset: Dataset) -> str:
    """Compute the digest of all texts and questions of a dataset.

    Args:
        dataset: The dataset.

    Returns:
        SHA-256 of names, holdouts and tables of all benchmarks, in the order of their names.

    Raises:
        UserError: A table is damaged.
    """
    records: list[Iterable[Any]] = []
    for name in sorted(dataset.benchmark_names()):
        benchmark = dataset.benchmark(name)
        # The name too: `score suite` looks benchmarks up by it.
        records.append([name, benchmark.holdout])
        for table, schema in BENCHMARK_TABLES.items():
            records.append([table])
            batches = benchmark.batches(table, schema.names)
            records.append(row for batch in batches for row in batch.to_pylist())
    return _digest_of(*records)


def images_digest(dataset: Dataset) -> str:
    """Compute the digest of the images of a dataset, and of what was rendered with them.

    Args:
        dataset: The dataset, with separate files or with tars.

    Returns:
        SHA-256 of the recorded digests of all files of scenes, in the order of scenes.

    Raises:
        UserError: A file is not listed.
    """
    world = dataset.world
    files = []
    for scene in world.scenes.select(["scene_id", "status"]).to_pylist():
        if scene["status"] == "ok":
            # The recorded digests, so that no image is read; the judge compares them with the
            # files.
            files.append(sorted(world.files_of(scene["scene_id"]).items()))
    return _digest_of(files)


def _digest_of(*records: Iterable[Any]) -> str:
    """SHA-256 of records as lines of JSON with sorted keys."""
    digest = hashlib.sha256()
    for record in records:
        for row in record:
            # A line break ends each row, so that rows cannot run into one another.
            digest.update(json.dumps(row, sort_keys=True).encode())
            digest.update(b"\n")
    return digest.hexdigest()


def world_digests(root: Path) -> WorldDigests:
    """Compute all digests of a finished world.

    Args:
        root: The folder of its dataset.

    Returns:
        The digests.

    Raises:
        UserError: The dataset is unfinished or damaged.
    """
    dataset = Dataset.open(root)
    request = dataset.world.manifest["request"]
    return {
        "plan": plan_digest(root),
        "texts": texts_digest(dataset),
        "images": images_digest(dataset),
        "blender": request["blender"],
        "device": request["device"],
    }


def digest_faults(key: str, digests: WorldDigests, published: PublishedWorld | None) -> list[str]:
    """Compare the digests of a world with the published ones.

    Images are compared for the same version of Blender, and only if processors rendered them:
    images of GPUs differ between models and drivers.

    Args:
        key: TRACK/WORLD, for messages.
        digests: Of the world.
        published: The published ones; None if there are none.

    Returns:
        A sentence for each difference.
    """
    # Fresh forms and suites of the user have nothing to be compared with.
    if published is None:
        return []
    expected: dict[str, str | None] = {"plan": published.plan, "texts": published.texts}
    if digests["device"] == "cpu":
        expected["images"] = published.images.get(digests["blender"])
    faults = []
    for name, digest in expected.items():
        actual = digests[name]  # type: ignore[literal-required]
        if digest is not None and actual != digest:
            faults.append(
                f"{key}: the {name} have the digest {actual[:12]}, published is {digest[:12]}"
            )
    return faults
