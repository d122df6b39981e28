"""Checks what a world's manifest declares against its tables, its vocabulary, its plan and its files."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.dataset.outputs import OUTPUTS, output_path
from generator.dataset.records import PLAN_FILE, plan_request
from generator.judge.findings import Finding, finding

_TABLES = frozenset({PLAN_FILE, "scenes.parquet", "vocabulary.toml", "packed.parquet"})
_TAR = re.compile(r"shards/\d{6}\.tar")
_SIZE = ("width", "height")


def declared_faults(manifest: Mapping[str, Any], rows: Counter[tuple[Any, ...]], vocabulary: str) -> Iterator[Finding]:
    """A manifest that counts other scenes, sizes or another vocabulary than the files.

    `rows`: how many rows of scenes.parquet there are by status, width and height. `vocabulary`: the text of the file.
    """
    request = manifest.get("request")
    if not isinstance(request, dict):
        yield finding("wrong manifest", "world/manifest.json has no request")
        request = {}
    statuses: Counter[str] = Counter()
    for (status, width, height), n in rows.items():
        statuses[status] += n
        if (width, height) != (request.get("width"), request.get("height")):
            yield finding(
                "wrong manifest",
                f"{n} scenes are of {width} x {height} pixels, the manifest says {request.get('width')} x {request.get('height')}",
            )
    for name, found in (("scenes", statuses.total()), ("failed", statuses["failed"])):
        if manifest.get(name) != found:
            yield finding("wrong count", f"the world has {found} {name}, its manifest says {manifest.get(name)}")
    if request.get("vocabulary") != vocabulary:
        yield finding(
            "another vocabulary", "world/vocabulary.toml is not the vocabulary that the manifest was asked for"
        )
    holdouts = request.get("holdouts")
    if not (isinstance(holdouts, list) and holdouts and all(isinstance(each, dict) for each in holdouts)):
        yield finding("wrong manifest", "the request of world/manifest.json has no holdouts")


def planned_faults(folder: Path, request: Mapping[str, Any]) -> Iterator[Finding]:
    """A plan of another format, or one that was asked for otherwise than the world."""
    try:
        planned = plan_request(folder)
    except UserError as error:
        yield finding("wrong format", error.message)
        return
    for name in sorted(planned or ()):
        if planned and planned[name] != request.get(name) and not ("from" in request and name in _SIZE):
            yield finding("not as planned", f"plan.parquet was asked for another {name} than the world")


def scene_file_faults(
    manifest: Mapping[str, Any], scene_ids: list[str], listed: set[str], packed: set[str]
) -> Iterator[Finding]:
    """Scenes without one of their files, and files that belong to no scene.

    `listed`: the paths of SHA256SUMS. `packed`: the paths of packed.parquet.
    """
    request = manifest.get("request") or {}
    outputs = [each for each in request.get("outputs", ()) if each in OUTPUTS]
    if (packed and "tar_bytes" not in request) or (not packed and "tar_bytes" in request and scene_ids):
        yield finding("wrong manifest", "the manifest does not say truly whether the files of scenes lie in tars")
    found = packed | listed
    images = {f"images/{scene_id}.png": scene_id for scene_id in scene_ids}
    others = {output_path(each, scene_id): scene_id for each in outputs for scene_id in scene_ids}
    for path in sorted(images.keys() - found):
        yield finding("missing image", f"scene {images[path]} has no image")
    for path in sorted(others.keys() - found):
        yield finding("missing file", f"scene {others[path]} has no {path}")
    for path in sorted(found - images.keys() - others.keys() - _TABLES):
        if not (packed and _TAR.fullmatch(path)):
            yield finding("stray file", f"world/{path} belongs to no scene")
    for path in sorted(packed & listed):
        yield finding("stray file", f"world/{path} lies in a tar and in a folder")
