"""Number formats, device maps and quantised weights, on models that are scored."""

import sys
from pathlib import Path

import numpy as np
import pytest

from evaluator.models.registry import load_model
from generator.base.errors import UserError
from tests.evaluator.models import test_vqa
from tests.evaluator.tiny_models import (
    TEXTS,
    make_blip,
    make_gpt2,
    make_vilt,
    matrix,
    pictures,
    scored,
)

FAMILIES = {
    "hf:": make_blip,
    "vilt:": make_vilt,
    "blip:": make_blip,
    "vqa:": test_vqa.make_llava,
    "blind:lm:": make_gpt2,
}


@pytest.mark.parametrize("dtype", ["float16", "auto"])
@pytest.mark.parametrize("family", FAMILIES)
def test_numbers_of_another_format_score_nearly_alike(
    family: str, dtype: str, tmp_path: Path
) -> None:
    """Half the bits, a cache of its own; `auto` is what the files hold, here float32."""
    spec = f"{family}{FAMILIES[family](tmp_path / 'model')}"
    whole, half = load_model(spec, "cpu"), load_model(f"{spec},dtype={dtype}", "cpu")
    assert half.info["precision"] == ("float32" if dtype == "auto" else dtype)
    assert (half.key == whole.key) == (dtype == "auto")
    exact, rough = (matrix(model, pictures()[:2], TEXTS[:3]) for model in (whole, half))
    assert np.array_equal(exact, rough) == (dtype == "auto")
    assert np.abs(rough - exact).max() < 0.1 * np.abs(exact).max()


@pytest.mark.parametrize("quantization", ["bnb-8bit", "bnb-4bit"])
def test_quantised_weights(
    quantization: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the packages are installed: fewer bits, nearly the same scores, and a digest of the
    weights."""
    pytest.importorskip("bitsandbytes")
    monkeypatch.setattr(
        test_vqa, "SMALL", test_vqa.SMALL | {"hidden_size": 64, "intermediate_size": 128}
    )
    spec = f"vqa:{test_vqa.make_llava(tmp_path / 'model')}"
    whole, small = load_model(spec, "cpu"), load_model(f"{spec},quantization={quantization}", "cpu")
    assert (small.info["quantization"], small.info["device"]) == (quantization, "cpu")
    assert small.key != whole.key
    exact, rough = (scored(model, pictures()[:2], TEXTS[:3]) for model in (whole, small))
    assert not np.array_equal(exact, rough)
    assert np.isfinite(rough).all()
    if quantization != "bnb-4bit":  # four bits change weights as random as these by much
        assert np.abs(rough - exact).max() < 0.2 * np.abs(exact).max()


def test_a_device_map(tmp_path: Path) -> None:
    spec = f"vqa:{test_vqa.make_llava(tmp_path / 'model')}"
    whole, placed = load_model(spec, "cpu"), load_model(f"{spec},device_map=auto", None)
    assert placed.info["device_map"] == "auto"
    assert scored(placed, pictures()[:2], TEXTS[:2]) == pytest.approx(
        scored(whole, pictures()[:2], TEXTS[:2]), abs=1e-4
    )


def test_wrong_options_of_large_models_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"vqa:{test_vqa.make_llava(tmp_path / 'model')}"
    with pytest.raises(
        UserError, match="Both --device cpu and device_map=auto say where the model goes; give one"
    ):
        load_model(f"{spec},device_map=auto", "cpu")
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    with pytest.raises(UserError, match=r"cannot be loaded .*bitsandbytes"):
        load_model(f"{spec},quantization=bnb-4bit", "cpu")
