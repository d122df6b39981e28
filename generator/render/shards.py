"""Selects the scenes of a shard to render, and merges the worlds of all shards."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.base.files import write_bytes
from generator.base.listed import copy_files
from generator.base.paths import check_own_files, file_in
from generator.base.progress import SILENT, Progress
from generator.dataset.reader import Dataset, World
from generator.dataset.records import PLAN_FILE, SCENES
from generator.dataset.writer import WorldWriter, difference
from generator.scene.planned import Planned, Scenes


class ShardScenes:
    """The scenes of a plan to render here: all, or for a shard (i, n) every n-th scene from the
    i-th on."""

    def __init__(self, planned: Scenes[Planned], shard: tuple[int, int] | None):
        i, n = shard or (1, 1)
        self._planned, self._first, self._step = planned, i - 1, n

    def __len__(self) -> int:
        return len(range(self._first, len(self._planned), self._step))

    def __iter__(self) -> Iterator[Planned]:
        return islice(self._planned, self._first, None, self._step)


def parse_shard(spec: str | None) -> tuple[int, int] | None:
    """(2, 8) from `2/8`. Raises UserError if malformed.

    >>> parse_shard("2/8")
    (2, 8)
    """
    if spec is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", spec)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UserError(
            f"Expected --shard to be i/n such as 2/8, with i from 1 to n, got '{spec}'."
        )
    return int(found[1]), int(found[2])


_TARS = "packed.parquet"  # the table of a world whose files are in tars
_ADDED_COLUMNS = {"width", "height", "status", "reason"}


def merge_worlds(shards: Sequence[Path], root: Path, progress: Progress = SILENT) -> World:
    """Merge `shards` into a world in `root`. Its files are hard links where the file system allows.

    Raises UserError if a shard is missing, unfinished, damaged, given twice, of another world, or
    holds a link.
    """
    for path in shards:
        check_own_files(path)
    worlds = [Dataset.open(path).world for path in shards]
    request = _whole_request(worlds)
    with WorldWriter(root, request) as writer:
        if not writer.finished:
            with progress.track(
                "merging", sum(world.manifest["scenes"] for world in worlds)
            ) as advance:
                for world in worlds:
                    for record in _recorded_answers(world):
                        if record["scene_id"] not in writer.done:
                            _copy_scene(world, record, writer)
                        advance()
            writer.keep_plan(worlds[0].folder)
            writer.finish(worlds[0].vocabulary_text)
    return World(root / "world")


def _whole_request(worlds: Sequence[World]) -> dict[str, Any]:
    """The request of the whole world. Raises UserError if the shards are not all the shards of one
    world."""
    found: dict[int, World] = {}
    first: dict[str, Any] = {}
    for world in worlds:
        request = dict(world.manifest["request"])
        shard = request.pop("shard", None)
        if shard is None:
            raise UserError(
                f"{world.folder.parent} is a whole dataset, not a shard; give folders made with "
                f"--shard i/n."
            )
        number, n = shard
        first = first or {**request, "shards": n}
        if {**request, "shards": n} != first:
            said = difference({**request, "shards": n}, first)
            raise UserError(
                f"{world.folder.parent} is a shard of another world: {said}; give the shards of "
                f"one world."
            )
        if number in found:
            raise UserError(
                f"{found[number].folder.parent} and {world.folder.parent} are both shard "
                f"{number}/{n}; give each once."
            )
        found[number] = world
    n = first.pop("shards")
    if len({world.sums.get(PLAN_FILE) for world in worlds}) > 1:
        raise UserError(
            "The shards have different plans; render them all with the same version of Jackalope."
        )
    if missing := [f"{i}/{n}" for i in range(1, n + 1) if i not in found]:
        raise UserError(
            f"Shards are missing: {', '.join(missing)}; render them with --shard, or give their "
            f"folders too."
        )
    return first


def _recorded_answers(world: World) -> Iterator[dict[str, Any]]:
    """The answers of a world's workers, as its tables recorded them."""
    for batch in world.batches("scenes", SCENES.names, rows=100):
        for row in batch.to_pylist():
            if row["status"] == "ok":
                for thing in row["objects"]:
                    thing["attributes"] = dict(thing["attributes"])
                kept = {name: value for name, value in row.items() if name not in _ADDED_COLUMNS}
                yield {**kept, "files": world.files_of(row["scene_id"])}
            else:
                kept = {name: row[name] for name in ("scene_id", "cluster_id", "twin_of")}
                yield {**kept, "failed": row["reason"]}


def _copy_scene(world: World, record: dict[str, Any], writer: WorldWriter) -> None:
    for path in record.get("files", {}):
        data = world.read(path)  # raises UserError if it is damaged
        if _TARS in world.sums:
            goal = file_in(writer.folder, path)
            goal.parent.mkdir(exist_ok=True)
            write_bytes(goal, data)
        else:
            copy_files(world.folder, [path], writer.folder)
    writer.add(record)
