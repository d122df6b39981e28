"""User-defined models: `python:` specs, and objects in memory that are passed to `evaluate`.

`python:PACKAGE.MODULE:FACTORY` (a module in the working directory or on Python's path) and
`python:FILE.py:FACTORY` return an object that implements one of the protocols of
evaluator.models.user_protocols. `evaluate` takes such objects and also

- `(model, preprocess, tokenizer)` of open_clip;
- `(model, processor)` of transformers: a dual encoder, or a generative model that is asked whether
  the image shows the text.
"""

import copy
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import torch

from evaluator.models.contracts import Answerer, Model
from evaluator.models.network import best_device
from evaluator.models.registry import checked_arguments
from evaluator.models.user_code import networks_of, parameters_of, user_code
from evaluator.models.user_objects import adapt, adapt_answering
from evaluator.models.user_protocols import (
    UserDualEncoder,
    UserPairScorer,
    UserSinglePairScorer,
    implements,
)
from generator.base.errors import UserError

_OPEN_CLIP_METHODS = ("encode_image", "encode_text")
_TRANSFORMERS_METHODS = ("get_image_features", "get_text_features")
"""Methods by which the objects of both libraries are recognised."""
_TUPLES = "(model, preprocess, tokenizer) of open_clip or (model, processor) of transformers"
_MOST_LISTED = 8
"""Names of a module that an error message lists."""


def load_python(name: str, device: str | None, **arguments: str) -> Model:
    """Load a model of the user's own.

    Args:
        name: `package.module:factory` or `file.py:factory`.
        device: The device that the user named; None for the best one.
        arguments: The factory's arguments.

    Raises:
        UserError: The module or factory does not exist or raises an error, or the object has no
            method to score with.
    """
    model, spec, factory = _make_object(name, device, arguments)
    return adapt(model, spec, source=factory, device=device)


def load_answering(name: str, device: str | None, **arguments: str) -> Answerer:
    """As load_python, for questions in words; the object needs the method answer(images,
    question)."""
    model, spec, factory = _make_object(name, device, arguments)
    return adapt_answering(model, spec, source=factory, device=device)


def _make_object(
    name: str, device: str | None, arguments: dict[str, str]
) -> tuple[Any, str, Callable[..., Any]]:
    """Import a factory and call it; returns the object, its spec and the factory.

    The factory is called with `arguments`, and with `device` (a torch.device) if it has a parameter
    of that name. Raises UserError when the module or factory does not exist or raises an error.
    """
    spec = ",".join([f"python:{name}", *(f"{key}={value}" for key, value in arguments.items())])
    place, _, path = name.rpartition(":")
    if not _is_place(place) or not path:
        raise UserError(
            f"Expected python:PACKAGE.MODULE:FACTORY or python:FILE.py:FACTORY, such as "
            f"python:my_model.py:Model, got '{spec}'."
        )
    target = best_device(device)
    module = _import(place, spec)
    try:
        factory: Any = reduce(getattr, path.split("."), module)
    except AttributeError:
        names = [
            name
            for name, value in vars(module).items()
            if callable(value) and not name.startswith("_")
        ]
        contents = f"it has {', '.join(names[:_MOST_LISTED])}"
        if not names:
            contents = "it has no class or function"
        raise UserError(
            f"There is no '{path}' in the module {module.__name__}: {contents}."
        ) from None
    if not callable(factory):
        raise UserError(
            f"'{path}' in {place} is not a class or function; name a callable that returns the "
            f"model."
        )
    options = checked_arguments(factory, arguments, model=f"'{path}' in {place}")
    takes_device = "device" in parameters_of(factory)
    device_option = {"device": target} if takes_device else {}
    with user_code(spec, path):
        model = factory(**options, **device_option)
    return model, spec, factory


