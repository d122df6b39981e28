"""Devices, precisions, and what is recorded of a network."""

import os
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn

from evaluator.models.hub import check_files
from evaluator.models.network import (
    autocast,
    best_device,
    chosen_precision,
    training_precision,
    weights_digest,
)
from generator.base.errors import UserError
from tests.hostile_files import sparse


def test_the_best_device_is_the_gpu_of_this_process_or_the_cpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert best_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert best_device(None) == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    assert best_device(None) == torch.device("cuda")
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert best_device(None) == torch.device("cuda", 1)


def test_auto_is_bfloat16_for_dual_encoders_on_a_gpu_alone() -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    chosen = [
        chosen_precision("auto", device, dual) for device in (cpu, gpu) for dual in (True, False)
    ]
    assert chosen == ["float32", "float32", "bfloat16", "float32"]
    assert chosen_precision("bfloat16", cpu, False) == "bfloat16"


def test_training_takes_bfloat16_where_it_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    for there in (True, False):
        monkeypatch.setattr(
            torch.cpu, "get_capabilities", lambda there=there: {"avx512_bf16": there}
        )
        assert training_precision("auto", cpu) == ("bfloat16" if there else "float32")
        assert training_precision("auto", gpu) == "bfloat16"
    assert training_precision("float32", gpu) == "float32"


@pytest.mark.parametrize(
    ("precision", "dtype"), [("float32", torch.float32), ("bfloat16", torch.bfloat16)]
)
def test_autocast_computes_in_the_precision(precision: str, dtype: torch.dtype) -> None:
    with autocast(torch.device("cpu"), precision):
        assert torch.nn.Linear(2, 2)(torch.ones(1, 2)).dtype == dtype


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
