"""A saved model is the same model when it is loaded."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from evaluator.models.registry import load_model
from evaluator.training.networks import new_open_clip
from evaluator.training.session import check_savable, save_model
from generator.base.errors import UserError
from tests.evaluator.conftest import Tiny
from tests.evaluator.tiny_models import make_clip, pictures

TEXTS = ["a red cube and a blue cone", "a blue cube and a red cone", "a cube"]


@pytest.fixture(params=["open_clip", "quick", "CLIP", "Siglip"])
def spec(request: pytest.FixtureRequest, tiny: Callable[..., Tiny], tmp_path: Path) -> str:
    if request.param in ("CLIP", "Siglip"):
        return f"hf:{make_clip(tmp_path / 'model', request.param)}"
    name = {"open_clip": "tiny", "quick": "tiny-quickgelu"}[request.param]
    return f"open_clip:{name}@{tiny(name, quick_gelu=request.param == 'quick').save(tmp_path / 'tiny.pt')}"


def test_a_saved_model_is_the_same_model(spec: str, tmp_path: Path) -> None:
    model: Any = load_model(spec, "cpu")
    out = tmp_path / "out"
    out.mkdir()
    check_savable(model)
    save_model(model, out)
    record = {"name": "b", "benchmark": "0", "world": "1", "method": "finetune", "recipe": {}}
    (out / "jackalope.json").write_text(json.dumps(record))
    again: Any = load_model(f"jackalope:{out}", "cpu")
    assert np.array_equal(again.encode_texts(TEXTS), model.encode_texts(TEXTS))
    assert np.array_equal(again.encode_images(pictures()), model.encode_images(pictures()))
    assert again.info["activation"] == model.info["activation"]
    assert again.info["trained_on"]["method"] == "finetune"


def test_an_architecture_of_another_library_is_refused(tiny: Callable[..., Tiny], tmp_path: Path) -> None:
    model: Any = load_model(f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}", "cpu")
    model.config = {**model.config, "vision_cfg": {"timm_model_name": "vit_base", "image_size": 224}}
    with pytest.raises(UserError, match="takes a tower or a tokenizer of another library"):
        check_savable(model)


def test_new_weights_follow_the_seed(tiny: Callable[..., Tiny]) -> None:
    found = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        found.append(new_open_clip(tiny().config, torch.device("cpu")).info["weights_sha256"])
    assert found[0] == found[1] != found[2]


def test_nothing_is_written_for_what_is_neither(tmp_path: Path) -> None:
    save_model(SimpleNamespace(network=torch.nn.Linear(1, 1)), tmp_path)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