def _is_place(place: str) -> bool:
    """Whether a text may name a file of Python, or a module by its absolute name."""
    if place.endswith(".py"):
        return True
    return bool(place) and not place.startswith(".") and not {"/", ":"} & set(place)


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
    if file:
        folder = str(file.parent)
        name = file.stem
    else:
        folder = os.getcwd()
        name = place
    if folder not in sys.path:
        # It stays there, as when Python runs a file, for later imports of the model.
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
    with user_code(spec, f"importing the {'file' if file else 'module'}"):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # a module that the user's module imports
            raise UserError(
                f"There is no Python module '{name}' in {folder} or where Python looks; run in its "
                "folder, set PYTHONPATH, or give its file."
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
    modes = [(module, module.training) for network in networks for module in network.modules()]
    try:
        yield
    finally:
        for module, was_training in modes:
            module.training = was_training


def from_memory(model: Any, name: str) -> Model:
    """Adapt an object as a model, in evaluation mode and on its current device.

    Args:
        model: An object with methods to score with, or a tuple of open_clip or transformers.
        name: Its name in results.

    Raises:
        UserError: The object has no methods to score with; the message names what it lacks.
    """
    if not isinstance(model, tuple):
        _check_not_bare(model, name)
        return adapt(model, name, source=type(model), device=_device_of(model))
    if len(model) == 3 and _has_methods(model[0], _OPEN_CLIP_METHODS):
        network, preprocess, tokenizer = model
        if callable(preprocess) and callable(tokenizer):
            return _from_open_clip(network, preprocess=preprocess, tokenizer=tokenizer, name=name)
    if len(model) == 2:
        network, processor = model
        if hasattr(network, "config") and hasattr(processor, "tokenizer"):
            return _from_transformers(network, processor, name)
    types = ", ".join(type(part).__name__ for part in model)
    raise UserError(
        f"Expected a tuple to be {_TUPLES}, got ({types}); give that, or an object with methods of "
        f"your own."
    )


def _check_not_bare(model: Any, name: str) -> None:
    """Raise UserError for a bare model of open_clip or transformers, without preprocessing."""
    protocols = (UserSinglePairScorer, UserPairScorer, UserDualEncoder)
    if any(implements(model, protocol) for protocol in protocols):
        return
    tuples = (
        (_OPEN_CLIP_METHODS, "(model, preprocess, tokenizer)"),
        (_TRANSFORMERS_METHODS, "(model, processor)"),
    )
    for methods, expected in tuples:
        if _has_methods(model, methods):
            raise UserError(
                f"{name} has {methods[0]} and nothing that prepares its inputs; give {expected}."
            )


def _has_methods(model: Any, methods: tuple[str, ...]) -> bool:
    return all(callable(getattr(model, method, None)) for method in methods)


def _device_of(model: Any) -> str | None:
    """The device of the first network of an object that has parameters; None without one."""
    for network in networks_of(model):
        for parameter in network.parameters():
            return str(parameter.device)
    return None


def _from_open_clip(model: Any, *, preprocess: Any, tokenizer: Any, name: str) -> Model:
    from evaluator.models.open_clip import OpenClipEncoder

    encoder = OpenClipEncoder(
        model,
        preprocess=preprocess,
        tokenizer=tokenizer,
        config={"class": type(model).__name__},
        weights=name,
        device=torch.device(_device_of(model) or "cpu"),
    )
    encoder.reusable = False
    return encoder


def _from_transformers(model: Any, processor: Any, name: str) -> Model:
    from evaluator.models.hf import as_dual_encoder
    from evaluator.models.pretrained import describe_pretrained
    from evaluator.models.vqa import as_vqa_scorer

    # A copy, so that settings such as padding do not change the caller's.
    own_processor = copy.deepcopy(processor)
    loaded = describe_pretrained(
        name,
        model.eval(),
        tokenizer=own_processor.tokenizer,
        image_processor=getattr(own_processor, "image_processor", None),
        processor=own_processor,
    )
    adapted = cast("Model | None", as_dual_encoder(loaded) or as_vqa_scorer(loaded))
    if adapted is None:
        raise UserError(
            f"{type(model).__name__} is neither a dual encoder of hf: nor a model of vqa: "
            "(docs/models.md); give an object with encode_images and encode_texts, or score."
        )
    adapted.reusable = False
    return adapted
