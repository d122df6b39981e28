"""The world that a judged benchmark lies over: its files and its scenes, each judged once."""

import re
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from generator.base.errors import UserError
from generator.base.files import SUMS, read_json, read_sums
from generator.base.parquet import read_table
from generator.base.progress import SILENT, Progress
from generator.dataset.records import SCENES, WorldManifest
from generator.judge.components import format_faults
from generator.judge.failed_scenes import failed_faults
from generator.judge.files import file_faults, readable_parts, readable_toml
from generator.judge.findings import DAMAGE, Finding, finding, guarded
from generator.judge.geometry import SceneGeometry, Terms, read_scene
from generator.judge.plan import plan_faults
from generator.judge.scene_records import record_faults
from generator.judge.tars import packed_digests
from generator.judge.twins import Twins
from generator.judge.world_manifest import declared_faults, planned_faults, scene_file_faults


class World:
    """A world and its findings. Several benchmarks over it share one World.

    `shown`: the scenes that could be read, by scene_id. `vocabulary`: TOML. `digest`: as the manifest has it. `request`: what
    the manifest says that it was asked for.
    """

    def __init__(self, folder: Path, progress: Progress = SILENT):
        self.folder, self.progress = folder, progress
        manifest = read_json(folder / "manifest.json", WorldManifest)
        self.digest = manifest.get("sums")
        self.request: dict[str, Any] = manifest["request"] if isinstance(manifest.get("request"), dict) else {}
        width, height = self.request.get("width"), self.request.get("height")
        size = (width, height) if isinstance(width, int) and isinstance(height, int) else None
        self.findings: list[Finding] = list(file_faults(folder, self.digest, images=True, progress=progress, size=size))
        self.findings += format_faults("world/manifest.json", manifest)
        self.vocabulary = readable_toml(folder / "vocabulary.toml")
        self.terms = _terms(self.vocabulary)
        self.shown: dict[str, SceneGeometry] = {}
        self._records: dict[str, str] = {}
        rows: Counter[tuple[Any, ...]] = Counter()
        twins = Twins()
        for part in readable_parts(folder / "scenes.parquet", SCENES, 2_000, self.findings.append):
            self.findings += guarded(twins.faults(part), "twins")
            self.findings += [
                finding("unsafe name", f"scene_id {scene_id!r} of scenes is no number, and names files")
                for scene_id in part["scene_id"].to_pylist()
                if not re.fullmatch("[0-9]+", scene_id)
            ]
            self.findings += guarded(failed_faults(part), "failed scenes")
            rows.update(zip(*(part[name].to_pylist() for name in ("status", "width", "height")), strict=True))
            self._read(part.filter(pc.equal(part["status"], "ok")))
        listed, packed = set(self._sums), set(self._packed)
        self.findings += guarded(declared_faults(manifest, rows, self.vocabulary), "the manifest of the world")
        self.findings += guarded(scene_file_faults(manifest, list(self.shown), listed, packed), "the files of scenes")
        self.findings += guarded(planned_faults(folder, self.request), "the request of the plan")
        self.findings += guarded(plan_faults(folder, self.request.get("shard")), "the plan")

    @cached_property
    def _sums(self) -> dict[str, str]:
        return read_sums(self.folder) if (self.folder / SUMS).exists() else {}

    @cached_property
    def _packed(self) -> dict[str, str]:
        return packed_digests(self.folder)

    @cached_property
    def image_digests(self) -> dict[str, str]:
        """SHA-256 of the image of each scene, as SHA256SUMS or packed.parquet has it."""
        digests = {**self._sums, **self._packed}
        paths = {scene_id: f"images/{scene_id}.png" for scene_id in self.shown}
        return {scene_id: digests[path] for scene_id, path in paths.items() if path in digests}

    def planned_splits(self, part: int) -> dict[str, str | None]:
        """The split for which each scene was planned, None for those of other holdouts than the one of that number; empty where
        the plan names no splits or cannot be read."""
        try:
            table = read_table(self.folder / "plan.parquet", columns=["scene_id", "part", "split"])
        except DAMAGE:
            return {}
        if table["split"].null_count == len(table):
            return {}
        rows = zip(*(table[name].to_pylist() for name in ("scene_id", "part", "split")), strict=True)
        return {scene_id: split if of == part else None for scene_id, of, split in rows}

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
                if (other := self._records.setdefault(record, scene_id)) != scene_id:
                    self.findings.append(finding("repeated scene", f"scenes {other} and {scene_id} have one record"))
        table = table.take(pa.array(kept, pa.int64()))
        for place, fault in record_faults(table, shown, self.terms):
            self.findings.append(finding("wrong record", f"scene {ids[kept[place]]}: {fault}"))
        self._compare_clusters(table, shown)

    def _compare_clusters(self, table: pa.Table, shown: list[SceneGeometry]) -> None:
        """Groups that scenes.parquet lists and the poses do not give: the values of the first holdout's kind, and the objects."""
        asked = self.request.get("holdouts") or ()
        kind = str(asked[0].get("kind")) if isinstance(asked, list) and isinstance(asked[0], dict) else ""
        for scene_id, listed, scene in zip(
            table["scene_id"].to_pylist(), table["cluster_id"].to_pylist(), shown, strict=True
        ):
            values = sorted(values.get(kind, "") for _, values in scene.objects)
            own = "+".join(values) + "|" + "+".join(sorted(category for category, _ in scene.objects))
            if listed != own:
                self.findings.append(
                    finding("wrong group", f"scene {scene_id} is listed in group {listed}, its objects give {own}")
                )


def _terms(vocabulary: str) -> Terms:
    """The terms of a vocabulary. Raises UserError if it is of another form: nothing can be judged then."""
    try:
        return Terms.of(vocabulary)
    except UserError:
        raise
    except DAMAGE as error:
        raise UserError(
            f"world/vocabulary.toml is no vocabulary ({error!r}), so nothing can be judged; restore it or render again."
        ) from None
