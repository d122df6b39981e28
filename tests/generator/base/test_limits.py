"""What no reader opens: pipes, sockets, devices, sparse files, and files larger than they should be."""

import os
import socket
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.base.limits import check_file, read_bytes, read_text
from tests.hostile_files import sparse


def test_a_regular_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("héllo")
    check_file(path)
    check_file(tmp_path / "missing")
    assert (read_text(path), read_bytes(path, 6)) == ("héllo", "héllo".encode())
    with pytest.raises(UserError, match="has 6 bytes, expected at most 5"):
        read_bytes(path, 5)
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "missing")


def test_pipes_sockets_devices_and_folders_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path may have a hundred characters
    os.mkfifo("pipe")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("socket")
    for path, kind in (
        (Path("pipe"), "a pipe"),
        (Path("socket"), "a socket"),
        (Path("/dev/zero"), "a device"),
        (tmp_path, "a folder"),
    ):
        with pytest.raises(UserError, match=f"to be a regular file, got {kind}"):
            read_text(path)
    listening.close()


def test_a_sparse_file_is_refused_and_a_written_one_is_not(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"sparse: it has 68,719,476,736 bytes and stores [0-9,]+; take"):
        check_file(sparse(tmp_path / "zeros"))
    check_file(sparse(tmp_path / "few", 1 << 20))
    written = tmp_path / "written"
    written.write_bytes(os.urandom(1 << 20) * 80)
    check_file(written)
    with written.open("rb+") as file:  # a tenth of it is a hole, as some copies make of zeros
        file.truncate(90 << 20)
    check_file(written)
