"""Tiny worlds without rendering, and the records of their images."""

from pathlib import Path

import pytest

from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.image_truths import read_truths
from generator.dataset.reader import Dataset
from tests.conftest import once
from tests.generator.unrendered import BENCHMARK, write_texts, write_world

SCENES = {"train": 30, "val": 1, "seen": 12, "partial": 12, "unseen": 12}
TESTED = ("seen", "partial", "unseen")


def make_world(factory: pytest.TempPathFactory, family: str, objects: tuple[int, int]) -> Dataset:
    """A world of a family, with a benchmark, made once a test run."""

    def make(root: Path) -> None:
        write_texts(root, write_world(root, SCENES, family, objects))

    return Dataset.open(once(factory, f"described-{family}", make))


@pytest.fixture(scope="session", params=[("clevr", (2, 2)), ("clevr-relations", (2, 4))], ids=str)
def dataset(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Worlds of two families."""
    return make_world(tmp_path_factory, *request.param)


@pytest.fixture(scope="session")
def related(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A world of two to four objects in all eight relations."""
    return make_world(tmp_path_factory, "clevr-relations", (2, 4))


@pytest.fixture(scope="session")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A world of three to six objects."""
    return make_world(tmp_path_factory, "clevr-many", (3, 6))


@pytest.fixture(scope="session")
def truths(related: Dataset) -> list[ImageTruth]:
    """The records of all evaluation images of `related`."""
    return list(read_truths(related.world, related.benchmark(BENCHMARK), TESTED))


@pytest.fixture(scope="session")
def crowded_truths(crowded: Dataset) -> list[ImageTruth]:
    """The records of all evaluation images of `crowded`."""
    return list(read_truths(crowded.world, crowded.benchmark(BENCHMARK), TESTED))
