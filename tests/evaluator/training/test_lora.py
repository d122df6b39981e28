"""LoRA changes nothing before training, trains little, and ends in the network's own layers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.models.registry import load_model
from evaluator.training.networks import with_lora
from tests.evaluator.conftest import Tiny
from tests.evaluator.tiny_models import make_clip, pictures

TEXTS = ["a red cube", "a blue cone"]


@pytest.fixture(params=["open_clip", "CLIP"])
def model(request: pytest.FixtureRequest, tiny: Callable[..., Tiny], tmp_path: Path) -> Any:
    pytest.importorskip("peft")
    if request.param == "open_clip":
        return load_model(f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}", "cpu")
    return load_model(f"hf:{make_clip(tmp_path / 'model')}", "cpu")


def test_changes_start_at_none_and_end_in_the_weights(model: Any) -> None:
    names, before = sorted(name for name, _ in model.network.named_parameters()), model.encode_texts(TEXTS)
    weights = {name: each.clone() for name, each in model.network.state_dict().items()}
    merge = with_lora(model.network, 2, 4.0, 0)
    assert model.encode_texts(TEXTS) == pytest.approx(before, abs=1e-6)
    trained = {name: p for name, p in model.network.named_parameters() if p.requires_grad}
    assert trained
    assert all("lora_" in name for name in trained)
    with torch.no_grad():
        for parameter in trained.values():
            parameter.add_(0.1)
    texts, images = model.encode_texts(TEXTS), model.encode_images(pictures())
    assert np.abs(texts - before).max() > 1e-3
    merge()
    assert sorted(name for name, _ in model.network.named_parameters()) == names
    assert model.encode_texts(TEXTS) == pytest.approx(texts, abs=1e-5)
    assert model.encode_images(pictures()) == pytest.approx(images, abs=1e-5)
    changed = {name for name, each in model.network.state_dict().items() if not torch.equal(each, weights[name])}
    assert len(changed) >= 8
    for name in changed:
        assert torch.linalg.matrix_rank(model.network.state_dict()[name] - weights[name], rtol=1e-4) <= 2 * 3


def test_the_seed_draws_the_changes(tiny: Callable[..., Tiny], tmp_path: Path) -> None:
    pytest.importorskip("peft")
    spec, found = f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}", []
    for seed in (0, 0, 1):
        model: Any = load_model(spec, "cpu")
        with_lora(model.network, 2, 4.0, seed)
        found.append(torch.cat([p.flatten() for n, p in model.network.named_parameters() if "lora_A" in n]))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
