"""Prompts that continue from a common beginning, against prompts that are read whole."""

from typing import Any

import pytest
import torch

from evaluator.models.vqa import SharedPrefix

PROMPTS = [[5, 6, 7, 8, 9, 10], [5, 6, 7, 1, 2], [5, 6, 7, 8, 9]]


@pytest.fixture(scope="module")
def llama() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
    return LlamaForCausalLM(LlamaConfig(**sizes, vocab_size=40, initializer_range=0.5)).eval()


def _inputs(ids: list[int]) -> dict[str, torch.Tensor]:
    return {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}


@torch.inference_mode()
def test_logits_are_those_of_whole_prompts_in_any_company(llama: Any) -> None:
    """The processor spells the image, token 5 of the prompts, out as three tokens."""
    spelled = [[5, 5, 5, *prompt[1:]] for prompt in PROMPTS]
    prefix = SharedPrefix(llama, _inputs(spelled[0]), PROMPTS)
    whole = torch.stack([llama(**_inputs(prompt)).logits[0, -1] for prompt in spelled])
    for rows in ([0, 1, 2], [2], [1, 1, 0], [0, 1, 2]):
        assert torch.allclose(prefix.last_logits(rows), whole[rows], atol=1e-5)


@torch.inference_mode()
def test_prompts_that_the_processor_changes_after_the_image_are_refused(llama: Any) -> None:
    with pytest.raises(ValueError, match="changes what follows"):
        SharedPrefix(llama, _inputs([5, 5, 6, 7, 8, 9, 11]), PROMPTS)
    with pytest.raises(ValueError, match="changes what follows"):
        SharedPrefix(llama, _inputs([10]), [[1, 10], [2, 10]])
