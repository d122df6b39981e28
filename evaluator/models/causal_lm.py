"""The likelihood of texts under a causal language model of transformers."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from evaluator.models.memory import BatchSize
from evaluator.models.pretrained.loading import TOKENIZER, Wanted, load_pretrained
from evaluator.models.pretrained.storage import Storage

BATCH = 32


class CausalLikelihood:
    """A causal language model by folder or name on the Hub, which scores texts alone.

    Every token is scored, the first one after the tokenizer's start token, or after its end token where it has no start
    token. With neither, the first token is context only.
    """

    def __init__(self, name: str, device: str | None, option: str, **how: Unpack[Storage]):
        """`option` is how the user asked for the model, for error messages. Raises UserError as load_pretrained does."""
        from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as TYPES

        classes = dict.fromkeys(TYPES, "AutoModelForCausalLM")
        loaded = load_pretrained(name, device, Wanted(option, "a causal language model", classes, TOKENIZER), **how)
        self._model, self._tokenizer, self._device = loaded.model, loaded.tokenizer, loaded.device
        start = self._tokenizer.bos_token_id
        self._start = self._tokenizer.eos_token_id if start is None else start
        self._longest = getattr(self._model.config, "max_position_embeddings", None) or 1_000_000
        self.batch = BatchSize(BATCH, "text")
        self.info: dict[str, Any] = {**loaded.info, "start_token": self._start}
        self.key = loaded.key("causal-lm")

    def mean_log_likelihoods(self, texts: Sequence[str]) -> np.ndarray:
        """Mean log-likelihood per token in nats, float64 (n,). NaN for texts without a scored token and for texts that
        are longer than the model reads."""
        start = [] if self._start is None else [self._start]
        rows = [start + list(self._tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]
        usable = sorted((i for i, row in enumerate(rows) if 2 <= len(row) <= self._longest), key=lambda i: len(rows[i]))
        found = np.full(len(rows), np.nan)
        for part, means in self.batch.run(lambda part: self._means([rows[i] for i in part]), usable):
            found[part] = means
        return found

    def _means(self, rows: Sequence[list[int]]) -> np.ndarray:
        """Mean log-likelihood of the tokens after the first one, float64 (n,)."""
        ids = pad_sequence([torch.tensor(row) for row in rows], batch_first=True).to(self._device)
        mask = pad_sequence([torch.ones(len(row), dtype=torch.long) for row in rows], batch_first=True).to(self._device)
        with torch.inference_mode():
            logits = self._model(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
            losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none").double()
        return np.asarray((-(losses * mask[:, 1:]).sum(1) / mask[:, 1:].sum(1)).cpu().numpy())
