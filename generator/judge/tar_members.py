"""Checks that the tars of a world hold exactly what packed.parquet lists, and each scene's row as ID.json."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from generator.base.limits import MOST_IN_SCENE
from generator.base.parquet import read_batches, read_table
from generator.base.paths import file_in
from generator.dataset.records import PACKED, SCENES
from generator.judge.findings import DAMAGE
from generator.judge.tars import members_of


def member_faults(folder: Path) -> Iterator[str]:
    """Members of tars that packed.parquet does not list, or that are no plain files, and ID.json files that are not the rows
    of scenes.parquet; none if the world has no tars. Damaged files are found by tars.py and files.py."""
    if not (folder / "packed.parquet").exists():
        return
    due: dict[str, Counter[str]] = defaultdict(Counter)
    tar_of: dict[str, str] = {}
    try:
        for row in read_table(folder / "packed.parquet", PACKED).to_pylist():
            due[row["tar"]][_name(row["path"])] += 1
            scene_id = row["path"].rpartition("/")[2].partition(".")[0]
            if tar_of.setdefault(scene_id, row["tar"]) != row["tar"]:
                yield f"{row['tar']}: the files of scene {scene_id} lie in two tars"
        for scene_id, path in tar_of.items():
            due[path][f"{scene_id}.json"] += 1
        rows = _digests(folder / "scenes.parquet")
        for path, names in due.items():
            yield from (f"{path}: {fault}" for fault in _faults(file_in(folder, path), names, rows))
    except DAMAGE:
        return


def _faults(path: Path, due: Counter[str], rows: dict[str, str]) -> Iterator[str]:
    members = members_of(path)
    for name in sorted({each.name for each in members if not each.isreg()}):
        yield f"{name} is no plain file"
    found = Counter(each.name for each in members)
    for name in sorted((found - due) | (due - found)):
        yield f"it has {name} {found[name]} times, packed.parquet gives {due[name]}"
    with path.open("rb") as file:
        for member in members:
            if member.name in rows and member.isreg():
                file.seek(member.offset_data)
                if sha256(file.read(min(member.size, MOST_IN_SCENE))).hexdigest() != rows[member.name]:
                    yield f"{member.name} is not the row of scenes.parquet"


def _digests(path: Path) -> dict[str, str]:
    """SHA-256 of each row of scenes.parquet as a tar has it: JSON with sorted keys, attributes as an object."""
    digests = {}
    for batch in read_batches(path, SCENES.names, 500, SCENES):
        for row in batch.to_pylist():
            for thing in row["objects"] or ():
                thing["attributes"] = dict(thing["attributes"])
            digests[f"{row['scene_id']}.json"] = sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()
    return digests


def _name(path: str) -> str:
    """The member of a file: 000017.png of images/000017.png, 000017.masks.png of masks/000017.png."""
    folder, _, name = path.rpartition("/")
    key, dot, ending = name.partition(".")
    return name if folder == "images" else f"{key}.{folder}{dot}{ending}"
