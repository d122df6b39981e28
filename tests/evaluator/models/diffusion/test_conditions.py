"""The cache of text conditions."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evaluator.models.diffusion import networks as conditions
from evaluator.models.diffusion.networks import ConditionCache

CPU = torch.device("cpu")


class Network:
    """Gives each text a row of its length, and notes the texts that it encodes."""

    pipe = SimpleNamespace(device=CPU)

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode_texts(self, texts: list[str]) -> dict[str, torch.Tensor]:
        self.encoded += texts
        return {"states": torch.tensor([[float(len(text))] * 4 for text in texts])}


def test_each_text_is_encoded_once_and_rows_follow_the_texts() -> None:
    network: Any = Network()
    cache = ConditionCache(network)
    assert cache.stacked(["aa", "b", "aa"], CPU)["states"][:, 0].tolist() == [2, 1, 2]
    assert cache.stacked(["b", "ccc"], CPU)["states"][:, 0].tolist() == [1, 3]
    assert network.encoded == ["aa", "b", "ccc"]


def test_the_least_recently_used_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    network: Any = Network()
    cache = ConditionCache(network)
    monkeypatch.setattr(conditions, "_KEPT_BYTES", 2 * 4 * 4)
    for texts in (["aa"], ["b"], ["aa"], ["ccc"], ["aa", "b"]):
        assert cache.stacked(texts, CPU)["states"][:, 0].tolist() == [len(text) for text in texts]
    assert network.encoded == ["aa", "b", "ccc", "b"]
