"""Models that the caller of `evaluate` has in memory: objects with methods to score with, open_clip and transformers.

- an object with `encode_images` and `encode_texts`, `score_pairs`, or `score`, a torch module or not
  (evaluator.models.python);
- `(model, preprocess, tokenizer)` of open_clip;
- `(model, processor)` of transformers: a dual encoder, or a generative model that is asked whether the image shows the
  text.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch

from evaluator.models.contracts import Model
from evaluator.models.user_objects import adapt, networks_of
from generator.base.errors import UserError

_OPEN_CLIP, _TRANSFORMERS = ("encode_image", "encode_text"), ("get_image_features", "get_text_features")
_TUPLES = "(model, preprocess, tokenizer) of open_clip or (model, processor) of transformers"


def name_of(model: Any) -> str:
    """What an object is called where the caller gives it no name: its class."""
    return type(model[0] if isinstance(model, tuple) and model else model).__name__


def check_device(device: str | None) -> None:
    """Raise UserError where a device is asked for: an object stays where it is."""
    if device is not None:
        raise UserError(f"The device '{device}' is for a model that is named; move your object there and leave it out.")


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Context that leaves the networks of an object in the mode, training or evaluation, in which it found them."""
    networks = [] if isinstance(model, str) else networks_of(model)
    before = [(part, part.training) for each in networks for part in each.modules()]
    try:
        yield
    finally:
        for part, training in before:
            part.training = training


def from_memory(model: Any, name: str) -> Model:
    """The model of an object, in evaluation mode and on the device where it is.

    Raises UserError for an object without methods to score with, and names what it lacks.
    """
    if not isinstance(model, tuple):
        if lacking := _lacks_reader(model):
            raise UserError(f"{name} has {lacking[0]} and nothing that prepares its inputs; give {lacking[1]}.")
        return adapt(model, name, type(model), _device_of(model))
    if len(model) == 3 and _has(model[0], _OPEN_CLIP) and all(callable(each) for each in model[1:]):
        return _of_open_clip(*model, name)
    if len(model) == 2 and hasattr(model[0], "config") and hasattr(model[1], "tokenizer"):
        return _of_transformers(*model, name)
    shown = ", ".join(type(each).__name__ for each in model)
    raise UserError(
        f"Expected a tuple to be {_TUPLES}, got ({shown}); give that, or an object with methods of your own."
    )


def _lacks_reader(model: Any) -> tuple[str, str] | None:
    """The method of a bare model of open_clip or transformers, and what to give instead."""
    if callable(getattr(model, "score", None)) or _has(model, ("encode_images", "encode_texts")):
        return None
    for methods, wanted in ((_OPEN_CLIP, "(model, preprocess, tokenizer)"), (_TRANSFORMERS, "(model, processor)")):
        if _has(model, methods):
            return methods[0], wanted
    return None


def _has(model: Any, methods: tuple[str, ...]) -> bool:
    return all(callable(getattr(model, method, None)) for method in methods)


def _device_of(model: Any) -> str | None:
    """The device of the first network of an object that has parameters."""
    parameters = (parameter for each in networks_of(model) for parameter in each.parameters())
    return next((str(each.device) for each in parameters), None)


def _of_open_clip(model: Any, preprocess: Any, tokenizer: Any, name: str) -> Model:
    from evaluator.models.open_clip import OpenClipEncoder

    device = torch.device(_device_of(model) or "cpu")
    found = OpenClipEncoder(model, preprocess, tokenizer, {"class": type(model).__name__}, name, device)
    found.reusable = False
    return found


def _of_transformers(model: Any, processor: Any, name: str) -> Model:
    from evaluator.models.hf import as_dual_encoder
    from evaluator.models.pretrained import describe_pretrained
    from evaluator.models.vqa import as_vqa_scorer

    reads = copy.deepcopy(processor)  # what is set on it, such as the padding, stays out of the caller's
    loaded = describe_pretrained(name, model.eval(), reads.tokenizer, getattr(reads, "image_processor", None), reads)
    found = cast("Model | None", as_dual_encoder(loaded) or as_vqa_scorer(loaded))
    if found is None:
        raise UserError(
            f"{type(model).__name__} is neither a dual encoder of hf: nor a model of vqa: (docs/models.md); give an "
            f"object with "
            "encode_images and encode_texts, or score."
        )
    found.reusable = False
    return found
