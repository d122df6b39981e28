"""What prompts about one image begin with: its keys and values are computed once, and each text continues from there."""

import copy
import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence


class SharedPrefix:
    """Prompts about one image that a causal model of transformers continues from their common beginning.

    Their ends are padded on the right. In causal attention a token reads only what is before it, so padding changes nothing.
    """

    def __init__(self, model: Any, inputs: Any, prompts: Sequence[list[int]]):
        """inputs: of the first prompt with its image, as the processor gives them, a batch of 1. prompts: token ids of every
        prompt, in which the image has its place and is not yet spelled out.

        Raises ValueError where the tokens that the processor gives do not end as the first prompt does.
        """
        self._model = model
        ids = inputs["input_ids"][0]
        ends = _after_common(prompts)
        n = len(ids) - len(ends[0])
        if n < 1 or ids[n:].tolist() != ends[0]:
            raise ValueError("the processor changes what follows the image")
        before = {
            name: value[:, :n] if value.shape == inputs["input_ids"].shape else value for name, value in inputs.items()
        }
        self._past = model(**before, use_cache=True, **_no_logits(model)).past_key_values
        self._length = int(self._past.get_seq_length())
        if self._length != n:
            raise ValueError("the model keeps another number of tokens than it reads")
        self._ends = [torch.tensor(end, device=ids.device) for end in ends]

    def last_logits(self, rows: Sequence[int]) -> torch.Tensor:
        """Logits (rows, vocabulary) of the token that follows each of some prompts."""
        past = copy.deepcopy(self._past)
        past.batch_repeat_interleave(len(rows))
        ends = [self._ends[row] for row in rows]
        last = torch.tensor([len(end) - 1 for end in ends], device=ends[0].device)
        logits: torch.Tensor = self._model(
            input_ids=pad_sequence(ends, batch_first=True), past_key_values=past, use_cache=True
        ).logits
        return logits[torch.arange(len(rows), device=logits.device), last.to(logits.device)]


def _after_common(prompts: Sequence[list[int]]) -> list[list[int]]:
    """Each list without what all begin with; at least the last element of each stays.

    >>> _after_common([[1, 2, 3, 9], [1, 2, 4, 5, 9]])
    [[3, 9], [4, 5, 9]]
    """
    most, n = min(map(len, prompts)) - 1, 0
    while n < most and all(prompt[n] == prompts[0][n] for prompt in prompts):
        n += 1
    return [prompt[n:] for prompt in prompts]


def _no_logits(model: Any) -> dict[str, int]:
    """The option for a single token's logits, which take much memory for all tokens of an image."""
    return {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {}
