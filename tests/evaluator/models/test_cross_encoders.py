"""ViLT and BLIP against the library's own API, one pair at a time."""

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
    LENGTH,
    TEXTS,
    WORDS,
    assert_agrees,
    make_blip,
    make_vilt,
    pictures,
    scored,
)


def _plainly(
    folder: Path, images: Sequence[Image.Image], texts: Sequence[str], first: int | None = None
) -> np.ndarray:
    """Scores (images, texts, 2); `first`: the id of the token that each text begins with for the
    matching head."""
    from transformers import BlipForImageTextRetrieval, BlipProcessor

    model, processor = (
        BlipForImageTextRetrieval.from_pretrained(folder).eval(),
        BlipProcessor.from_pretrained(folder),
    )
    scores = np.empty((len(images), len(texts), 2))
    for i, image in enumerate(images):
        for j, text in enumerate(texts):
            inputs: Any = processor(image, text, return_tensors="pt", truncation=True)
            with torch.no_grad():
                cosine = model(**inputs, use_itm_head=False).itm_score.item()
                if first is not None:
                    inputs["input_ids"][:, 0] = first
                unmatched, matched = model(**inputs).itm_score[0].tolist()
            scores[i, j] = matched - unmatched, cosine
    return scores


def test_blip_scores_are_those_of_a_plain_loop(blip: Path) -> None:
    images, texts = pictures(), [*TEXTS, " ".join(TEXTS * 3)]
    model = load_model(f"blip:{blip}", "cpu")
    assert model.channels == ("itm", "itc")
    assert_agrees(model, images, texts, _plainly(blip, images, texts))


def test_a_text_is_embedded_once_for_the_cosine(blip: Path) -> None:
    model = load_model(f"blip:{blip}", "cpu")
    read: list[int] = []
    model._loaded.model.text_proj.register_forward_hook(lambda _, __, out: read.append(len(out)))
    model.batch.size = 3
    scored(model, pictures(), TEXTS)
    assert sum(read) == len(TEXTS)


def test_texts_begin_with_enc_as_in_the_published_code(tmp_path: Path) -> None:
    """The first token matters; the cosine is of texts that begin with [CLS], in both codes."""
    folder, images = make_blip(tmp_path / "blip", published=True), pictures()
    ours, published = (
        load_model(f"blip:{folder},first_token={first}", "cpu") for first in ("cls", "enc")
    )
    assert (ours.info["first_token"], published.info["first_token"]) == ("cls", "enc")
    assert ours.key != published.key
    by_cls, by_enc = (scored(model, images, TEXTS, seed=1) for model in (ours, published))
    for model_id, first in (
        (by_cls, 2),
        (by_enc, len(WORDS) + 1),
    ):  # [CLS], and [ENC] after the words and [DEC]
        assert model_id == pytest.approx(_plainly(folder, images, TEXTS, first), abs=1e-4)
    assert np.abs(by_enc[..., 0] - by_cls[..., 0]).max() > 0.1 * by_cls[..., 0].std()


def test_a_tokenizer_may_name_the_token(tmp_path: Path) -> None:
    folder = make_blip(tmp_path / "blip", published=True)
    by_place = load_model(f"blip:{folder},first_token=enc", "cpu")
    from transformers import BlipProcessor

    processor = BlipProcessor.from_pretrained(folder)
    processor.tokenizer.add_special_tokens({"additional_special_tokens": ["[DEC]", "[ENC]"]})
    processor.save_pretrained(folder)
    named = load_model(f"blip:{folder},first_token=enc", "cpu")
    assert scored(named, pictures(), TEXTS) == pytest.approx(
        scored(by_place, pictures(), TEXTS), abs=1e-6
    )


def test_a_model_without_the_token_is_refused(blip: Path) -> None:
    with pytest.raises(
        UserError, match=r"has no token \[ENC\] after its words; leave first_token=enc out"
    ):
        load_model(f"blip:{blip},first_token=enc", "cpu")
    with pytest.raises(UserError, match="input should be 'cls' or 'enc'"):
        load_model(f"blip:{blip},first_token=dec", "cpu")


def test_vilt_scores_are_those_of_a_plain_loop(vilt: Path) -> None:
    from transformers import ViltForImageAndTextRetrieval, ViltProcessor

    images, texts = pictures(), [*TEXTS, " ".join(TEXTS * 3)]
    model = ViltForImageAndTextRetrieval.from_pretrained(vilt).eval()
    processor = ViltProcessor.from_pretrained(vilt)
    options: Any = {"truncation": True, "max_length": LENGTH, "return_tensors": "pt"}
    with torch.no_grad():
        plain = [
            [model(**processor(image, text, **options)).logits[0].tolist() for text in texts]
            for image in images
        ]
    assert_agrees(load_model(f"vilt:{vilt}", "cpu"), images, texts, np.array(plain))


def test_the_key_follows_the_number_of_heads(vilt: Path, tmp_path: Path) -> None:
    """Which no tensor tells."""
    model = load_model(f"vilt:{vilt}", "cpu")
    heads = load_model(f"vilt:{make_vilt(tmp_path / 'heads', num_attention_heads=4)}", "cpu")
    assert heads.info["weights_sha256"] == model.info["weights_sha256"]
    assert heads.key != model.key


def test_no_patch_is_left_to_chance(tmp_path: Path, vilt: Path) -> None:
    """`max_image_length` below the number of patches would draw some of them, others at every
    call."""
    limited = load_model(f"vilt:{make_vilt(tmp_path, max_image_length=4)}", "cpu")
    before = torch.get_rng_state()
    scores = [scored(limited, pictures(), TEXTS) for _ in range(2)]
    assert (torch.get_rng_state() == before).all()
    assert (scores[0] == scores[1]).all()
    assert scores[0] == pytest.approx(
        scored(load_model(f"vilt:{vilt}", "cpu"), pictures(), TEXTS), abs=1e-5
    )


def test_an_image_is_embedded_once_also_when_memory_runs_out(
    vilt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, model = pictures(), load_model(f"vilt:{vilt}", "cpu")
    expected, prepare, score = scored(model, images, TEXTS), model.prepare, model._score
    embedded: list[Image.Image] = []

    def cramped(features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        if len(texts) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return score(features, texts)

    monkeypatch.setattr(model, "prepare", lambda image: embedded.append(image) or prepare(image))
    monkeypatch.setattr(model, "_score", cramped)
    assert scored(model, images, TEXTS, seed=0) == pytest.approx(expected, abs=1e-5)
    assert [id(image) for image in embedded] == [id(image) for image in images]
