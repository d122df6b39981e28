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

_TARS = "packed.parquet"
"""The table of a world whose files are in tars."""
_ADDED_COLUMNS = {"width", "height", "status", "reason"}
"""Columns that the writer adds to the answers of workers."""


class ShardScenes:
    """The scenes of a plan to render here: all, or for a shard (i, n) every n-th scene from the
    i-th on."""

    def __init__(self, planned: Scenes[Planned], shard: tuple[int, int] | None):
        number, n_shards = shard or (1, 1)
        self._planned = planned
        self._first = number - 1
        self._step = n_shards

    def __len__(self) -> int:
        return len(range(self._first, len(self._planned), self._step))

    def __iter__(self) -> Iterator[Planned]:
        return islice(self._planned, self._first, None, self._step)


def parse_shard(spec: str | None) -> tuple[int, int] | None:
    """Parse the option `--shard`.

    Args:
        spec: A text such as `2/8`; None if the option is not used.

    Returns:
        The number of the shard, from 1, and the number of shards; None without `spec`.

    Raises:
        UserError: The text is malformed.

    >>> parse_shard("2/8")
    (2, 8)
    """
    if spec is None:
        return None
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", spec)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise UserError(
            f"Expected --shard to be i/n such as 2/8, with i from 1 to n, got '{spec}'."
        )
    return int(match[1]), int(match[2])


def merge_worlds(shards: Sequence[Path], root: Path, progress: Progress = SILENT) -> World:
    """Merge shards into one world. Its files are hard links where the file system allows.

    Args:
        shards: The folders of the shards.
        root: The folder to write.
        progress: Where progress is reported.

    Returns:
        The merged world.

    Raises:
        UserError: A shard is missing, unfinished, damaged, given twice, of another world, or holds
            a link.
    """
    for path in shards:
        check_own_files(path)
    worlds = [Dataset.open(path).world for path in shards]
    request = _whole_request(worlds)
    with WorldWriter(root, request) as writer:
        if not writer.finished:
            n_scenes = sum(world.manifest["scenes"] for world in worlds)
            with progress.track("merging", n_scenes) as advance:
                for world in worlds:
                    for answer in _recorded_answers(world):
                        if answer["scene_id"] not in writer.done:
                            _copy_scene(world, answer, writer)
                        advance()
            writer.keep_plan(worlds[0].folder)
            writer.finish(worlds[0].vocabulary_text)
    return World(root / "world")


def _whole_request(worlds: Sequence[World]) -> dict[str, Any]:
    """The request of the whole world.

    Raises UserError if the shards are not all the shards of one world.
    """
    world_by_number: dict[int, World] = {}
    # The request of the first shard, with the number of shards; all must agree in both.
    expected: dict[str, Any] = {}
    for world in worlds:
        request = dict(world.manifest["request"])
        shard = request.pop("shard", None)
        if shard is None:
            raise UserError(
                f"{world.folder.parent} is a whole dataset, not a shard; give folders made with "
                f"--shard i/n."
            )
        number, n_shards = shard
        request["shards"] = n_shards
        expected = expected or request
        if request != expected:
            raise UserError(
                f"{world.folder.parent} is a shard of another world: "
                f"{difference(request, expected)}; give the shards of one world."
            )
        if number in world_by_number:
            raise UserError(
                f"{world_by_number[number].folder.parent} and {world.folder.parent} are both shard "
                f"{number}/{n_shards}; give each once."
            )
        world_by_number[number] = world

    n_shards = expected.pop("shards")
    plan_sums = {world.sums.get(PLAN_FILE) for world in worlds}
    if len(plan_sums) > 1:
        raise UserError(
            "The shards have different plans; render them all with the same version of Jackalope."
        )
    missing = []
    for number in range(1, n_shards + 1):
        if number not in world_by_number:
            missing.append(f"{number}/{n_shards}")
    if missing:
        raise UserError(
            f"Shards are missing: {', '.join(missing)}; render them with --shard, or give their "
            f"folders too."
        )
    return expected


def _recorded_answers(world: World) -> Iterator[dict[str, Any]]:
    """The answers of a world's workers, as its tables recorded them."""
    for batch in world.batches("scenes", SCENES.names, rows=100):
        for row in batch.to_pylist():
            if row["status"] == "ok":
                for object_ in row["objects"]:
                    object_["attributes"] = dict(object_["attributes"])
                answer = {name: value for name, value in row.items() if name not in _ADDED_COLUMNS}
                answer["files"] = world.files_of(row["scene_id"])
            else:
                answer = {name: row[name] for name in ("scene_id", "cluster_id", "twin_of")}
                answer["failed"] = row["reason"]
            yield answer


def _copy_scene(world: World, answer: dict[str, Any], writer: WorldWriter) -> None:
    """Copy the files of a scene, and record its answer."""
    for path in answer.get("files", {}):
        data = world.read(path)  # raises UserError if it is damaged
        if _TARS in world.sums:
            target = file_in(writer.folder, path)
            target.parent.mkdir(exist_ok=True)
            write_bytes(target, data)
        else:
            copy_files(world.folder, [path], writer.folder)
    writer.add(answer)
