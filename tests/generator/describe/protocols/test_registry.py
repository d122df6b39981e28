"""The registry, and a protocol that this file adds through it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.worlds import BENCHMARK, write_world
from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe
from generator.describe.captioner import name_objects
from generator.describe.items import Candidate, Item, Text
from generator.describe.protocol import Protocol
from generator.describe.protocols import registry
from generator.describe.protocols.registry import find_protocol, protocol_names, register
from generator.describe.request import Request
from generator.describe.scenes import DescribedScene
from generator.judge.verify import verify_dataset
from generator.language.form import Form


class Counting(Protocol):
    """How many objects of a category there are: one, or two; with a pool of both captions of every category."""

    name = "counting"
    kinds = ("one-two",)
    needs = "scenes must show something"

    def __init__(self, captioner, most: int = 99):  # type: ignore[no-untyped-def]
        super().__init__(captioner)
        self._most, self._asked = most, 0

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        if not scene.unique_objects or self._asked == self._most:
            return
        self._asked += 1
        one = name_objects(scene, scene.unique_objects[:1], ())
        two = Form((replace(one.objects[0], count=2),))
        true, false = Text(one, "there-is"), Text(two, "there-is")
        foil = Candidate(false, "n", False, "count", ("0:count:1>2",), true)
        yield Item(self.name, "one-two", "counting", (Candidate(true, "c", True), foil))

    def report(self) -> dict[str, int]:
        return {"asked": self._asked}


class Impossible(Counting):
    """A protocol that no scene can give."""

    name = "impossible"

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        return iter(())


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry._REGISTRY, "_places", dict(registry._REGISTRY._places))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, object]:
    root = tmp_path_factory.mktemp("registry") / "dataset"
    prepared = write_world(root, dict.fromkeys(("train", "val", "seen", "partial", "unseen"), 3))
    return root, prepared.holdout


def test_a_protocol_of_ones_own_is_described_with_and_certified(world: tuple, tmp_path: Path) -> None:
    source, holdout = world
    root = Path(shutil.copytree(source, tmp_path / "dataset"))
    register("counting", f"{__name__}:Counting")
    request = Request(("binary", "counting"), options={"counting": {"most": 5}, "binary": {"kinds": ("swap",)}})
    done = describe(root, Dataset.open(root).world, holdout, BENCHMARK, request)
    assert done.items.items() >= {"binary swap": 24, "counting one-two": 5, "train plain": 6}.items()
    manifest = Dataset.open(root).benchmark(BENCHMARK).manifest
    assert manifest["texts"]["reports"]["counting"] == {"asked": 5}
    assert verify_dataset(root, None)[BENCHMARK]["status"] == "clean"


def test_a_protocol_without_items_is_refused_with_what_it_needs(world: tuple) -> None:
    root, holdout = world
    register("impossible", f"{__name__}:Impossible")
    with pytest.raises(UserError, match="No scene gives an item of 'impossible': scenes must show something"):
        describe(root, Dataset.open(root).world, holdout, BENCHMARK, Request(("impossible",)))


def test_names_are_taken_once_and_unknown_ones_suggest() -> None:
    with pytest.raises(ValueError, match="'binary' is already registered"):
        register("binary", f"{__name__}:Counting")
    with pytest.raises(UserError, match="Unknown protocol 'binry'; did you mean 'binary'"):
        find_protocol("binry")


@pytest.mark.parametrize("name", protocol_names())
def test_a_protocol_declares_itself(name: str) -> None:
    found = find_protocol(name)
    assert found.name == name
    assert found.needs
    assert found.__doc__


def test_help_lists_the_protocols_and_loads_none() -> None:
    check = (
        "import json, sys; from generator.cli.main import describe; "
        "print(json.dumps([[p.help for p in describe.params if p.name == 'protocols'][0], "
        "[m for m in sys.modules if m.startswith('generator.describe')]]))"
    )
    text, loaded = json.loads(subprocess.run([sys.executable, "-c", check], check=True, capture_output=True).stdout)
    assert ", ".join(protocol_names()) in text
    assert set(loaded) == {
        "generator.describe",
        "generator.describe.protocols",
        "generator.describe.protocols.registry",
    }
