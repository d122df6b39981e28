"""SHA256SUMS written in parts."""

import random
from pathlib import Path

from generator.base.files import SUMS, SumsWriter, sha256, write_sums


def test_sums_written_in_parts_are_those_of_the_whole_folder(tmp_path: Path) -> None:
    paths = [f"{folder}/{n:03d}.png" for folder in ("images", "images-b", "masks") for n in range(20)] + ["a", "z.toml"]
    for path in paths:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(path)
    random.Random(0).shuffle(paths)
    with SumsWriter(tmp_path) as sums:
        for path in sorted(paths, key=lambda path: path.rpartition("/")[2]):
            sums.add(path, sha256(tmp_path / path))
        digest = sums.finish()
    written = (tmp_path / SUMS).read_bytes()
    assert write_sums(tmp_path, {}) == digest
    assert (tmp_path / SUMS).read_bytes() == written
    assert not list(tmp_path.glob(".*"))
