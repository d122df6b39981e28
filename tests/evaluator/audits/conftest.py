"""Tiny language models and sentence encoders, made and saved here."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tests.evaluator.audits.benchmarks import COLOURS, SHAPES

WORDS = ("a", "and", *COLOURS, *SHAPES)


def _tokenizer(*special: str) -> Tokenizer:
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate((*special, "[UNK]", *WORDS))}, "[UNK]")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("gpt2")
    fast = PreTrainedTokenizerFast(
        tokenizer_object=_tokenizer("<s>"), bos_token="<s>", unk_token="[UNK]"
    )
    torch.manual_seed(0)
    sizes = {"vocab_size": len(fast), "n_positions": 12, "n_embd": 32, "n_layer": 2, "n_head": 2}
    GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    tokenizer = _tokenizer("[PAD]", "[CLS]", "[SEP]")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    )
    torch.manual_seed(0)
    sizes = {
        "vocab_size": len(fast),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    BertModel(
        BertConfig(**sizes, intermediate_size=32, max_position_embeddings=16)
    ).save_pretrained(tmp_path / "bert")
    fast.save_pretrained(tmp_path / "bert")
    return tmp_path / "bert"
