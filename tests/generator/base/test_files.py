"""Files that are written whole or not at all, sums, locks, JSON and TOML."""

import copy
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from generator.base.errors import UserError
from generator.base.files import (
    check_output,
    locked,
    parse_toml,
    read_json,
    read_sums,
    sha256,
    write_bytes,
    write_json,
    write_sums,
)
from generator.base.tables import write_table


def test_a_write_that_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_bytes(path, b"old")
    with pytest.raises(TypeError):
        write_bytes(path, "new")  # type: ignore[arg-type]
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


def test_equal_json_is_equal_bytes_and_damage_is_named(tmp_path: Path) -> None:
    for name, data in (("a", {"x": 1, "y": "é"}), ("b", {"y": "é", "x": 1})):
        write_json(tmp_path / name, data)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_json(tmp_path / "a") == {"x": 1, "y": "é"}
    for damaged in (b"{", b"[1]", b"\xff", b"", b'{"a":' * 50_000, b"[" * 50_000):
        (tmp_path / "a").write_bytes(damaged)
        with pytest.raises(UserError, match="is damaged"):
            read_json(tmp_path / "a")


def test_missing_key_names_its_file(tmp_path: Path) -> None:
    write_json(tmp_path / "a", {"x": {"y": [{"z": 1}]}})
    read = read_json(tmp_path / "a")
    assert read["x"]["y"][0].get("w") is None
    for lacking in (read, read["x"], read["x"]["y"][0]):
        with pytest.raises(UserError) as caught:
            lacking["w"]
        assert (
            caught.value.message
            == f"{tmp_path / 'a'} is damaged: it has no 'w'; restore it or make it again."
        )
    assert json.loads(json.dumps(read)) == read == copy.deepcopy(read)


def test_sums_name_every_file_but_hidden_ones_and_manifests(tmp_path: Path) -> None:
    for name in ("a.txt", "sub/b.txt", ".hidden", "manifest.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(name))
    digest = write_sums(tmp_path, {"a.txt": "known"})
    assert read_sums(tmp_path) == {"a.txt": "known", "sub/b.txt": sha256(tmp_path / "sub/b.txt")}
    assert digest == sha256(tmp_path / "SHA256SUMS")


@pytest.mark.parametrize(
    "write",
    [lambda path: write_json(path, {"a": 1}), lambda path: write_table(path, [], pa.schema([]))],
)
def test_a_link_laid_in_wait_is_not_followed(tmp_path: Path, write: Callable[[Path], None]) -> None:
    """A sender who guesses the number of our process could lay a link where a draft will be
    written."""
    (tmp_path / "key").write_text("private")
    (tmp_path / "d").mkdir()
    for name in (f".x.{os.getpid()}", "x"):
        (tmp_path / "d" / name).symlink_to(tmp_path / "key")
    write(tmp_path / "d" / "x")
    assert (tmp_path / "key").read_text() == "private"
    assert not (tmp_path / "d" / "x").is_symlink()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = " + "[" * 50_000, "nested too deeply"),
        ("a = " + "9" * 5_000, "a number of thousands of digits"),
        ("a" + ".a" * 50_000 + " = 1", "more than 200 dots"),  # takes their square in memory
        ("[" + "a." * 300 + "a]", "more than 200 dots"),
        ("a =", "Invalid value"),
    ],
)
def test_toml_that_costs_too_much_is_no_toml(text: str, words: str) -> None:
    assert parse_toml("a.b = 1\n[c]\nd = 'x.y'") == {"a": {"b": 1}, "c": {"d": "x.y"}}
    with pytest.raises(tomllib.TOMLDecodeError, match=words):
        parse_toml(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_text("image")
    return tmp_path


@pytest.mark.parametrize("place", ["images/new/deep", "images", "images/a.png", "new"])
def test_an_output_is_checked_and_nothing_is_left(root: Path, place: str) -> None:
    before = sorted(root.rglob("*"))
    check_output(root / place)
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize(
    "place", ["images/a.png/below", "images/a.png/far/below", "/proc/x", "/proc/x/y", "/sys/x"]
)
def test_check_output_refuses_unwritable_places_with_a_remedy(root: Path, place: str) -> None:
    path = root / place
    with pytest.raises(
        UserError, match=rf"^Cannot write {path}: no file can be made in /\S+ \(.+\); do that\.$"
    ):
        check_output(path, "do that")


# adds one to a number in a file, slowly, as often as it is told
COUNT = """
import sys, time
from pathlib import Path
from generator.base.files import locked
folder = Path(sys.argv[1])
for _ in range(40):
    with locked(folder / ".lock"):
        n = int((folder / "n").read_text())
        time.sleep(0.001)
        (folder / "n").write_text(str(n + 1))
"""


def test_processes_take_turns(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("0")
    running = [subprocess.Popen([sys.executable, "-c", COUNT, str(tmp_path)]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert (tmp_path / "n").read_text() == "120"


def test_held_lock_is_refused_and_freed_by_a_kill(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from generator.base.files import locked\n"
        "with locked(Path(sys.argv[1])): print(flush=True); time.sleep(600)"
    )
    path = tmp_path / ".lock"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(UserError, match="Another command is here"):
            locked(path, "Another command is here; wait for it.").__enter__()
        other.kill()
        other.wait()
    with locked(path, "busy"):
        pass


def test_a_lock_does_not_follow_a_link(tmp_path: Path) -> None:
    (tmp_path / ".lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"\.lock"):
        locked(tmp_path / ".lock", "busy").__enter__()
    assert not (tmp_path / "elsewhere").exists()
