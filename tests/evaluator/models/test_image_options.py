"""Overrides of preprocessing: `framing` of hf: and open_clip:, against images that are framed by
hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evaluator.models.registry import load_model
from evaluator.training.contrastive import check_trainable
from generator.base.errors import UserError
from tests.evaluator.conftest import Tiny
from tests.evaluator.tiny_models import make_clip, pictures

WIDE, TALL, SQUARE = (20, 60), (60, 21), (32, 32)
"""Heights and widths."""


@pytest.fixture(params=["hf", "open_clip"])
def spec(request: pytest.FixtureRequest, tiny: Callable[..., Tiny], tmp_path: Path) -> str:
    """The SPEC of a tiny dual encoder that crops the centre of an image."""
    if request.param == "hf":
        return f"hf:{make_clip(tmp_path / 'clip')}"
    return f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"


def padded(image: Image.Image) -> Image.Image:
    pixels = np.asarray(image)
    height, width, _ = pixels.shape
    side = max(height, width)
    above, left = (side - height) // 2, (side - width) // 2
    square = np.zeros((side, side, 3), np.uint8)
    square[above : above + height, left : left + width] = pixels
    return Image.fromarray(square)


def stretched(image: Image.Image) -> Image.Image:
    side = max(image.width, image.height)
    return image.resize((side, side), resample=Image.Resampling.BICUBIC)


def embed(model: Any, images: list[Image.Image]) -> np.ndarray:
    prepared = [model.prepare(image) for image in images]
    return np.asarray(model.encode_images(prepared))


@pytest.mark.parametrize(("framing", "frame"), [("pad", padded), ("squash", stretched)])
def test_framing_shows_the_whole_image(
    spec: str, framing: str, frame: Callable[[Image.Image], Image.Image]
) -> None:
    images = pictures((WIDE, TALL))
    plain = load_model(spec, "cpu")
    framed = load_model(f"{spec},framing={framing}", "cpu")
    expected = embed(plain, [frame(image) for image in images])
    assert embed(framed, images) == pytest.approx(expected, abs=1e-6)
    assert framed.encode_images(images) == pytest.approx(expected, abs=1e-6)
    assert np.abs(embed(plain, images) - expected).max() > 1e-3
    assert framed.encode_texts(["a"]) == pytest.approx(plain.encode_texts(["a"]))


def test_square_images_do_not_change(spec: str) -> None:
    images = pictures((SQUARE,))
    expected = embed(load_model(spec, "cpu"), images)
    for framing in ("pad", "squash"):
        assert (embed(load_model(f"{spec},framing={framing}", "cpu"), images) == expected).all()


def test_models_with_another_framing_are_other_models(spec: str) -> None:
    plain, pad, squash = (
        load_model(f"{spec}{argument}", "cpu")
        for argument in ("", ",framing=pad", ",framing=squash")
    )
    assert len({plain.key, pad.key, squash.key}) == 3
    own_steps = plain.info["preprocessing"]
    assert pad.info["preprocessing"] == f"pad with black to a square → {own_steps}"
    assert squash.info["preprocessing"] == f"stretch to a square, bicubic → {own_steps}"
    assert plain.info | {"preprocessing": ""} == pad.info | {"preprocessing": ""}


def test_unknown_framing_is_refused(spec: str) -> None:
    with pytest.raises(UserError, match=r"The argument 'framing' of .* is 'crop'; input should be"):
        load_model(f"{spec},framing=crop", "cpu")


def test_a_model_with_an_override_is_not_trained(spec: str) -> None:
    check_trainable(load_model(spec, "cpu"))
    with pytest.raises(UserError, match=r"with an override of preprocessing \(framing\)"):
        check_trainable(load_model(f"{spec},framing=pad", "cpu"))
