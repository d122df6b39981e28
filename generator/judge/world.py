"""The world that a judged benchmark lies over: its files and its scenes, each judged once."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from generator.dataset.files import read_json
from generator.dataset.progress import SILENT, Progress
from generator.dataset.schema import SCENES
from generator.judge.files import file_faults, image_faults, readable_parts, readable_toml
from generator.judge.findings import Finding, finding
from generator.judge.geometry import SceneGeometry, Terms, read_scene
from generator.judge.plan import plan_faults
from generator.judge.scene_records import record_faults
from generator.judge.twins import Twins


class World:
    """A world and its findings. Several benchmarks over it share one World.

    `shown`: the scenes that could be read, by scene_id. `vocabulary`: TOML. `digest`: as the manifest has it.
    """

    def __init__(self, folder: Path, progress: Progress = SILENT):
        self.folder, self.progress = folder, progress
        manifest = read_json(folder / "manifest.json")
        self.digest = manifest.get("sums")
        request = manifest.get("request", {})
        size = (request["width"], request["height"]) if {"width", "height"} <= request.keys() else None
        self.findings: list[Finding] = list(file_faults(folder, self.digest, images=True, progress=progress, size=size))
        self.vocabulary = readable_toml(folder / "vocabulary.toml")
        self.terms = Terms.of(self.vocabulary)
        self.shown: dict[str, SceneGeometry] = {}
        twins = Twins()
        for part in readable_parts(folder / "scenes.parquet", SCENES, 2_000, self.findings.append):
            self.findings += twins.faults(part)
            self.findings += [
                finding("unsafe name", f"scene_id {scene_id!r} of scenes is no plain name, and names files")
                for scene_id in part["scene_id"].to_pylist()
                if not re.fullmatch("[A-Za-z0-9_-]+", scene_id)
            ]
            self._read(part.filter(pc.equal(part["status"], "ok")))
        self.findings += image_faults(folder, self.shown)
        self.findings += plan_faults(folder, request.get("shard"))

    def _read(self, table: pa.Table) -> None:
        """Read some rows of the scenes table and check their columns against the recorded poses."""
        ids, shown, kept = table["scene_id"].to_pylist(), [], []
        for row, (scene_id, record) in enumerate(zip(ids, table["scene"].to_pylist(), strict=True)):
            try:
                shown.append(read_scene(record, self.terms))
                kept.append(row)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self.findings.append(finding("wrong record", f"scene {scene_id}: its record cannot be read: {error!r}"))
            else:
                if scene_id in self.shown:
                    self.findings.append(finding("wrong record", f"scene {scene_id} is in scenes.parquet twice"))
                self.shown[scene_id] = shown[-1]
        for place, fault in record_faults(table.take(pa.array(kept, pa.int64())), shown, self.terms):
            self.findings.append(finding("wrong record", f"scene {ids[kept[place]]}: {fault}"))
