"""Shards are merged into the files of one run."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.render.shards import merge_worlds
from tests.conftest import run_command
from tests.generator.judge.datasets import edit
from tests.generator.render.digests import files
from tests.generator.worlds import rewrite


def test_merged_parts_are_the_files_of_one_run(rendered: Path, parts: list[Path], tmp_path: Path) -> None:
    done = run_command("gen", "merge", *reversed(parts), "--out", tmp_path / "whole")
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "whole") == {name: d for name, d in files(rendered).items() if "verify.json" not in name}
    again = run_command("gen", "merge", *parts, "--out", tmp_path / "whole", "--json")
    assert json.loads(again.stdout)["scenes"]["train"] > 0
    assert [Dataset.open(part).benchmark_names() for part in parts] == [[], [], []]


def test_a_stopped_merge_continues(rendered: Path, parts: list[Path], tmp_path: Path, monkeypatch: Any) -> None:
    link, calls = os.link, iter(range(1000))

    def stopping(*arguments: Any) -> None:
        if next(calls) == 100:
            raise KeyboardInterrupt
        link(*arguments)

    monkeypatch.setattr(os, "link", stopping)
    with pytest.raises(KeyboardInterrupt):
        merge_worlds(parts, tmp_path / "whole")
    assert not (tmp_path / "whole/world/manifest.json").exists()
    monkeypatch.setattr(os, "link", lambda *arguments: (_ for _ in ()).throw(OSError("no links here")))
    merge_worlds(parts, tmp_path / "whole")
    assert files(tmp_path / "whole/world") == files(rendered / "world")


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (lambda parts, whole: parts[:2], "Shards are missing: 3/3"),
        (lambda parts, whole: [*parts, parts[0]], "are both shard 1/3; give each once"),
        (lambda parts, whole: [*parts, whole], "is a whole dataset, not a shard"),
        (lambda parts, whole: [parts[0].parent], "is no dataset"),
    ],
)
def test_parts_that_are_no_whole_are_refused(
    rendered: Path, parts: list[Path], tmp_path: Path, give: Any, said: str
) -> None:
    done = run_command("gen", "merge", *give(parts, rendered), "--out", tmp_path / "whole")
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "whole").exists()


def test_parts_of_another_world_and_damaged_ones_are_refused(rendered: Path, parts: list[Path], tmp_path: Path) -> None:
    other = rewrite(rendered, tmp_path / "other", slice(2, None, 3), shard=[3, 3], seed=1)
    with pytest.raises(UserError, match="is a shard of another world: it has seed = 1, not 0"):
        merge_worlds([*parts[:2], other], tmp_path / "whole")
    damaged = rewrite(rendered, tmp_path / "damaged", slice(2, None, 3), shard=[3, 3])
    (damaged / "world/images/000002.png").write_bytes(b"")
    with pytest.raises(UserError, match=r"000002\.png is damaged or missing"):
        merge_worlds([*parts[:2], damaged], tmp_path / "whole")


@pytest.mark.parametrize("name", ["../../../private/key", "*", "/etc/passwd"])
def test_a_shard_whose_scenes_have_other_names_is_refused(parts: list[Path], tmp_path: Path, name: str) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.png").write_text("private")
    received = Path(shutil.copytree(parts[1], tmp_path / "received"))
    edit(received / "world", "scenes", lambda rows: rows[0].update(scene_id=name, status="failed", reason="x"))
    done = run_command("gen", "merge", parts[0], received, parts[2], "--out", tmp_path / "out" / "whole")
    assert done.returncode == 2
    assert "scenes.parquet has the scene_id" in done.stderr
    assert (tmp_path / "private" / "key.png").read_text() == "private"
