"""Tiny models of transformers, saved to disk as the library saves them; and what tests of several
families share."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from PIL import Image
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

from evaluator.metrics.comparison import tied
from evaluator.models.contracts import DualEncoder
from tests.evaluator.conftest import Tiny

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [
    *SPECIAL,
    "a",
    "red",
    "blue",
    "cube",
    "sphere",
    "and",
    "the",
    "there",
    "is",
    "yes",
    "no",
    ".",
    "?",
]
TEXTS = [
    "a red cube",
    "a blue sphere and the red cube",
    "There is a red sphere.",
    "a",
    "a red sphere and a blue cube",
]
SIZES = ((40, 60), (64, 64), (90, 40), (48, 48))
LENGTH = LONGEST = 12
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}
SMALLER = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


def bert_tokenizer(folder: Path, length: int = LENGTH) -> Any:
    """BERT's tokenizer of a few words, that reads texts up to a length."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    return hf.BertTokenizer(str(folder / "vocab.txt"), model_max_length=length)


def make_vilt(folder: Path, kind: str = "ViltForImageAndTextRetrieval", **changes: Any) -> Path:
    """Saves a tiny ViLT with its processor."""
    sizes = {
        "max_position_embeddings": LENGTH,
        "image_size": 64,
        "patch_size": 16,
        "vocab_size": len(WORDS),
    }
    shaken(getattr(hf, kind)(hf.ViltConfig(**(SMALL | sizes | changes)))).save_pretrained(folder)
    images = hf.ViltImageProcessor(size={"shortest_edge": 48}, size_divisor=16)
    hf.ViltProcessor(images, bert_tokenizer(folder, 512)).save_pretrained(folder)
    (folder / "vocab.txt").unlink()
    return folder


def make_blip(
    folder: Path, kind: str = "BlipForImageTextRetrieval", published: bool = False
) -> Path:
    """Saves a tiny BLIP of 32 pixels and 12 tokens with its processor. published: with embeddings
    of [DEC] and [ENC] after those of the words, as published weights have them."""
    text = {
        **SMALL,
        "vocab_size": len(WORDS),
        "max_position_embeddings": 32,
        "encoder_hidden_size": 32,
    }
    more = (
        {"vocab_size": len(WORDS) + 2, "bos_token_id": len(WORDS)}
        if published
        else {"bos_token_id": 2}
    )
    text |= more | {"pad_token_id": 0, "sep_token_id": 3, "eos_token_id": 3}
    vision = {**SMALL, "image_size": 32, "patch_size": 16}
    config = hf.BlipConfig(
        text_config=text, vision_config=vision, projection_dim=16, image_text_hidden_size=16
    )
    shaken(getattr(hf, kind)(config)).save_pretrained(folder)
    length = LENGTH if kind == "BlipForImageTextRetrieval" else 512
    images = hf.BlipImageProcessor(size={"height": 32, "width": 32})
    hf.BlipProcessor(images, bert_tokenizer(folder, length)).save_pretrained(folder)
    return folder


