"""`gen export`: scenes by split are printed."""

import json
from pathlib import Path

from tests.conftest import succeed


def test_scenes_are_counted_by_split(rendered: Path, tmp_path: Path) -> None:
    done = succeed("gen export webdataset --json --out tars", rendered, cwd=tmp_path)
    scenes = {"train": 110, "val": 4, "seen": 20, "partial": 20, "unseen": 20}
    assert json.loads(done.stdout) == {"out": "tars", "scenes": scenes}
    assert done.stderr == "Scenes: train 110, val 4, seen 20, partial 20, unseen 20.\n"
