"""Worlds put together from the scenes of another, so that storage is tested on real renders without
rendering."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generator.dataset.reader import Dataset, World
from generator.dataset.records import SCENES
from generator.dataset.writer import WorldWriter


def records(world: World) -> Iterator[dict[str, Any]]:
    """What the workers answered for the rendered scenes of a world whose files lie in folders."""
    for row in world.table("scenes", SCENES).to_pylist():
        if row["status"] != "ok":
            continue
        path = f"images/{row['scene_id']}.png"
        for obj in row["objects"]:
            obj["attributes"] = dict(obj["attributes"])
        columns = ("scene_id", "cluster_id", "twin_of", "objects", "relations", "scene")
        yield {**{name: row[name] for name in columns}, "files": {path: world.sums[path]}}


def rewrite(source: Path, root: Path, turns: slice = slice(None), **request: Any) -> Path:
    """Write some scenes of the world in `source` into `root`, with more in the request."""
    world = Dataset.open(source).world
    with WorldWriter(root, {**world.manifest["request"], **request}) as writer:
        if not writer.finished:
            for record in list(records(world))[turns]:
                if record["scene_id"] not in writer.done:
                    for path in record["files"]:
                        shutil.copy(world.folder / path, writer.folder / path)
                    writer.add(record)
            writer.keep_plan(world.folder)
            writer.finish(world.vocabulary_text)
    return root
