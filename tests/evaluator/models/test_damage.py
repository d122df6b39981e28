"""Damaged files of weights are told from whole ones, by their bytes."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from evaluator.models.hub import damage_in

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the same tensors in the three formats that are read."""
    tensors = {"a": torch.arange(600.0), "b": torch.zeros(3, 4)}
    torch.save(tensors, tmp_path / "new.pt")
    torch.save(tensors, tmp_path / "old.bin", _use_new_zipfile_serialization=False)
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    return tmp_path


def test_whole_files_are_not_called_damaged(files: Path) -> None:
    assert damage_in(files) is None
    assert all(damage_in(file) is None for file in files.iterdir())
    assert damage_in(files / "nowhere.pt") is None


def flipped(data: bytes) -> bytes:
    at = data.rindex(torch.arange(600.0).numpy().tobytes()) + 1000
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("new.pt", lambda data: data[:-9], "it is cut short"),
        ("new.pt", lambda data: data[:100], "it is cut short"),
        ("new.pt", flipped, "its part new/data/0 has other bytes"),
        ("new.pt", lambda data: b"", "it is empty"),
        ("new.pt", lambda data: POINTER, "a pointer of Git LFS"),
        ("new.pt", lambda data: b"<html>404</html>", "it does not begin as torch.save writes it"),
        ("old.bin", lambda data: bytes(len(data)), "it does not begin as torch.save writes it"),
        ("model.safetensors", lambda data: data[:-9], "it is cut short or changed"),
        ("model.safetensors", lambda data: data[:20], "it is cut short or changed"),
        ("model.safetensors", lambda data: data[:9] + b"[" * 9 + data[18:], "it is cut short or changed"),
        ("model.safetensors", lambda data: POINTER, "a pointer of Git LFS"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(
    files: Path, name: str, change: Callable[[bytes], bytes], said: str
) -> None:
    file = files / name
    file.write_bytes(change(file.read_bytes()))
    for place in (file, files):
        told = damage_in(place)
        assert told is not None
        assert told.startswith(f"'{file}' is damaged: ")
        assert said in told
