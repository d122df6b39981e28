"""Models of transformers that cannot be loaded or do not fit, and what is recorded of those that
do."""

import ast
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, CLIPImageProcessor, GPT2LMHeadModel, ViltImageProcessor

from evaluator.models.network import activations
from evaluator.models.pretrained import (
    TOKENIZER_AND_IMAGES,
    LoadTarget,
    check_tokenizer,
    describe_preprocessing,
    load_pretrained,
)
from evaluator.models.registry import load_model
from generator.base.errors import UserError
from tests.evaluator.models.conftest import change_json
from tests.evaluator.tiny_models import WORDS
from tests.paths import CHECKOUT

WANTED = LoadTarget(
    "vilt:", "a ViLT model", {"vilt": "ViltForImageAndTextRetrieval"}, TOKENIZER_AND_IMAGES
)


def test_a_model_too_large_for_memory_is_one_sentence(
    vilt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr("transformers.ViltForImageAndTextRetrieval.to", full)
    with pytest.raises(
        UserError,
        match=r"There is not enough memory to load .*; choose --device cpu or a smaller model\.",
    ):
        load_model(f"vilt:{vilt}", "cpu")


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("processor_config.json", r"cannot be loaded \(.*image processor"),
        ("tokenizer.json", "has no tokenizer files"),
    ],
)
def test_a_folder_that_lacks_a_file_is_refused(
    vilt: Path, tmp_path: Path, missing: str, message: str
) -> None:
    folder = Path(shutil.copytree(vilt, tmp_path / "spoilt"))
    (folder / missing).unlink()
    with pytest.raises(UserError, match=message) as caught:
        load_model(f"vilt:{folder}", "cpu")
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_unused_modules_are_dropped_and_may_be_missing(vilt: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(vilt, tmp_path / "headless"))
    tensors = load_file(folder / "model.safetensors")
    save_file(
        {k: v for k, v in tensors.items() if "pooler" not in k},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    with pytest.raises(UserError, match=r"vilt\.pooler\..* would be random"):
        load_pretrained(str(folder), "cpu", WANTED)
    unused = replace(WANTED, unused=("vilt.pooler", "vilt.no_such_module"))
    loaded = load_pretrained(str(folder), "cpu", unused)
    assert loaded.model.vilt.pooler is None
    assert loaded.key() == load_pretrained(str(vilt), "cpu", unused).key()


@pytest.mark.parametrize(
    ("fixture", "spec", "message"),
    [
        ("vilt", "vilt:", r"; give vilt: a ViLT model with a retrieval head\."),
        ("blip", "blip:", r"; give blip: a BLIP model with retrieval heads\."),
        ("blip", "hf:", ", which is not a dual encoder of hf: "),
        ("blip", "vqa:", r"; give vqa: a model that answers questions\."),
        ("gpt2", "blind:lm:", r"; give blind:lm: a causal language model\."),
    ],
)
def test_code_that_any_file_names_is_never_run(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    trap: Callable[[Path], Path],
    fixture: str,
    spec: str,
    message: str,
) -> None:
    """Nor that of a type of model which transformers does not know."""
    folder = trap(Path(shutil.copytree(request.getfixturevalue(fixture), tmp_path / "model")))
    with suppress(UserError):  # refused, or loaded with the library's own classes
        load_model(f"{spec}{folder}", "cpu")
    change_json(folder / "config.json", model_type="foreign")
    with pytest.raises(UserError, match=f"is a model of type 'foreign'{message}"):
        load_model(f"{spec}{folder}", "cpu")


@pytest.mark.parametrize(
    "settings",
    [
        {"attn_implementation": "someone/attention"},
        {"text_config": {"_attn_implementation": "a/b:f"}},
    ],
)
def test_code_of_the_hub_in_place_of_attention_is_refused(
    vilt: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    folder = Path(shutil.copytree(vilt, tmp_path / "model"))
    config = folder / "config.json"
    before = config.read_text()
    change_json(config, **settings)
    with pytest.raises(UserError, match=r"asks for the code '.*/.*' of the Hub, which is not run"):
        load_model(f"vilt:{folder}", "cpu")
    config.write_text(before)
    change_json(config, attn_implementation="eager")
    load_model(f"vilt:{folder}", "cpu")


def test_every_loader_refuses_code() -> None:
    """Whatever calls `from_pretrained` says trust_remote_code=False, or gives a class of diffusers,
    which never asks."""
    calls = {
        f"{path.relative_to(CHECKOUT)}": ast.unparse(node)
        for path in (CHECKOUT / "evaluator").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "from_pretrained"
        and "trust_remote_code=False" not in ast.unparse(node)
        and "**where" not in ast.unparse(node)
    }
    assert set(calls) == {"evaluator/models/diffusion/loading.py"}


def _config(size: int) -> Any:
    return SimpleNamespace(get_text_config=lambda: SimpleNamespace(vocab_size=size))


def test_ids_beyond_the_embeddings_are_refused_unless_no_text_has_them(vilt: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(vilt)
    with pytest.raises(
        UserError, match=f"has ids up to {len(WORDS) - 1}, its text model only 5 words"
    ):
        check_tokenizer("m", tokenizer, _config(5))
    tokenizer.add_special_tokens({"pad_token": "<padding>"})
    assert tokenizer.pad_token_id == len(WORDS)
    check_tokenizer("m", tokenizer, _config(len(WORDS)))
    tokenizer.add_tokens(["zebra"])
    with pytest.raises(UserError, match="has ids up to"):
        check_tokenizer("m", tokenizer, _config(len(WORDS)))


def test_steps_stand_in_their_order_with_their_settings() -> None:
    images = CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size=32, image_mean=[0.4] * 3, image_std=[0.2] * 3
    )
    description = describe_preprocessing(images)
    assert description.startswith(
        "CLIPImageProcessor → resize size={'shortest_edge': 32} resample=bicubic → center_crop"
    )
    assert (
        description.endswith("normalize image_mean=[0.4, 0.4, 0.4] image_std=[0.2, 0.2, 0.2]")
        or "(0.4, 0.4, 0.4)" in description
    )
    assert "size_divisor=16" in describe_preprocessing(ViltImageProcessor(size_divisor=16))
    assert "center_crop" not in describe_preprocessing(CLIPImageProcessor(do_center_crop=False))


def test_activations_are_those_of_the_modules(gpt2: Path) -> None:
    assert activations(GPT2LMHeadModel.from_pretrained(gpt2)) == "NewGELUActivation"
