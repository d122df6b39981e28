"""Whatever a file holds, its reader returns or says in one sentence what is wrong, soon and in
little memory."""

import os
import re
import shutil
import signal
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from generator.base.errors import UserError
from generator.dataset.outputs import OUTPUTS
from generator.judge.verify import verify_dataset
from tests.fuzz.mutations import of_kind
from tests.fuzz.readers import READERS, make_files, seal
from tests.generator.dataset.conftest import FIRST, make_dataset
from tests.generator.worlds import rewrite
from tests.hostile_files import sparse

SECONDS, MEBIBYTES = 10.0, 1024
EXAMPLES = int(os.environ.get("JACKALOPE_FUZZ_EXAMPLES", "40"))  # for each file of a reader
SLOW = {
    "judge": 12,
    "judge, indices": 12,
    "judge, tars": 12,
    "run": 30,
    "report": 30,
    "run in words": 30,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with the other files beside it; the same with tars in `packed`."""
    root = make_dataset(tmp_path_factory.mktemp("fuzz") / "dataset")
    shutil.rmtree(root / "benchmarks" / "again")
    verify_dataset(root, FIRST)
    packed = rewrite(root, root.with_name("packed"), tar_bytes=1 << 20)
    shutil.copytree(root / "benchmarks", packed / "benchmarks")
    small = root.with_name("small")
    small.mkdir()
    make_files(small)
    return root.parent


def place(folder: Path, name: str, file: str) -> tuple[Path, str]:
    """The folder that a reader reads, and the path of a file of it."""
    part = (
        "packed"
        if "tars" in name
        else "dataset"
        if file.startswith(("world/", "benchmarks/", "dataset.json", "README", "croissant"))
        else "small"
    )
    return folder / part, file.replace("NAME", FIRST)


def peak() -> int:
    """The most MiB that this process held since the last call."""
    peak_line = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    Path("/proc/self/clear_refs").write_text("5")
    return int(peak_line[1]) // 1024 if peak_line else 0


def check(folder: Path, name: str, file: str, data: bytes) -> None:
    """Read a folder in which one file has other bytes; the folder is as it was afterwards."""
    reader = READERS[name]
    root, file = place(folder, name, file)
    path = root / file
    contents = {
        file_path: file_path.read_bytes()
        for file_path in root.rglob("*")
        if file_path.is_file() and (file_path == path or file_path.name in _SEALED)
    }
    before = (peak(), peak())[1]
    started = time.process_time()  # of a busy machine the clock on the wall says nothing
    try:
        path.write_bytes(data)
        if reader.seal:
            seal(root, file)
        with suppress(UserError):
            reader.read(root)
    finally:
        for file_path, whole in contents.items():
            file_path.write_bytes(whole)
    assert time.process_time() - started < SECONDS
    assert peak() - before < MEBIBYTES


_SEALED = {"manifest.json", "SHA256SUMS", "verify.json", "run.json", "results.json", "items.csv"}
FILES = [(name, file) for name, reader in READERS.items() for file in reader.files]


def fuzz(folder: Path, name: str, file: str, examples: int, phases: tuple[Phase, ...]) -> None:
    root, path = place(folder, name, file)
    damaged = of_kind(file)((root / path).read_bytes())

    @seed(zlib.crc32(f"{name} {file}".encode()))
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
    )
    @given(damaged)
    def run(data: bytes) -> None:
        check(folder, name, file, data)

    run()


@pytest.mark.parametrize("name", [name for name in READERS if name != "judge, indices"])
def test_a_few_damaged_files_are_read_or_refused(folder: Path, name: str) -> None:
    """The first file of each reader, damaged in a few ways; `make test-full` damages each file in
    many."""
    fuzz(folder, name, READERS[name].files[0], 3, (Phase.generate,))


@pytest.mark.full
@pytest.mark.parametrize(("name", "file"), FILES)
def test_damaged_files_are_read_or_refused(folder: Path, name: str, file: str) -> None:
    fuzz(folder, name, file, SLOW.get(name, EXAMPLES), (Phase.generate, Phase.shrink))


@pytest.mark.full
def test_the_files_are_whole_before_they_are_damaged(folder: Path) -> None:
    """What is damaged can be read: no reader ends at the door."""
    for name, reader in READERS.items():
        reader.read(place(folder, name, reader.files[0])[0])


@pytest.mark.full
@pytest.mark.parametrize(
    "name", sorted(READERS.keys() - OUTPUTS)
)  # World reads outputs, and decodes them from memory
@pytest.mark.parametrize("plant", [os.mkfifo, sparse], ids=["pipe", "sparse"])
def test_pipes_and_sparse_files_are_refused_soon(
    folder: Path, name: str, plant: Callable[[Path], object]
) -> None:
    reader = READERS[name]
    for file in reader.files:
        root, place_of_file = place(folder, name, file)
        path = root / place_of_file
        moved = path.rename(folder / "kept")
        plant(path)
        signal.alarm(int(SECONDS))  # nobody writes to the pipe
        try:
            with suppress(UserError):
                certificates = reader.read(root)
                assert isinstance(certificates, dict), f"{file} was read"
                assert {certificate["status"] for certificate in certificates.values()} == {
                    "failed"
                }  # certificates of the judge
        finally:
            signal.alarm(0)
            moved.rename(path)
