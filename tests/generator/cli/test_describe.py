"""`gen describe`: new texts over the same images and splits."""

import json
from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from tests.conftest import run_command


def test_new_texts_keep_the_splits(copied: Path) -> None:
    done = run_command("gen", "describe", copied, "--protocol", "binary", "--seed", "3", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["benchmark"] == "color-shape-3x3-b0-texts"
    assert data["scenes"] == {"train": 110, "val": 4, "seen": 20, "partial": 20, "unseen": 20}
    assert "each decided on its scene" in done.stderr
    first, texts = (Dataset.open(copied).benchmark(name) for name in ("color-shape-3x3-b0", data["benchmark"]))
    assert texts.splits["split"].to_pylist() == first.splits["split"].to_pylist()
    assert texts.items.num_rows == sum(data["items"].values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--protocol", "binery"], "did you mean 'binary'"),
        (["--complexity", "many"], "--complexity"),
        (["--counts", "O=x"], "--counts"),
        (["--captions", "density=2"], "--captions"),
        (["--template", "poem"], "poem"),
        (["--level", "OX"], "OX"),
        (["--name", "../up"], "../up"),
    ],
)
def test_a_mistake_is_one_sentence(rendered: Path, arguments: list[str], said: str) -> None:
    done = run_command("gen", "describe", rendered, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
