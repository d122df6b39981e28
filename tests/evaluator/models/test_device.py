"""Devices and precisions."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from evaluator.models.network import autocast, best_device, chosen_precision, training_precision
from tests.evaluator.conftest import Tiny, assert_one_sentence, score_command


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "xpu:7"])
def test_a_device_that_is_not_there(tiny: Callable[..., Tiny], drawn: Path, tmp_path: Path, device: str) -> None:
    spec = f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"
    done = score_command("run", drawn, "--model", spec, "--device", device, "--out", tmp_path / "run")
    assert_one_sentence(done, f"The device '{device}' is not available")


def test_the_best_device_is_the_gpu_of_this_process_or_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
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
    chosen = [chosen_precision("auto", device, dual) for device in (cpu, gpu) for dual in (True, False)]
    assert chosen == ["float32", "float32", "bfloat16", "float32"]
    assert chosen_precision("bfloat16", cpu, False) == "bfloat16"


def test_training_takes_bfloat16_where_it_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    for there in (True, False):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda there=there: {"avx512_bf16": there})
        assert training_precision("auto", cpu) == ("bfloat16" if there else "float32")
        assert training_precision("auto", gpu) == "bfloat16"
    assert training_precision("float32", gpu) == "float32"


@pytest.mark.parametrize(("precision", "dtype"), [("float32", torch.float32), ("bfloat16", torch.bfloat16)])
def test_autocast_computes_in_the_precision(precision: str, dtype: torch.dtype) -> None:
    with autocast(torch.device("cpu"), precision):
        assert torch.nn.Linear(2, 2)(torch.ones(1, 2)).dtype == dtype
