"""Tars hold exactly what packed.parquet lists, and the row of each scene."""

import io
import json
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from generator.dataset.packing import scene_json
from generator.dataset.records import PACKED, SCENES
from generator.judge.tar_members import member_faults

ROW = {"scene_id": "000000", "status": "ok", "width": 2, "height": 2, "objects": [], "relations": [], "scene": "{}"}


def packed(folder: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(folder / "0.tar", "w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    rows = [
        {"path": path, "tar": "0.tar", "offset": 0, "size": 0, "sha256": ""}
        for path in ("images/000000.png", "masks/000000.png")
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=PACKED), folder / "packed.parquet")
    pq.write_table(pa.Table.from_pylist([ROW], schema=SCENES), folder / "scenes.parquet")
    return folder


WHOLE = {"000000.png": b"", "000000.masks.png": b"", "000000.json": scene_json(ROW)}


def test_a_whole_tar_has_no_fault_and_a_world_without_tars_neither(tmp_path: Path) -> None:
    assert list(member_faults(tmp_path)) == []
    assert list(member_faults(packed(tmp_path, WHOLE))) == []


def test_other_members_and_other_rows_are_named(tmp_path: Path) -> None:
    changed = json.dumps({**json.loads(WHOLE["000000.json"]), "width": 3}).encode()
    found = list(member_faults(packed(tmp_path, {"000000.png": b"", "x.py": b"", "000000.json": changed})))
    assert found == [
        "0.tar: it has 000000.masks.png 0 times, packed.parquet gives 1",
        "0.tar: it has x.py 1 times, packed.parquet gives 0",
        "0.tar: 000000.json is not the row of scenes.parquet",
    ]
