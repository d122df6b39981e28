"""Scenes packed into tars: a stopped packing continues to the same files."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.base.files import sha256
from generator.dataset import packing
from generator.dataset.journal import Journal
from generator.dataset.packing import Packer, scene_json


def scenes(folder: Path, n: int = 6) -> list[dict[str, Any]]:
    """Records of rendered scenes of 8 kB, two of which fill a tar of 20 kB."""
    (folder / "images").mkdir(parents=True)
    found = []
    for i in range(n):
        path = folder / "images" / f"{i}.png"
        path.write_bytes(bytes([i]) * 8_000)
        found.append({"scene_id": f"{i}", "files": {f"images/{i}.png": sha256(path)}, "objects": [], "relations": []})
    return found


def packer(folder: Path) -> Packer:
    return Packer(folder, 20_480, Journal(folder / ".journal.db"))


def test_every_file_lies_in_a_tar_and_no_longer_in_a_folder(tmp_path: Path) -> None:
    records = scenes(tmp_path)
    packed = packer(tmp_path)
    packed.pack(records)
    rows = pq.read_table(tmp_path / "packed.parquet").to_pylist()
    assert len({row["tar"] for row in rows}) == 3
    for row in rows:
        data = (tmp_path / row["tar"]).read_bytes()[row["offset"] :][: row["size"]]
        assert data == bytes([int(row["path"][7])]) * 8_000
    assert not (tmp_path / "images").exists()
    assert packed.holds("5")
    assert not packed.holds("6")


def test_a_stopped_packing_continues_to_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    records = scenes(whole)
    packer(whole).pack(records)
    records = scenes(stopped)
    monkeypatch.setattr(packing.TarWriter, "__exit__", _once(packing.TarWriter.__exit__))
    with pytest.raises(KeyboardInterrupt):
        packer(stopped).pack(records)
    monkeypatch.undo()
    again = packer(stopped)
    assert again.begun
    again.pack(records)
    for path in whole.rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            assert (stopped / path.relative_to(whole)).read_bytes() == path.read_bytes()


def _once(leave: Any) -> Any:
    """A context's end that is interrupted the second time."""
    calls: list[None] = []

    def left(self: Any, *error: Any) -> Any:
        calls.append(None)
        if len(calls) == 2:
            leave(self, KeyboardInterrupt, None, None)
            raise KeyboardInterrupt
        return leave(self, *error)

    return left


def test_a_scene_is_its_row_as_json() -> None:
    thing = {"category": "cube", "attributes": {"color": "red"}, "amodal_box": [0, 0, 2, 2]}
    shown = json.loads(scene_json({"scene_id": "7", "objects": [thing], "files": {}}))
    assert shown["objects"][0]["attributes"] == {"color": "red"}
    assert shown["objects"][0]["visible_fraction"] is None
    assert "files" not in shown


@pytest.mark.parametrize("path", ["../key", "../../key", "/etc/passwd", "images/../../key"])
def test_a_note_or_record_that_leaves_the_world_is_refused(tmp_path: Path, path: str) -> None:
    """Packing removes the files that the notes of an earlier packing list, and reads those of the records."""
    world = tmp_path / "d" / "world"
    records = scenes(world)
    for key in (tmp_path / "key", tmp_path / "d" / "key"):
        key.write_text("private")
    journal = Journal(world / ".journal.db")
    journal.add_tar("t", "0", "", [{"path": path}])
    with pytest.raises(UserError, match="is no path within that folder"):
        Packer(world, 20_480, journal).pack(records)
    (world / ".journal.db").unlink()
    with pytest.raises(UserError, match="is no path within that folder"):
        packer(world).pack([{**records[0], "files": {path: "0"}}])
    assert (tmp_path / "key").exists()
    assert (tmp_path / "d" / "key").exists()
