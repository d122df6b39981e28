"""The export in tars, opened by the library webdataset."""

from pathlib import Path

import webdataset

from generator.dataset.reader import Dataset
from tests.conftest import succeed
from tests.generator.exports.texts import texts_of


def test_webdataset_opens_the_export(rendered: Path, tmp_path: Path) -> None:
    succeed("gen export webdataset --size 200KB", rendered, "--out", tmp_path / "tars")
    opened = Dataset.open(rendered)
    benchmark = opened.benchmark()
    for split, n in benchmark.manifest["scenes"].items():
        tars = sorted((tmp_path / "tars" / split).iterdir())
        assert all(path.stat().st_size <= 200_000 for path in tars)
        samples = list(
            webdataset.WebDataset([str(path) for path in tars], shardshuffle=False).decode("pil")
        )
        assert len(samples) == n
        sample = samples[-1]
        row = sample["json"]
        assert (row["split"], row["scene_id"]) == (split, sample["__key__"])
        assert sample["png"].tobytes() == opened.world.image(row["scene_id"]).tobytes()
        assert sample["txt"] == row["captions"][0]
        assert {True: set(row["captions"]), False: set(row["negatives"])} == texts_of(
            benchmark, row["scene_id"]
        )
    assert len(list((tmp_path / "tars" / "train").iterdir())) > 1
