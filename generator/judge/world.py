"""Judges the world of a benchmark: its files and its scenes, each once."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.base.errors import UserError
from generator.base.files import SUMS, read_json, read_sums
from generator.base.progress import SILENT, Progress
from generator.base.tables import read_table
from generator.dataset.reader import World as Files
from generator.dataset.records import SCENES, WorldManifest
from generator.judge.certificate import DAMAGE, Finding, finding, guarded
from generator.judge.files import Size, file_faults, image_fault, readable_parts, readable_toml
from generator.judge.geometry import CONTACT, SceneGeometry, Terms, read_scene
from generator.judge.held_out import facts
from generator.judge.look_alikes import look_alike_names


class World:
    """A world and its findings. Several benchmarks over it share one World.

    `shown`: the readable scenes, by scene_id. `vocabulary`: TOML. `digest`: of SHA256SUMS, from the
    manifest.
    """

    def __init__(self, folder: Path, progress: Progress = SILENT):
        self.folder, self.progress = folder, progress
        manifest = read_json(folder / "manifest.json", WorldManifest)
        self.digest = manifest.get("sums")
        request = manifest["request"] if isinstance(manifest.get("request"), dict) else {}
        width, height = request.get("width"), request.get("height")
        size = (width, height) if isinstance(width, int) and isinstance(height, int) else None
        self.findings: list[Finding] = list(
            file_faults(folder, self.digest, images=True, progress=progress, size=size)
        )
        self.findings += guarded(_packed_faults(folder, self._packed, size), "the tars")
        self.vocabulary = readable_toml(folder / "vocabulary.toml")
        self.terms = _terms(self.vocabulary)
        alike = (
            finding("look-alike", sentence)
            for sentence in look_alike_names(tomllib.loads(self.vocabulary))
        )
        self.findings += guarded(alike, "the vocabulary")
        self.shown: dict[str, SceneGeometry] = {}
        self._records: dict[str, str] = {}
        for part in readable_parts(folder / "scenes.parquet", SCENES, 2_000, self.findings.append):
            self.findings += guarded(
                self._read(part.filter(pc.equal(part["status"], "ok"))), "scenes.parquet"
            )
        digests = self.image_digests
        self.findings += [
            finding("missing image", f"scene {scene_id} has no image")
            for scene_id in self.shown
            if scene_id not in digests
        ]

    @cached_property
    def _packed(self) -> dict[str, str]:
        """SHA-256 of the files in tars, by path; empty if packed.parquet is missing or cannot be
        read."""
        try:
            table = read_table(self.folder / "packed.parquet", columns=["path", "sha256"])
            return dict(zip(table["path"].to_pylist(), table["sha256"].to_pylist(), strict=True))
        except DAMAGE:
            return {}

    @cached_property
    def image_digests(self) -> dict[str, str]:
        """SHA-256 of the image of each scene, from SHA256SUMS or packed.parquet."""
        sums = read_sums(self.folder) if (self.folder / SUMS).exists() else {}
        digests = {**sums, **self._packed}
        paths = {scene_id: f"images/{scene_id}.png" for scene_id in self.shown}
        return {scene_id: digests[path] for scene_id, path in paths.items() if path in digests}

    def _read(self, table: pa.Table) -> Iterator[Finding]:
        """Read some rows of the scenes table. Yields the faults of their records."""
        ids = table["scene_id"].to_pylist()
        for row in table.select(["scene_id", "scene", "objects", "relations"]).to_pylist():
            scene_id, record = row["scene_id"], row["scene"]
            try:
                shown = read_scene(record, self.terms)
                faults = [*_record_faults(shown), *_column_faults(shown, row)]
                shown.forget()
            except DAMAGE as error:
                yield finding(
                    "wrong record", f"scene {scene_id}: its record cannot be read: {error!r}"
                )
                continue
            if scene_id in self.shown:
                yield finding("wrong record", f"scene {scene_id} is in scenes.parquet twice")
            self.shown[scene_id] = shown
            if (other := self._records.setdefault(record, scene_id)) != scene_id:
                yield finding(
                    "repeated scene", f"scenes {other} and {scene_id} have the same record"
                )
            for fault in faults:
                yield finding("wrong record", f"scene {scene_id}: {fault}")
        for row, fault in _measure_faults(table):
            yield finding("wrong record", f"scene {ids[row]}: {fault}")


def _packed_faults(folder: Path, packed: dict[str, str], size: Size | None) -> Iterator[Finding]:
    """Files in tars that do not match packed.parquet, and images in tars that are damaged."""
    files = Files(folder) if packed else None
    for path in packed:
        try:
            data = files.read(path) if files else b""
        except UserError as error:
            yield finding("damaged file", error.message)
            continue
        if path.endswith(".png") and (fault := image_fault(data, path, size)):
            yield finding("damaged image", f"{folder.name}/{path} {fault}")


def _record_faults(shown: SceneGeometry) -> Iterator[str]:
    """Objects that rest neither on the ground nor on another object."""
    for i, foot in enumerate(shown.feet):
        others = (j for j in range(len(shown.feet)) if j != i)
        if abs(foot) > CONTACT and not any(shown.resting(i, j) > 0 for j in others):
            yield f"object {i} stands {foot:.6f} m above the ground and rests on no object"


def _column_faults(shown: SceneGeometry, row: Mapping[str, Any]) -> Iterator[str]:
    """Columns that contradict the record."""
    listed = [(each["category"], sorted(each["attributes"])) for each in row["objects"]]
    if listed != [(category, sorted(values.items())) for category, values in shown.objects]:
        yield "the column objects differs from its record"
    related = sorted(
        (each["subject"], each["relation"], each["object"]) for each in row["relations"]
    )
    if related != sorted(facts(shown)):
        yield "the column relations differs from the relations that hold by its record"


def _measure_faults(table: pa.Table) -> Iterator[tuple[int, str]]:
    """Objects with a box outside the image, or a visible share outside 0 to 1, as (row, fault)."""
    lists = table["objects"].combine_chunks()
    rows, fields = pc.list_parent_indices(lists).to_pylist(), pc.list_flatten(lists)
    widths, heights = (
        np.array(table[name].to_pylist(), float)[rows] for name in ("width", "height")
    )
    boxes = np.array(pc.struct_field(fields, "amodal_box").to_pylist(), float).reshape(-1, 4)
    left, top, right, bottom = boxes.T
    inside = (
        (left >= 0)
        & (top >= 0)
        & (left < right)
        & (top < bottom)
        & (right <= widths)
        & (bottom <= heights)
    )
    for n in np.flatnonzero(~inside).tolist():
        yield (
            rows[n],
            f"an object has the box {boxes[n].astype(int).tolist()}, which is not a box within the "
            f"image",
        )
    shares = np.array(pc.struct_field(fields, "visible_fraction").to_pylist(), float)
    for n in np.flatnonzero(~((shares >= 0) & (shares <= 1))).tolist():
        yield rows[n], f"an object has the visible fraction {shares[n]}, expected 0 to 1"


def _terms(vocabulary: str) -> Terms:
    """The terms of a vocabulary. Raises UserError if it is malformed: then nothing can be
    judged."""
    try:
        return Terms.of(vocabulary)
    except UserError:
        raise
    except DAMAGE as error:
        raise UserError(
            f"world/vocabulary.toml is no vocabulary ({error!r}), so nothing can be judged; "
            f"restore it or render again."
        ) from None
