"""The digest of a network's weights, and what no file of weights is."""

import os
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn

from evaluator.models.hub import check_files
from evaluator.models.network import weights_digest
from generator.base.errors import UserError
from tests.hostile_files import sparse


def network(bias: bool = True, width: int = 3) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, width, bias=bias), nn.BatchNorm1d(width))


def test_equal_tensors_have_equal_digests_and_others_not() -> None:
    first = weights_digest(network())
    assert first == weights_digest(network())
    assert len(first) == 64
    changed = network()
    with torch.no_grad():
        changed[0].weight[0, 0] += 1e-6  # type: ignore[index]
    buffer = network()
    buffer[1].running_mean[0] = 1.0  # type: ignore[index]
    renamed = nn.ModuleDict({"a": network()[0], "b": network()[1]})  # type: ignore[index]
    others = [changed, buffer, renamed, network(bias=False), network(width=4), network().bfloat16()]
    assert len({first, *map(weights_digest, others)}) == 7


def test_layout_does_not_matter_and_empty_tensors_do_no_harm() -> None:
    convolution = nn.Conv2d(3, 4, 3)
    before = weights_digest(convolution)
    assert weights_digest(convolution.to(memory_format=torch.channels_last)) == before  # type: ignore[call-overload]
    assert weights_digest(nn.Embedding(0, 4)) != weights_digest(nn.Embedding(0, 5))


def test_a_checkpoint_unpacks_to_what_it_stores(tmp_path: Path) -> None:
    torch.save(network().state_dict(), tmp_path / "model.pt")
    check_files(tmp_path)
    with zipfile.ZipFile(tmp_path / "pytorch_model.bin", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", bytes(1 << 22))
    with pytest.raises(UserError, match=r"unpacks to 4,194,304, which no checkpoint does"):
        check_files(tmp_path)
    os.mkfifo(tmp_path / "pipe.pt")
    with pytest.raises(UserError, match="a pipe"):
        check_files(tmp_path / "pipe.pt")
    with pytest.raises(UserError, match="sparse"):
        check_files(sparse(tmp_path / "model.safetensors"))
