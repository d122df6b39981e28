"""A made suite over plain images: a rotation of two turns, and a world without a split."""

import shutil
from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from generator.describe.benchmark import write_benchmarks
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.suite.definition import Suite, read_suite
from generator.suite.record import DECLARATION, FORMAT, write_record
from tests.conftest import once
from tests.generator.designs import family
from tests.generator.unrendered import write_planned

DECLARED = """
name = "mini"
version = 1
about = "A small suite."

[tracks.bind]
about = "Do trained models bind?"
trained = true

[tracks.bind.worlds.color-shape]
about = "Values on objects."
family = "{family}"
holdout = ["turns=2"]
scenes = "train=60,val=4,partial=6,unseen=12"
resolution = "64x48"
runs = [{{ protocols = ["pairs", "retrieval"] }}]

[tracks.zero-shot]
about = "How well do models bind as they are?"

[tracks.zero-shot.worlds.two]
about = "Two objects."
family = "{family}"
holdout = ["none"]
scenes = "12"
resolution = "64x48"
runs = [{{ protocols = ["pairs"] }}]

[tracks.describe]
about = "What do models say?"

[tracks.describe.worlds.two]
about = "Two objects."
family = "{family}"
holdout = ["none"]
scenes = "8"
resolution = "64x48"
runs = [{{ command = "ask", form = "describe" }}]
"""


def _make(root: Path) -> None:
    root.mkdir(parents=True)
    own_family = root / "family.toml"
    own_family.write_text(family(5, 5), encoding="utf-8")
    (root / DECLARATION).write_text(DECLARED.format(family=own_family), encoding="utf-8")
    digests = dict.fromkeys(("plan", "texts", "images"), "0" * 64) | {
        "blender": "4.5.0",
        "device": "cpu",
    }
    worlds = {}
    for track, name, world in read_suite(root / DECLARATION).worlds():
        options = WorldOptions(
            family=world.family,
            holdout=world.holdout[0],
            scenes=world.scenes,
            resolution=world.resolution,
        )
        dataset = root / track / name
        write_planned(dataset, prepare(options))
        write_benchmarks(dataset, Dataset.open(dataset).world, exposed_negatives=False)
        worlds[f"{track}/{name}"] = digests
    write_record(
        root,
        {
            "format": FORMAT,
            "suite": "mini",
            "version": 1,
            "part": "full",
            "form": "standard",
            "worlds": worlds,
        },
    )


@pytest.fixture(scope="session")
def suite_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made suite. Not to be changed."""
    return once(tmp_path_factory, "mini-1", _make)


@pytest.fixture
def suite_copy(suite_folder: Path, tmp_path: Path) -> Path:
    """A copy of the made suite in an empty folder."""
    return Path(shutil.copytree(suite_folder, tmp_path / "mini-1"))


@pytest.fixture
def declared(suite_folder: Path) -> Suite:
    """Its declaration."""
    return read_suite(suite_folder / DECLARATION)
