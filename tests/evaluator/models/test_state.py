"""The state of a user's object: everything that decides its output changes the digest, and nothing else does."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.models.registry import load_model
from evaluator.models.state import networks_of, state_digest

MODEL = """
import torch
from own_helper import scale
WIDTH = {"a": 3}
class Inner:
    def __init__(self): self.layers = {"first": [torch.nn.Linear(3, 4)]}
class Model:
    depth = (1, 2)
    def __init__(self):
        torch.manual_seed(0)
        self.inner, self.names = Inner(), {"red", "blue", "green", "white"}
    def score(self, image, text):
        return float(self.inner.layers["first"][0].weight.sum()) * scale(len(text))
"""
HELPER = "import numpy\nSCALE = numpy.arange(3)\ndef scale(n): return n * 2\n"


class Holder:
    """Holds what it is given."""

    __slots__ = ("held",)

    def __init__(self, held: Any):
        self.held = held


def _same(model: Any) -> str:
    return state_digest(model, Holder)


def test_networks_are_found_at_every_depth_and_once() -> None:
    inner, outer = torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
    hidden = torch.nn.Module()
    hidden.unregistered = [torch.nn.Linear(1, 1)]
    shared = SimpleNamespace(own=inner, deep={"a": [(Holder(outer),)], "again": inner}, call=lambda: hidden)
    shared.itself = shared
    assert {id(each) for each in networks_of(shared)} == {
        id(each) for each in (inner, outer, hidden, hidden.unregistered[0])
    }
    assert networks_of(outer) == [outer]
    assert networks_of(SimpleNamespace(part=outer[0], whole=outer)) == [outer]
    assert networks_of("no network") == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (torch.zeros(3), torch.zeros(4)), (torch.zeros(4), torch.zeros(2, 2)), (torch.zeros(2), torch.tensor([0.0, -0.0])),
        (torch.zeros(2, dtype=torch.float32), torch.zeros(2, dtype=torch.int32)), (np.zeros(3), np.ones(3)), (1, 1.0), ("a", b"a"),
        ({"a": 1}, {"a": 2}), ([1, 2], [2, 1]), ({1, 2}, {1, 3}), (torch.nn.Dropout(0.1), torch.nn.Dropout(0.2)),
    ],
)  # fmt: skip
def test_other_state_is_another_digest(one: Any, other: Any) -> None:
    assert _same(Holder([one])) == _same(Holder([one]))
    assert _same(Holder([one])) != _same(Holder([other]))
    assert _same(Holder({"deep": (one,)})) != _same(Holder({"deep": (other,)}))


def test_a_nested_weight_counts() -> None:
    torch.manual_seed(0)
    model = Holder([{"net": Holder(torch.nn.Linear(3, 4))}])
    before = _same(model)
    with torch.no_grad():
        model.held[0]["net"].held.weight[0, 0] += 1
    assert _same(model) != before


@pytest.mark.parametrize("thing", [lambda: 1, (n for n in range(3)), sys.stderr.buffer])
def test_what_cannot_be_hashed_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError):
        _same(Holder([thing]))


CHANGES = {
    "a function that is imported": (HELPER, "n * 2", "n * 3"),
    "an array of an imported module": (HELPER, "arange(3)", "arange(4)"),
    "a global variable": (MODEL, '{"a": 3}', '{"a": 4}'),
    "a class attribute": (MODEL, "(1, 2)", "(1, 3)"),
    "weights two levels down": (MODEL, "manual_seed(0)", "manual_seed(1)"),
    "a member of a set": (MODEL, '"white"', '"black"'),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_key_of_a_model_follows_all_that_decides_its_output(change: str, written: Callable[..., str]) -> None:
    def key(model: str, helper: str) -> str:
        written(helper, "own_helper")
        found: str = load_model(written(model), "cpu").key
        return found

    kept, before, after = CHANGES[change]
    assert before in kept
    first = key(MODEL, HELPER)
    assert key(MODEL, HELPER) == first
    assert key(*(text.replace(before, after) if text is kept else text for text in (MODEL, HELPER))) != first


@pytest.mark.full
def test_the_key_is_the_same_in_every_process(written: Callable[..., str], tmp_path: Path) -> None:
    written(HELPER, "own_helper")
    spec = written(MODEL)
    code = f"from evaluator.models.registry import load_model; print(load_model({spec!r}, 'cpu').key)"
    keys = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
                       env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}).stdout
        for seed in "12"
    }  # fmt: skip
    assert len(keys) == 1


def test_a_model_that_cannot_be_hashed_is_not_cached_and_that_is_said(
    written: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    source = (
        HELPER + "class Model:\n  def __init__(self): self.f = lambda t: 1\n  def score(self, i, t): return self.f(t)\n"
    )
    spec = written(source)
    assert load_model(spec, "cpu").key != load_model(spec, "cpu").key
    assert "is not reused in later runs, since its state cannot be hashed" in caplog.text
    assert "give it a `key`" in caplog.text
    named = written(source + "  key = 'one'\n")
    assert load_model(named, "cpu").key == load_model(named, "cpu").key
