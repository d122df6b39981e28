"""Models that the caller has in memory score as the same models do that are loaded by a spec."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
import transformers

from evaluator import evaluate
from evaluator.models.python import check_device, evaluating, from_memory, name_of
from generator.base.errors import UserError
from tests.evaluator.conftest import Tiny
from tests.evaluator.models.test_hf import _clip
from tests.evaluator.models.test_vqa import make_llava
from tests.evaluator.tiny_models import TEXTS, matrix, pictures


@pytest.fixture
def clip(tiny: Callable[..., Tiny], tmp_path: Path) -> tuple[tuple[Any, ...], str]:
    """A model of open_clip with its preprocessing and tokenizer, and the spec of the same
    weights."""
    path = tiny().save(tmp_path / "weights.pt")
    model, _, preprocess = open_clip.create_model_and_transforms("tiny", pretrained=str(path))
    return (model.train(), preprocess, open_clip.get_tokenizer("tiny")), f"open_clip:tiny@{path}"


def saved(make: Callable[[Path], Any], kind: str, folder: Path) -> tuple[Any, Any]:
    """A model of transformers and its processor, as its library loads them."""
    make(folder)
    processor = transformers.AutoProcessor.from_pretrained(folder)
    processor.tokenizer.padding_side = "left"
    return getattr(transformers, kind).from_pretrained(folder), processor


def test_models_score_as_their_specs_do_and_stay_as_they_were(
    clip: tuple[tuple[Any, ...], str], drawn: Path, tmp_path: Path
) -> None:
    dual = saved(_clip, "CLIPModel", tmp_path / "clip")
    answering = saved(make_llava, "LlavaForConditionalGeneration", tmp_path / "llava")
    for model, spec in (
        clip,
        (dual, f"hf:{tmp_path / 'clip'}"),
        (answering, f"vqa:{tmp_path / 'llava'}"),
    ):
        model[0].train()
        evaluation = evaluate(model, drawn, protocols="binary", limit=8)
        expected = evaluate(spec, drawn, protocols="binary", limit=8, device="cpu")
        assert evaluation.items["scores"].tolist() == expected.items["scores"].tolist()
        assert evaluation.results["model"] == type(model[0]).__name__
        assert model[0].training
    assert dual[1].tokenizer.padding_side == answering[1].tokenizer.padding_side == "left"


def test_a_model_in_another_precision_is_used_as_it_is(clip: tuple[tuple[Any, ...], str]) -> None:
    network, *others = clip[0]
    expected = matrix(from_memory((network, *others), "m"), pictures(), TEXTS)
    half = from_memory((network.bfloat16(), *others), "m")
    assert half.info["precision"] == "bfloat16"
    scores = matrix(half, pictures(), TEXTS)
    assert scores.dtype == np.float32
    assert scores == pytest.approx(expected, abs=0.05)


class Bare(torch.nn.Module):
    """A network as open_clip makes them, without what prepares its inputs."""

    def encode_image(self, pixels: torch.Tensor) -> torch.Tensor:
        return pixels

    def encode_text(self, tokens: torch.Tensor) -> torch.Tensor:
        return tokens


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            Bare(),
            r"Bare has encode_image and nothing that prepares its inputs; give \(model, preprocess, tokenizer\)\.",
        ),
        (
            (Bare(),),
            r"Expected a tuple to be \(model, preprocess, tokenizer\) of open_clip or .*, got \(Bare\)",
        ),
        ((), r"got \(\)"),
    ],
)
def test_an_object_that_lacks_something_is_refused_with_what_it_lacks(
    model: Any, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        from_memory(model, name_of(model))


def test_an_object_that_scores_pairs_itself_needs_nothing_that_prepares_its_inputs() -> None:
    class Own(Bare):
        def score_pairs(self, images: Any, pairs: Any) -> Any:
            """Nothing asks it."""

    assert from_memory(Own(), "own").channels == ("score",)


def test_a_model_of_transformers_of_no_family_is_refused(tmp_path: Path) -> None:
    model, processor = saved(_clip, "CLIPModel", tmp_path / "model")
    tower = transformers.CLIPVisionModel(model.config.vision_config)
    with pytest.raises(
        UserError, match=r"CLIPVisionModel is neither a dual encoder of hf: nor a model of vqa:"
    ):
        from_memory((tower, processor), "m")
    with pytest.raises(
        UserError, match=r"CLIPModel has get_image_features .* give \(model, processor\)"
    ):
        from_memory(model, "CLIPModel")


def test_networks_are_left_as_they_were_found(clip: tuple[tuple[Any, ...], str]) -> None:
    network = clip[0][0]
    network.visual.eval()
    before = [part.training for part in network.modules()]
    assert set(before) == {True, False}
    with evaluating(clip[0]):
        network.eval()
        assert not any(part.training for part in network.modules())
    assert [part.training for part in network.modules()] == before


def test_an_object_stays_on_its_device() -> None:
    check_device(None)
    with pytest.raises(
        UserError,
        match="The device 'cuda' is for a model given by its spec; move your object there",
    ):
        check_device("cuda")
