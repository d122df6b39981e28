"""Scenes packed into tars: equal contents give equal bytes, and a stopped packing continues to the
same files."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from generator.base.errors import UserError
from generator.base.files import sha256
from generator.dataset import packing
from generator.dataset.journal import Journal
from generator.dataset.packing import Member, Packer, new_tar, scene_json


def scenes(folder: Path, n: int = 6) -> list[dict[str, Any]]:
    """Records of rendered scenes of 8 kB, two of which fill a tar of 20 kB."""
    (folder / "images").mkdir(parents=True)
    records = []
    for i in range(n):
        path = folder / "images" / f"{i}.png"
        path.write_bytes(bytes([i]) * 8_000)
        records.append(
            {
                "scene_id": f"{i}",
                "files": {f"images/{i}.png": sha256(path)},
                "objects": [],
                "relations": [],
            }
        )
    return records


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


def test_a_stopped_packing_continues_to_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    records = scenes(whole)
    packer(whole).pack(records)
    records = scenes(stopped)

    def killed(path: Path) -> str:
        if path.name == "000002.tar":  # written, and not noted
            raise KeyboardInterrupt
        return sha256(path)

    with monkeypatch.context() as patch:
        patch.setattr(packing, "sha256", killed)
        with pytest.raises(KeyboardInterrupt):
            packer(stopped).pack(records)
    resumed = packer(stopped)
    assert resumed.has_tars
    resumed.pack(records)
    for path in whole.rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            assert (stopped / path.relative_to(whole)).read_bytes() == path.read_bytes()


def test_a_scene_is_its_row_as_json() -> None:
    obj = {"category": "cube", "attributes": {"color": "red"}, "amodal_box": [0, 0, 2, 2]}
    row = json.loads(scene_json({"scene_id": "7", "objects": [obj], "files": {}}))
    assert row["objects"][0]["attributes"] == {"color": "red"}
    assert row["objects"][0]["visible_fraction"] is None
    assert "files" not in row


@pytest.mark.parametrize("path", ["../key", "../../key", "/etc/passwd", "images/../../key"])
def test_a_note_or_record_that_leaves_the_world_is_refused(tmp_path: Path, path: str) -> None:
    """Packing removes the files that the notes of an earlier packing list, and reads those of the
    records."""
    world = tmp_path / "d" / "world"
    records = scenes(world)
    for key in (tmp_path / "key", tmp_path / "d" / "key"):
        key.write_text("private")
    journal = Journal(world / ".journal.db")
    journal.add_tar("t", sha256="0", last_scene="", rows=[{"path": path}])
    with pytest.raises(UserError, match="is not a path within that folder"):
        Packer(world, 20_480, journal).pack(records)
    (world / ".journal.db").unlink()
    with pytest.raises(UserError, match="is not a path within that folder"):
        packer(world).pack([{**records[0], "files": {path: "0"}}])
    assert (tmp_path / "key").exists()
    assert (tmp_path / "d" / "key").exists()


MEMBERS: list[Member] = [("0.png", b"x" * 700), ("0.json", b"{}"), ("1.png", b"")]


def test_members_lie_at_their_places_and_tar_reads_them(tmp_path: Path) -> None:
    with new_tar(tmp_path / "a.tar") as writer:
        places = {**writer.add(MEMBERS[:2]), **writer.add(MEMBERS[2:])}
        assert not (tmp_path / "a.tar").exists()
    data = (tmp_path / "a.tar").read_bytes()
    assert {name: data[offset : offset + size] for name, (offset, size) in places.items()} == dict(
        MEMBERS
    )
    with tarfile.open(tmp_path / "a.tar") as tar:
        assert [(member.name, member.size, member.mtime, member.uid) for member in tar] == [
            (name, len(content), 0, 0) for name, content in MEMBERS
        ]
    with new_tar(tmp_path / "b.tar") as writer:
        writer.add(MEMBERS)
    assert (tmp_path / "b.tar").read_bytes() == data


def test_a_limit_is_kept_but_for_a_first_scene_that_is_larger(tmp_path: Path) -> None:
    with new_tar(tmp_path / "a.tar") as writer:
        assert writer.fits(MEMBERS, 1)
        writer.add(MEMBERS)
        assert writer.fits(MEMBERS, 20 * 512)
        assert not writer.fits([("big", bytes(6 * 1024))], 20 * 512)
    assert (tmp_path / "a.tar").stat().st_size == 20 * 512


def test_an_error_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(TypeError), new_tar(tmp_path / "a.tar") as writer:
        writer.add([*MEMBERS, ("broken", None)])  # type: ignore[list-item]
    assert not list(tmp_path.iterdir())
