"""The likelihood of texts under a causal language model, against a loop over tokens."""

from pathlib import Path

import numpy as np
import pytest
import torch

from evaluator.models.blind import LanguageModelScorer
from evaluator.models.contracts import BatchSize
from tests.evaluator.tiny_models import (
    LONGEST,
    TEXTS,
)


@pytest.fixture
def model(gpt2: Path) -> LanguageModelScorer:
    return LanguageModelScorer(str(gpt2), "cpu", "--language-model")


def test_texts_are_asked_token_by_token(gpt2: Path) -> None:
    from transformers import AutoTokenizer, GPT2LMHeadModel

    library, tokenizer = GPT2LMHeadModel.from_pretrained(gpt2).eval(), AutoTokenizer.from_pretrained(gpt2)
    expected = []
    for text in TEXTS:
        ids = [0, *tokenizer(text, add_special_tokens=False)["input_ids"]]
        told = []
        for i in range(1, len(ids)):
            with torch.no_grad():
                told.append(torch.log_softmax(library(torch.tensor([ids[:i]])).logits[0, -1], 0)[ids[i]].item())
        expected.append(sum(told) / len(told))
    for batch in (1, 2, 64):
        model = LanguageModelScorer(str(gpt2), "cpu", "blind:lm:")
        model.batch = BatchSize(batch, "text")
        assert model.mean_log_likelihoods(TEXTS) == pytest.approx(expected, abs=1e-4)


def test_texts_too_long_or_empty_have_no_likelihood(model: LanguageModelScorer) -> None:
    found = model.mean_log_likelihoods(["a red cube", "a " * LONGEST, ""])
    assert np.isnan(found).tolist() == [False, True, True]
    assert model.mean_log_likelihoods([]).shape == (0,)


def test_without_a_start_token_the_first_token_is_context(model: LanguageModelScorer) -> None:
    whole = model.mean_log_likelihoods(["a red cube"])[0]
    model._start = None
    without = model.mean_log_likelihoods(["a red cube", "red"])
    assert np.isnan(without[1])
    assert without[0] != whole
