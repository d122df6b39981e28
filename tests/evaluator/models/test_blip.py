"""BLIP's retrieval heads against the library's own API, one pair at a time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from evaluator.models.registry import load_model
from generator.base.errors import UserError
from tests.evaluator.tiny_models import (
    TEXTS,
    WORDS,
    assert_agrees,
    make_blip,
    pictures,
    scored,
)


def _plainly(folder: Path, images: Sequence[Image.Image], texts: Sequence[str]) -> np.ndarray:
    from transformers import BlipForImageTextRetrieval, BlipProcessor

    model, processor = BlipForImageTextRetrieval.from_pretrained(folder).eval(), BlipProcessor.from_pretrained(folder)
    scores = np.empty((len(images), len(texts), 2))
    for i, image in enumerate(images):
        for j, text in enumerate(texts):
            given: Any = processor(image, text, return_tensors="pt", truncation=True)
            with torch.no_grad():
                unmatched, matched = model(**given).itm_score[0].tolist()
                scores[i, j] = matched - unmatched, model(**given, use_itm_head=False).itm_score.item()
    return scores


def test_scores_are_those_of_a_plain_loop(blip: Path) -> None:
    images, texts = pictures(), [*TEXTS, " ".join(TEXTS * 3)]
    model = load_model(f"blip:{blip}", "cpu")
    assert model.channels == ("itm", "itc")
    assert_agrees(model, images, texts, _plainly(blip, images, texts))


def test_a_text_is_embedded_once_for_the_cosine(blip: Path) -> None:
    model = load_model(f"blip:{blip}", "cpu")
    read: list[int] = []
    model._loaded.model.text_proj.register_forward_hook(lambda _, __, out: read.append(len(out)))
    scored(type(model)(model._loaded, batch=3), pictures(), TEXTS)
    assert sum(read) == len(TEXTS)


def _as_published(folder: Path, images: Sequence[Image.Image], texts: Sequence[str], first: str) -> np.ndarray:
    """The matching head as the published code calls it: each text begins with the token `first`, here by its place
    after the words, [DEC] and then [ENC]."""
    from transformers import BlipForImageTextRetrieval, BlipProcessor

    model, processor = BlipForImageTextRetrieval.from_pretrained(folder).eval(), BlipProcessor.from_pretrained(folder)
    ids = {"[CLS]": 2, "[DEC]": len(WORDS), "[ENC]": len(WORDS) + 1}
    scores = np.empty((len(images), len(texts)))
    for i, image in enumerate(images):
        for j, text in enumerate(texts):
            given: Any = processor(image, text, return_tensors="pt", truncation=True)
            given["input_ids"][:, 0] = ids[first]
            with torch.no_grad():
                unmatched, matched = model(**given).itm_score[0].tolist()
            scores[i, j] = matched - unmatched
    return scores


def test_texts_begin_with_enc_as_in_the_published_code(tmp_path: Path) -> None:
    """The first token matters; the cosine is of texts that begin with [CLS], in both codes."""
    folder, images = make_blip(tmp_path / "blip", published=True), pictures()
    ours, published = (load_model(f"blip:{folder},first_token={first}", "cpu") for first in ("cls", "enc"))
    assert (ours.info["first_token"], published.info["first_token"]) == ("cls", "enc")
    assert ours.key != published.key
    by_cls, by_enc = (scored(model, images, TEXTS, seed=1) for model in (ours, published))
    assert by_cls[..., 0] == pytest.approx(_as_published(folder, images, TEXTS, "[CLS]"), abs=1e-4)
    assert by_enc[..., 0] == pytest.approx(_as_published(folder, images, TEXTS, "[ENC]"), abs=1e-4)
    assert by_enc[..., 1] == pytest.approx(by_cls[..., 1], abs=1e-6)
    assert np.abs(by_enc[..., 0] - by_cls[..., 0]).max() > 0.1 * by_cls[..., 0].std()


def test_a_tokenizer_may_name_the_token(tmp_path: Path) -> None:
    folder = make_blip(tmp_path / "blip", published=True)
    by_place = load_model(f"blip:{folder},first_token=enc", "cpu")
    from transformers import BlipProcessor

    processor = BlipProcessor.from_pretrained(folder)
    processor.tokenizer.add_special_tokens({"additional_special_tokens": ["[DEC]", "[ENC]"]})
    processor.save_pretrained(folder)
    named = load_model(f"blip:{folder},first_token=enc", "cpu")
    assert scored(named, pictures(), TEXTS) == pytest.approx(scored(by_place, pictures(), TEXTS), abs=1e-6)


def test_a_model_without_the_token_is_refused(blip: Path) -> None:
    with pytest.raises(UserError, match=r"has no token \[ENC\] after its words; leave first_token=enc out"):
        load_model(f"blip:{blip},first_token=enc", "cpu")
    with pytest.raises(UserError, match="input should be 'cls' or 'enc'"):
        load_model(f"blip:{blip},first_token=dec", "cpu")
