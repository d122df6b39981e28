"""Cross encoders: each image is encoded once, whatever the memory holds."""

from pathlib import Path

import pytest
from PIL import Image

from evaluator.models.registry import load_model
from tests.evaluator.tiny_models import TEXTS, cramped, pictures, scored


def test_an_image_is_embedded_once_also_when_memory_runs_out(vilt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = pictures()
    expected = scored(load_model(f"vilt:{vilt}", "cpu"), images, TEXTS)
    model = load_model(f"vilt:{vilt}", "cpu")
    embedded: list[Image.Image] = []
    inner = model.prepare
    monkeypatch.setattr(model, "prepare", lambda image: embedded.append(image) or inner(image))
    sizes = cramped(model, "_score", 4, monkeypatch)
    assert scored(model, images, TEXTS, seed=0) == pytest.approx(expected, abs=1e-5)
    assert [id(image) for image in embedded] == [id(image) for image in images]
    assert sum(sizes) == len(images) * len(TEXTS)
    assert max(sizes) == 4
    scored(model, images, TEXTS)
    assert max(sizes) == 4
