"""User-defined models: `python:` specs, and objects in memory that are passed to `evaluate`.

`python:PACKAGE.MODULE:FACTORY` (a module in the working directory or on Python's path) and
`python:FILE.py:FACTORY`
return an object with `encode_images` and `encode_texts`, `score_pairs`, or `score`
(evaluator.models.user_objects).
`evaluate` takes such objects and also

- `(model, preprocess, tokenizer)` of open_clip;
- `(model, processor)` of transformers: a dual encoder, or a generative model that is asked whether
  the image shows the text.
"""

import copy
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import torch

from evaluator.models.contracts import Answerer, Model
from evaluator.models.network import best_device
from evaluator.models.registry import checked_arguments
from evaluator.models.user_objects import (
    adapt,
    adapt_answering,
    networks_of,
    parameters_of,
    user_code,
)
from generator.base.errors import UserError

_OPEN_CLIP, _TRANSFORMERS = (
    ("encode_image", "encode_text"),
    ("get_image_features", "get_text_features"),
)
_TUPLES = "(model, preprocess, tokenizer) of open_clip or (model, processor) of transformers"


def load_python(name: str, device: str | None, **arguments: str) -> Model:
    """The model of `package.module:factory` or `file.py:factory`. Raises UserError as `_made`, and
    when the object has no method to score with."""
    return adapt(*_made(name, device, arguments), device)


def load_answering(name: str, device: str | None, **arguments: str) -> Answerer:
    """As load_python, for questions in words; the object needs the method answer(images,
    question)."""
    return adapt_answering(*_made(name, device, arguments), device)


def _made(name: str, device: str | None, arguments: dict[str, str]) -> tuple[Any, str, Any]:
    """Import `package.module:factory` or `file.py:factory` and call it; returns the object, its
    spec and the factory.

    The factory is called with `arguments`, and with `device` (a torch.device) if it has a parameter
    of that name. Raises UserError when the module or factory does not exist or raises an error.
    """
    spec = ",".join([f"python:{name}", *(f"{key}={value}" for key, value in arguments.items())])
    place, _, path = name.rpartition(":")
    if (
        not place
        or not path
        or (not place.endswith(".py") and (place.startswith(".") or {"/", ":"} & set(place)))
    ):
        raise UserError(
            f"Expected python:PACKAGE.MODULE:FACTORY or python:FILE.py:FACTORY, such as "
            f"python:my_model.py:Model, got '{spec}'."
        )
    target = best_device(device)
    module = _import(place, spec)
    try:
        factory: Any = reduce(getattr, path.split("."), module)
    except AttributeError:
        callables = [
            name
            for name, value in vars(module).items()
            if callable(value) and not name.startswith("_")
        ]
        some = f"it has {', '.join(callables[:8])}" if callables else "it has no class or function"
        raise UserError(f"There is no '{path}' in the module {module.__name__}: {some}.") from None
    if not callable(factory):
        raise UserError(
            f"'{path}' in {place} is no class or function; name a callable that returns the model."
        )
    taken = checked_arguments(factory, arguments, f"'{path}' in {place}")
    with user_code(spec, path):
        model = factory(
            **taken, **({"device": target} if "device" in parameters_of(factory) else {})
        )
    return model, spec, factory


def _import(place: str, spec: str) -> ModuleType:
    """Import a module by name or file. Other modules of its folder can be imported, as when Python
    runs the file.

    Raises UserError when it does not exist, when a file has the name of another module, or when
    importing it raises an error.
    """
    file = Path(place).expanduser().resolve() if place.endswith(".py") else None
    if file and not file.is_file():
        raise UserError(
            f"There is no file '{place}' in {os.getcwd()}; give the path of the file that has the "
            f"model."
        )
    folder, name = (str(file.parent), file.stem) if file else (os.getcwd(), place)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # kept, as Python does, for later imports of the model
    importlib.invalidate_caches()
    with user_code(spec, f"importing the {'file' if file else 'module'}"):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # a module that the user's module imports
            raise UserError(
                f"There is no Python module '{name}' in {folder} or where Python looks; run in its "
                f"folder, set "
                "PYTHONPATH, or give its file."
            ) from None
    if file and getattr(module, "__file__", None) != str(file):
        raise UserError(
            f"'{place}' has the name of another module, '{name}', which is in use; rename the file."
        )
    return module


