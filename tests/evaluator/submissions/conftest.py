"""A tiny suite of two forms, models that answer it, and their submissions."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from generator.base.files import read_json, sha256, write_json
from generator.suite.record import FORMAT, WorldDigests
from tests.evaluator.conftest import build_dataset, succeed

SCENES = {"train": 12, "val": 2, "seen": 14, "partial": 4, "unseen": 14}
PROTOCOLS = ("--protocol", "binary", "--protocol", "retrieval")
MODEL = """
import hashlib
import numpy as np

class Model:
    '''Embeds an image by its mean colours, a text by its words. Other seeds are other models.'''
    def __init__(self, seed: int = 0):
        self.seed = seed
        self.info = {"seed": seed}
    def encode_images(self, images):
        pixels = np.stack([np.asarray(image.resize((8, 8)), np.float64).ravel() for image in images])
        mix = np.random.default_rng(self.seed).normal(size=(pixels.shape[1], 24))
        return (pixels - 128) @ mix
    def encode_texts(self, texts):
        return np.stack([sum(self.word(word, i) for i, word in enumerate(text.split())) for text in texts])
    def word(self, word, place):
        digest = hashlib.sha256(f"{word} {place} {self.seed}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big")).normal(size=24)
    def answer(self, images, question):
        return "A"
"""


def write_suite(folder: Path, form: str, seed: int, *worlds: str) -> Path:
    """A suite's folder as `gen suite` writes it: suite.json, and a dataset for each world."""
    listed = {}
    for number, world in enumerate(worlds):
        build_dataset(folder / "zero-shot" / world, SCENES, seed=seed + number)
        listed[f"zero-shot/{world}"] = dict.fromkeys(WorldDigests.__annotations__, "")
    record = {
        "format": FORMAT,
        "suite": "toy",
        "version": 1,
        "part": "tiny",
        "form": form,
        "worlds": listed,
    }
    write_json(folder / "suite.json", record)
    return folder


@pytest.fixture(scope="session")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the models."""
    path = tmp_path_factory.mktemp("models") / "embedding_model.py"
    path.write_text(MODEL)
    return path


@pytest.fixture(scope="session")
def standard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The standard form, of two worlds. Not to be changed."""
    return write_suite(tmp_path_factory.mktemp("suite") / "standard", "standard", 3, "one", "two")


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A form of another seed. Not to be changed."""
    return write_suite(tmp_path_factory.mktemp("suite") / "fresh", "fresh-7", 13, "one", "two")


def score_on(suite: Path, model: str, out: Path) -> Path:
    """Score a model on the worlds of a suite, as `score suite` does."""
    for world in ("one", "two"):
        dataset = suite / "zero-shot" / world
        arguments = ("--model", model, *PROTOCOLS, "--out", out / "zero-shot" / world / "all")
        succeed("run", dataset, *arguments)
    return out


@pytest.fixture(scope="session")
def spec(model_file: Path) -> Callable[[int], str]:
    """The SPEC of the model of a seed."""
    return lambda seed: f"python:{model_file}:Model,seed={seed}"


@pytest.fixture(scope="session")
def ada_runs(
    standard: Path, spec: Callable[[int], str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The runs of Ada's model on the standard form. Not to be changed."""
    return score_on(standard, spec(1), tmp_path_factory.mktemp("runs") / "ada")


@pytest.fixture(scope="session")
def bob_runs(
    standard: Path, spec: Callable[[int], str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The runs of Bob's model on the standard form. Not to be changed."""
    return score_on(standard, spec(2), tmp_path_factory.mktemp("runs") / "bob")


@pytest.fixture(scope="session")
def submitted(
    ada_runs: Path, bob_runs: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The submissions of Ada and Bob. Not to be changed."""
    folder = tmp_path_factory.mktemp("submissions")
    for name, runs in (("ada", ada_runs), ("bob", bob_runs)):
        succeed("submit", runs, "--name", name, "--out", folder / name)
    return {name: folder / name for name in ("ada", "bob")}


@pytest.fixture
def ada(submitted: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of Ada's submission that a test may change."""
    return Path(shutil.copytree(submitted["ada"], tmp_path / "ada"))


@pytest.fixture
def bob(submitted: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of Bob's submission that a test may change."""
    return Path(shutil.copytree(submitted["bob"], tmp_path / "bob"))


def sign(submission: Path) -> Path:
    """Write the digests of changed files into the manifest, as anyone can."""
    record = read_json(submission / "submission.json")
    files = {}
    for path in sorted(submission.rglob("*")):
        name = path.relative_to(submission).as_posix()
        if path.is_file() and name != "submission.json":
            files[name] = sha256(path)
    write_json(submission / "submission.json", {**record, "files": files})
    return submission


def run_folders(submission: Path) -> Iterator[Path]:
    """The folders of the runs of a submission."""
    for entry in read_json(submission / "submission.json")["runs"]:
        yield submission / entry["folder"]
