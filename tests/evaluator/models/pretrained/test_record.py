"""What is recorded of a model."""

import shutil
from pathlib import Path

from transformers import AutoTokenizer, CLIPImageProcessor, GPT2LMHeadModel, ViltImageProcessor

from evaluator.models.network import activations
from evaluator.models.pretrained import describe_preprocessing, tokenizer_digest


def test_steps_stand_in_their_order_with_their_settings() -> None:
    images = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=32, image_mean=[0.4] * 3, image_std=[0.2] * 3)
    said = describe_preprocessing(images)
    assert said.startswith("CLIPImageProcessor → resize size={'shortest_edge': 32} resample=bicubic → center_crop")
    assert said.endswith("normalize image_mean=[0.4, 0.4, 0.4] image_std=[0.2, 0.2, 0.2]") or "(0.4, 0.4, 0.4)" in said
    assert "size_divisor=16" in describe_preprocessing(ViltImageProcessor(size_divisor=16))
    assert "center_crop" not in describe_preprocessing(CLIPImageProcessor(do_center_crop=False))


def test_activations_are_those_of_the_modules(gpt2: Path) -> None:
    assert activations(GPT2LMHeadModel.from_pretrained(gpt2)) == "NewGELUActivation"


def test_a_tokenizer_is_the_same_wherever_it_lies_and_another_with_another_word(gpt2: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(gpt2)
    first = tokenizer_digest(tokenizer)
    assert first == tokenizer_digest(AutoTokenizer.from_pretrained(shutil.copytree(gpt2, tmp_path / "moved")))
    tokenizer.add_tokens(["zebra"])
    assert tokenizer_digest(tokenizer) != first
