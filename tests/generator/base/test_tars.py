"""Tars: equal contents give equal bytes, and every member lies where it is said to."""

import tarfile
from pathlib import Path

import pytest

from generator.dataset.packing import Member, TarWriter, member_name

MEMBERS: list[Member] = [("0.png", b"x" * 700), ("0.json", b"{}"), ("1.png", b"")]


def test_members_lie_at_their_places_and_tar_reads_them(tmp_path: Path) -> None:
    with TarWriter(tmp_path / "a.tar") as writer:
        places = {**writer.add(MEMBERS[:2]), **writer.add(MEMBERS[2:])}
        assert not (tmp_path / "a.tar").exists()
    data = (tmp_path / "a.tar").read_bytes()
    assert {name: data[offset : offset + size] for name, (offset, size) in places.items()} == dict(MEMBERS)
    with tarfile.open(tmp_path / "a.tar") as tar:
        assert [(each.name, each.size, each.mtime, each.uid) for each in tar] == [
            (name, len(content), 0, 0) for name, content in MEMBERS
        ]
    with TarWriter(tmp_path / "b.tar") as writer:
        writer.add(MEMBERS)
    assert (tmp_path / "b.tar").read_bytes() == data


def test_a_limit_is_kept_but_for_a_first_scene_that_is_larger(tmp_path: Path) -> None:
    with TarWriter(tmp_path / "a.tar") as writer:
        assert writer.fits(MEMBERS, 1)
        writer.add(MEMBERS)
        assert writer.fits(MEMBERS, 20 * 512)
        assert not writer.fits([("big", bytes(6 * 1024))], 20 * 512)
    assert (tmp_path / "a.tar").stat().st_size == 20 * 512


def test_an_error_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(TypeError), TarWriter(tmp_path / "a.tar") as writer:
        writer.add([*MEMBERS, ("broken", None)])  # type: ignore[list-item]
    assert not list(tmp_path.iterdir())


def test_images_have_the_plain_names() -> None:
    assert member_name("images/000017.png") == "000017.png"
    assert member_name("depth/000017.npy") == "000017.depth.npy"
