"""Judges the world of a benchmark: its files and its scenes, each once."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.base.errors import UserError
from generator.base.progress import Progress
from generator.judge.certificate import DAMAGE, Finding, finding, guarded
from generator.judge.files import StoredWorld
from generator.judge.geometry import CONTACT, SceneGeometry, Terms, read_scene
from generator.judge.held_out import facts
from generator.judge.look_alikes import look_alike_names

_SCENES_AT_ONCE = 2_000
"""Rows of scenes.parquet that are in memory at the same time."""


class World:
    """A world and its findings. Several benchmarks over it share one World."""

    digest: str | None
    """Digest of SHA256SUMS by the manifest."""
    vocabulary: str
    """The vocabulary of the family, TOML."""
    terms: Terms
    """The terms of the vocabulary that decide the facts of scenes."""
    scenes: dict[str, SceneGeometry]
    """The readable scenes by scene_id, in the order of scenes.parquet."""
    image_digests: dict[str, str]
    """SHA-256 of the image of each scene that has one, by scene_id."""
    findings: list[Finding]
    """Findings about the files, the vocabulary and the records of the world."""
    progress: Progress
    """Shows how far long checks are."""

    def __init__(self, stored: StoredWorld):
        """Read and check the scenes of a world.

        Raises:
            UserError: Its vocabulary is malformed: nothing can be judged then.
        """
        self.progress = stored.progress
        self.digest = stored.sums_digest
        self.vocabulary = stored.vocabulary
        self.terms = _read_terms(self.vocabulary)
        self.findings = list(guarded(_look_alike_findings(self.vocabulary), "the vocabulary"))

        self.scenes = {}
        self._scene_of_record: dict[str, str] = {}
        for table in stored.scene_tables(_SCENES_AT_ONCE):
            # Scenes that failed have no record and are in no split.
            rendered = table.filter(pc.equal(table["status"], "ok"))
            self.findings += guarded(self._read_scenes(rendered), "scenes.parquet")
        # Last, since reading the tables adds to them.
        self.findings += stored.findings

        digests = {**stored.sums, **stored.packed_sums}
        self.image_digests = {}
        for scene_id in self.scenes:
            path = f"images/{scene_id}.png"
            if path in digests:
                self.image_digests[scene_id] = digests[path]
            else:
                self.findings.append(finding("missing image", f"scene {scene_id} has no image"))

    def _read_scenes(self, table: pa.Table) -> Iterator[Finding]:
        """Read some rows of the scenes table. Yields the faults of their records."""
        ids = table["scene_id"].to_pylist()
        for row in table.select(["scene_id", "scene", "objects", "relations"]).to_pylist():
            scene_id, record = row["scene_id"], row["scene"]
            try:
                scene = read_scene(record, self.terms)
                faults = [*_support_faults(scene), *_column_faults(scene, row)]
                # All scenes stay in memory, what was derived from their poses need not.
                scene.forget()
            except DAMAGE as error:
                yield finding(
                    "wrong record", f"scene {scene_id}: its record cannot be read: {error!r}"
                )
                continue
            if scene_id in self.scenes:
                yield finding("wrong record", f"scene {scene_id} is in scenes.parquet twice")
            self.scenes[scene_id] = scene
            # Two scenes with one record would count one image twice.
            first_scene = self._scene_of_record.setdefault(record, scene_id)
            if first_scene != scene_id:
                yield finding(
                    "repeated scene", f"scenes {first_scene} and {scene_id} have the same record"
                )
            for fault in faults:
                yield finding("wrong record", f"scene {scene_id}: {fault}")
        for row_number, fault in _measure_faults(table):
            yield finding("wrong record", f"scene {ids[row_number]}: {fault}")


def _read_terms(vocabulary: str) -> Terms:
    """The terms of a vocabulary. Raises UserError if it is malformed: then nothing can be
    judged."""
    try:
        return Terms.from_toml(vocabulary)
    # UserError is one of DAMAGE, but has a sentence of its own.
    except UserError:
        raise
    except DAMAGE as error:
        raise UserError(
            f"world/vocabulary.toml is not a vocabulary ({error!r}), so nothing can be judged; "
            f"restore it or render again."
        ) from None


def _look_alike_findings(vocabulary: str) -> Iterator[Finding]:
    for sentence in look_alike_names(tomllib.loads(vocabulary)):
        yield finding("look-alike", sentence)


def _support_faults(scene: SceneGeometry) -> Iterator[str]:
    """Yields a sentence for each object that rests neither on the ground nor on another."""
    for i, foot_height in enumerate(scene.feet):
        if abs(foot_height) <= CONTACT:
            continue
        others = [j for j in range(len(scene.feet)) if j != i]
        if not any(scene.resting(i, j) > 0 for j in others):
            yield f"object {i} stands {foot_height:.6f} m above the ground and rests on no object"


def _column_faults(scene: SceneGeometry, row: Mapping[str, Any]) -> Iterator[str]:
    """Yields a sentence for each column that contradicts the record."""
    listed_objects = [
        (listed["category"], sorted(listed["attributes"])) for listed in row["objects"]
    ]
    recorded_objects = [(category, sorted(values.items())) for category, values in scene.objects]
    if listed_objects != recorded_objects:
        yield "the column objects differs from its record"
    listed_relations = sorted(
        (listed["subject"], listed["relation"], listed["object"]) for listed in row["relations"]
    )
    if listed_relations != sorted(facts(scene)):
        yield "the column relations differs from the relations that hold by its record"


def _measure_faults(table: pa.Table) -> Iterator[tuple[int, str]]:
    """Yields (row of the table, sentence) for each object with a box outside the image, or a
    visible share outside 0 to 1."""
    # One flat array of all objects of all rows: a world has hundreds of thousands.
    lists = table["objects"].combine_chunks()
    row_of_object = pc.list_parent_indices(lists).to_pylist()
    objects = pc.list_flatten(lists)
    widths = np.array(table["width"].to_pylist(), float)[row_of_object]
    heights = np.array(table["height"].to_pylist(), float)[row_of_object]

    box_lists = pc.struct_field(objects, "amodal_box").to_pylist()
    boxes = np.array(box_lists, float).reshape(-1, 4)
    left, top, right, bottom = boxes.T
    has_area = (left < right) & (top < bottom)
    begins_inside = (left >= 0) & (top >= 0)
    is_inside = begins_inside & (right <= widths) & (bottom <= heights)
    for number in np.flatnonzero(~(has_area & is_inside)).tolist():
        box = boxes[number].astype(int).tolist()
        yield (
            row_of_object[number],
            f"an object has the box {box}, which is not a box within the image",
        )

    shares = np.array(pc.struct_field(objects, "visible_fraction").to_pylist(), float)
    # Negated, so that NaN is a fault too.
    is_share = (shares >= 0) & (shares <= 1)
    for number in np.flatnonzero(~is_share).tolist():
        fault = f"an object has the visible fraction {shares[number]}, expected 0 to 1"
        yield row_of_object[number], fault