def make_gpt2(folder: Path) -> Path:
    """Saves a tiny GPT-2 that reads 12 tokens, with a tokenizer of whole words that has a start
    token."""
    words = {word: i for i, word in enumerate(["<s>", *SPECIAL, *WORDS[len(SPECIAL) :]])}
    tokenizer = Tokenizer(models.WordLevel(words, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = hf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", unk_token="[UNK]"
    )
    sizes = {
        "vocab_size": len(fast),
        "n_positions": LONGEST,
        "n_embd": 32,
        "n_layer": 2,
        "n_head": 2,
    }
    shaken(
        hf.GPT2LMHeadModel(hf.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    ).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


def shaken(model: Any, scale: float = 0.3) -> Any:
    """The model in evaluation mode with random weights large enough to tell inputs apart."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            base = parameter if parameter.ndim == 1 else torch.zeros(1)  # norms stay near 1
            parameter.copy_(base + torch.randn(parameter.shape, generator=generator) * scale)
    return model.eval()


def pictures(sizes: Sequence[tuple[int, int]] = SIZES) -> list[Image.Image]:
    """Random images of those heights and widths."""
    rng = np.random.default_rng(0)
    return [Image.fromarray(rng.integers(0, 255, (h, w, 3), dtype=np.uint8)) for h, w in sizes]


def scored(
    model: Any, images: Sequence[Image.Image], texts: Sequence[str], seed: int | None = None
) -> np.ndarray:
    """Scores (images, texts, channels), asked in a random order of pairs."""
    pairs = [(i, text) for i in range(len(images)) for text in texts]
    order = (
        np.arange(len(pairs))
        if seed is None
        else np.random.default_rng(seed).permutation(len(pairs))
    )
    pair_scores = model.score_pairs(images, [pairs[i] for i in order])
    assert pair_scores.dtype == np.float32
    assert pair_scores.shape == (len(pairs), len(model.channels))
    scores = np.empty_like(pair_scores)
    scores[order] = pair_scores
    return scores.reshape(len(images), len(texts), -1)


def matrix(model: Any, images: list[Any], texts: list[str], seed: int | None = None) -> np.ndarray:
    """Scores (images, texts, channels)."""
    if isinstance(model, DualEncoder):
        return (model.encode_images(images) @ model.encode_texts(texts).T)[..., None]
    return scored(model, images, texts, seed)


def assert_agrees(
    model: Any, images: Sequence[Image.Image], texts: Sequence[str], expected: np.ndarray
) -> None:
    """The scores of a plain loop (images, texts, channels) come out whatever the batch and the
    order of pairs, and what is no tie in the loop is ranked alike."""
    assert (expected.std(axis=(0, 1)) > 1e-3).all()
    for batch in (1, 3, 64):
        model.batch.size = batch
        scores = scored(model, images, texts, seed=batch)
        assert scores == pytest.approx(expected, abs=1e-4)
        for axis in (0, 1):  # images of a text, texts of an image
            among, plain = (np.moveaxis(matrix, axis, 0) for matrix in (scores, expected))
            clear = ~tied(plain[:, None], plain[None])
            assert clear.any()
            assert (np.sign(among[:, None] - among[None]) == np.sign(plain[:, None] - plain[None]))[
                clear
            ].all()


def clip_images() -> Any:
    """CLIP's preparation of images, to 32 pixels."""
    return hf.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=32)


LETTERS = "abcdefghijklmnopqrstuvwxyz,."


def make_clip(folder: Path, kind: str = "CLIP", length: int = 80) -> Path:
    """Saves a tiny CLIP, Siglip or AltCLIP of 32 pixels that reads letters, with its processor."""
    if kind == "AltCLIP":
        return make_altclip(folder, length)

    pieces = [*LETTERS, *(f"{c}</w>" for c in LETTERS), "<|startoftext|>", "<|endoftext|>"]
    tokenizer = hf.CLIPTokenizer(vocab={piece: i for i, piece in enumerate(pieces)}, merges=[])
    end = tokenizer.eos_token_id
    text = {**SMALLER, "vocab_size": len(tokenizer), "max_position_embeddings": length}
    text |= {"eos_token_id": end, "bos_token_id": end - 1, "pad_token_id": end}
    own = {"projection_dim": 12} if kind == "CLIP" else {}
    config = getattr(hf, f"{kind}Config")(
        text_config=text, vision_config={**SMALLER, "image_size": 32, "patch_size": 8}, **own
    )
    torch.manual_seed(0)
    getattr(hf, f"{kind}Model")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    clip_images().save_pretrained(folder)
    return folder


def make_altclip(folder: Path, length: int = 80) -> Path:
    """Saves a tiny AltCLIP of 32 pixels that reads letters, with its processor."""
    special = [(piece, 0.0) for piece in ("<s>", "<pad>", "</s>", "<unk>")]
    letters = [(piece, -3.0) for piece in ("▁", *LETTERS)]
    tokenizer = hf.XLMRobertaTokenizer(
        vocab=[*special, *letters, ("<mask>", 0.0)], model_max_length=512
    )
    text = {
        **SMALLER,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": length + 2,
        "pad_token_id": 1,
    }
    config = hf.AltCLIPConfig(
        text_config={**text, "project_dim": 12, "type_vocab_size": 1},
        vision_config={**SMALLER, "image_size": 32, "patch_size": 8},
        projection_dim=12,
    )
    torch.manual_seed(0)
    hf.AltCLIPModel(config).save_pretrained(folder)
    hf.AltCLIPProcessor(clip_images(), tokenizer).save_pretrained(folder)
    return folder


def open_clip_folder(tiny: Tiny, folder: Path, **text: Any) -> Path:
    """Saves a tiny model as open_clip does, with other settings of its text tower."""
    config = {**tiny.config, "text_cfg": {**tiny.config["text_cfg"], **text}}
    folder.mkdir()
    (folder / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": config, "preprocess_cfg": {}})
    )
    save_file(
        {name: weight.contiguous() for name, weight in tiny.state.items()},
        folder / "open_clip_model.safetensors",
    )
    return folder
