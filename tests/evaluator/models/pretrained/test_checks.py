"""Weights and tokenizers that do not fit the configuration."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch import nn
from transformers import AutoTokenizer

from evaluator.models.pretrained import check_tokenizer, check_weights
from generator.base.errors import UserError
from tests.evaluator.tiny_models import WORDS

MODEL = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))


def _report(missing: list[str], unexpected: list[str]) -> dict[str, list[str]]:
    return {"missing_keys": missing, "unexpected_keys": unexpected}


def test_missing_tensors_are_counted() -> None:
    with pytest.raises(UserError, match=r"of 'm' do not fit Sequential: 0\.bias would be random; name a model trained"):
        check_weights("m", MODEL, _report(["0.bias"], []))
    with pytest.raises(UserError, match=r"Sequential: 0\.bias and 1 more tensors would be random"):
        check_weights("m", MODEL, _report(["1.weight", "0.bias"], []))


def test_layers_that_the_configuration_lacks_are_refused() -> None:
    with pytest.raises(UserError, match=r"they also hold 2\.bias and 1 other tensors of layers that it does not have"):
        check_weights("m", MODEL, _report([], ["2.weight", "2.bias"]))


def _config(size: int) -> Any:
    return SimpleNamespace(get_text_config=lambda: SimpleNamespace(vocab_size=size))


def test_a_tokenizer_without_files_is_refused(vilt: Path) -> None:
    from transformers import BertTokenizer

    check_tokenizer("m", AutoTokenizer.from_pretrained(vilt), _config(len(WORDS)))
    with pytest.raises(UserError, match="'m' has no tokenizer files"):
        check_tokenizer("m", BertTokenizer(vocab={"[UNK]": 0, "[CLS]": 1, "[SEP]": 2}), _config(10))


def test_ids_beyond_the_embeddings_are_refused_unless_no_text_has_them(vilt: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(vilt)
    with pytest.raises(UserError, match=f"has ids up to {len(WORDS) - 1}, its text model only 5 words"):
        check_tokenizer("m", tokenizer, _config(5))
    tokenizer.add_special_tokens({"pad_token": "<padding>"})
    assert tokenizer.pad_token_id == len(WORDS)
    check_tokenizer("m", tokenizer, _config(len(WORDS)))
    tokenizer.add_tokens(["zebra"])
    with pytest.raises(UserError, match="has ids up to"):
        check_tokenizer("m", tokenizer, _config(len(WORDS)))