def name_of(model: Any) -> str:
    """The default name of an object: its class."""
    return type(model[0] if isinstance(model, tuple) and model else model).__name__


def check_device(device: str | None) -> None:
    """Raise UserError if a device is given: an object stays on its device."""
    if device is not None:
        raise UserError(
            f"The device '{device}' is for a model given by its spec; move your object there and "
            f"leave it out."
        )


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Context that restores the mode, training or evaluation, of an object's networks on exit."""
    networks = [] if isinstance(model, str) else networks_of(model)
    before = [(part, part.training) for each in networks for part in each.modules()]
    try:
        yield
    finally:
        for part, training in before:
            part.training = training


def from_memory(model: Any, name: str) -> Model:
    """Adapt an object as a model, in evaluation mode and on its current device.

    Raises UserError for an object without methods to score with, and names what it lacks.
    """
    if not isinstance(model, tuple):
        _check_reader(model, name)
        return adapt(model, name, type(model), _device_of(model))
    if len(model) == 3 and _has(model[0], _OPEN_CLIP) and all(callable(each) for each in model[1:]):
        return _of_open_clip(*model, name)
    if len(model) == 2 and hasattr(model[0], "config") and hasattr(model[1], "tokenizer"):
        return _of_transformers(*model, name)
    shown = ", ".join(type(each).__name__ for each in model)
    raise UserError(
        f"Expected a tuple to be {_TUPLES}, got ({shown}); give that, or an object with methods of "
        f"your own."
    )


def _check_reader(model: Any, name: str) -> None:
    """Raise UserError for a bare model of open_clip or transformers."""
    own = any(
        _has(model, each)
        for each in (("score",), ("score_pairs",), ("encode_images", "encode_texts"))
    )
    for methods, wanted in (
        (_OPEN_CLIP, "(model, preprocess, tokenizer)"),
        (_TRANSFORMERS, "(model, processor)"),
    ):
        if not own and _has(model, methods):
            raise UserError(
                f"{name} has {methods[0]} and nothing that prepares its inputs; give {wanted}."
            )


def _has(model: Any, methods: tuple[str, ...]) -> bool:
    return all(callable(getattr(model, method, None)) for method in methods)


def _device_of(model: Any) -> str | None:
    """The device of the first network of an object that has parameters."""
    parameters = (parameter for each in networks_of(model) for parameter in each.parameters())
    return next((str(each.device) for each in parameters), None)


def _of_open_clip(model: Any, preprocess: Any, tokenizer: Any, name: str) -> Model:
    from evaluator.models.open_clip import OpenClipEncoder

    device = torch.device(_device_of(model) or "cpu")
    found = OpenClipEncoder(
        model, preprocess, tokenizer, {"class": type(model).__name__}, name, device
    )
    found.reusable = False
    return found


def _of_transformers(model: Any, processor: Any, name: str) -> Model:
    from evaluator.models.hf import as_dual_encoder
    from evaluator.models.pretrained import describe_pretrained
    from evaluator.models.vqa import as_vqa_scorer

    reads = copy.deepcopy(
        processor
    )  # a copy, so that settings such as padding do not change the caller's
    loaded = describe_pretrained(
        name, model.eval(), reads.tokenizer, getattr(reads, "image_processor", None), reads
    )
    found = cast("Model | None", as_dual_encoder(loaded) or as_vqa_scorer(loaded))
    if found is None:
        raise UserError(
            f"{type(model).__name__} is neither a dual encoder of hf: nor a model of vqa: "
            f"(docs/models.md); give an "
            "object with encode_images and encode_texts, or score."
        )
    found.reusable = False
    return found
