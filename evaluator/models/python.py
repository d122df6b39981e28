"""`python:` models: adapts a user's object to `DualEncoder` or `PairScorer`, supplying defaults for optional attributes.

`python:PACKAGE.MODULE:FACTORY`, a module of the working directory or one that Python finds, or `python:FILE.py:FACTORY`.
"""

import hashlib
import importlib
import importlib.util
import inspect
import json
import logging
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from PIL import Image

from evaluator.models.arguments import checked_arguments, named_with
from evaluator.models.contracts import DualEncoder, Group, Model, PairScorer, fingerprints
from evaluator.models.device import best_device
from evaluator.models.memory import BatchSize
from evaluator.models.state import networks_of, state_digest
from evaluator.models.user_code import user_code
from evaluator.models.weights import weights_digest
from evaluator.provenance.exposure import Exposure
from generator.base.errors import UserError
from generator.base.paths import check_name

logger = logging.getLogger(__name__)
BATCH = 128
_WANTED = "encode_images and encode_texts, or score_pairs, or score"


def load_python(name: str, device: str | None, **arguments: Any) -> Model:
    """Import `package.module:factory` or `file.py:factory`, call it and adapt the object that it returns.

    The factory is called with `arguments`, and with `device` (a torch.device) where it has a parameter of that name.
    Raises UserError when the module or factory does not exist or raises an error, or when the object has no method to score
    with.
    """
    spec = f"python:{name}"
    place, _, path = name.rpartition(":")
    in_file = place.endswith(".py")
    if not place or not path or (not in_file and (place.startswith(".") or {"/", ":"} & set(place))):
        raise UserError(
            f"Expected python:PACKAGE.MODULE:FACTORY or python:FILE.py:FACTORY, such as python:my_model.py:Model, got '{spec}'."
        )
    target = best_device(device)
    module = _import_file(Path(place).expanduser(), spec) if in_file else _import(place, spec)
    factory = _found(module, path)
    if not callable(factory):
        raise UserError(f"'{path}' in {place} is no class or function; name a callable that returns the model.")
    taken = checked_arguments(factory, arguments, f"'{path}' in {place}")
    if lacking := [each for each in _needed(factory) if each not in taken]:
        raise UserError(
            f"'{path}' in {place} needs {', '.join(lacking)}, and is called without arguments (but for device); give them defaults or as "
            "--model-args, or name a function that makes the model."
        )
    with user_code(spec, path):
        model = factory(**taken, **({"device": target} if "device" in _parameters(factory) else {}))
    return adapt(model, named_with(spec, arguments), factory, device)


def adapt(model: Any, spec: str, source: Any, device: str | None) -> Model:
    """The object as a DualEncoder when it has encode_images and encode_texts, else as a PairScorer.

    `source` is the class or function that made the object; the key of the model changes with its code and with the object's
    state (state.py).
    Raises UserError when the object has no method to score with, or attributes of the wrong kind.
    """
    encoders = [name for name in ("encode_images", "encode_texts") if callable(getattr(model, name, None))]
    if len(encoders) == 2:
        return UserEncoder(model, spec, source, device)
    if callable(getattr(model, "score_pairs", None)) or callable(getattr(model, "score", None)):
        return UserScorer(model, spec, source, device)
    lacking = f"has {encoders[0]} alone" if encoders else f"({type(model).__name__}) has no method to score with"
    raise UserError(f"The model of {spec} {lacking}; give it {_WANTED}.")


class _UserModel:
    """What models of both kinds have, from a user's object, with defaults where it has none of its own."""

    def __init__(self, model: Any, spec: str, source: Any, device: str | None):
        self._model, self._spec, self._source = model, spec, source
        file = _file_of(source)
        with user_code(spec, "eval"):
            networks = [each.eval() for each in networks_of(model)]
        weights = hashlib.sha256("".join(weights_digest(each) for each in networks).encode()).hexdigest()
        self.info: dict[str, Any] = {
            "weights": spec,
            "source_sha256": hashlib.sha256(file.read_bytes()).hexdigest() if file else None,
            "parameters": sum(p.numel() for p in {id(p): p for each in networks for p in each.parameters()}.values()),
            "precision": "its own",
            "device": str(best_device(device)) if networks else "its own",
            **({"weights_sha256": weights} if networks else {}),
            **self._own_info(),
        }
        self.key = self._own_key()
        # an object that inherits from our contracts has the method, and says whether it uses it
        self.fits_texts = bool(self._get("fits_texts", callable(self._get("fit_texts", None))))
        self.exposure: Exposure | None = self._get("exposure", None)
        if not isinstance(self.exposure, Exposure | None):
            raise UserError(
                f"The exposure of {spec} is a {type(self.exposure).__name__}; give an evaluator.provenance.exposure.Exposure, or leave it out."
            )

    def fit_texts(self, texts: Sequence[str], groups: Sequence[Group] = ()) -> None:
        """As of contracts.py, where the object has such a method; it gets the groups if it has a parameter of that name."""
        if self.fits_texts:
            wanted = {"groups": groups} if "groups" in _parameters(self._model.fit_texts) else {}
            with user_code(self._spec, "fit_texts"):
                self._model.fit_texts(list(texts), **wanted)
            self.key = self._own_key()

    def _own_key(self) -> str:
        """The name of the object's results in the cache, by its own key or by its state as it is now."""
        own = self._get("key", None)
        if own is not None and not (isinstance(own, str) and own):
            raise UserError(f"The key of {self._spec} is {own!r}; give a text that is not empty, or leave it out.")
        parts = [self._spec, own] if own else [self._spec, self._state(self._source), self.info["device"]]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def _get(self, name: str, default: Any) -> Any:
        """An attribute of the user's object; it may be computed by code of theirs."""
        with user_code(self._spec, name):
            return getattr(self._model, name, default)

    def _call(self, method: str, *given: Any, **named: Any) -> np.ndarray:
        """What a method of the user's object returns, as an array."""
        with user_code(self._spec, method):
            return _array(getattr(self._model, method)(*given, **named))

    def _own_info(self) -> dict[str, Any]:
        info = self._get("info", None) or {}
        try:
            json.dumps(info)
            return dict(info)
        except (TypeError, ValueError):
            raise UserError(
                f"The info of {self._spec} is {info!r}; give a dictionary of texts, numbers and lists, as JSON has them."
            ) from None

    def _state(self, source: Any) -> str:
        """A digest of all that decides the output; random where that cannot be told, so that nothing stale is reused."""
        try:
            if self.info["source_sha256"] is None:
                raise TypeError("its source is no file")
            return state_digest(self._model, source)
        except TypeError as error:
            logger.info(
                f"What {self._spec} computes is not reused in later runs, since its state cannot be hashed ({error}); give it a "
                "`key` that changes whenever its results do."
            )
            return secrets.token_hex()

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """The model's own tokens, int64 (n, length), or fingerprints of the texts."""
        if not callable(getattr(self._model, "tokens", None)):
            return fingerprints(text.encode() for text in texts)
        ids = self._call("tokens", list(texts))
        if ids.dtype.kind not in "iu" or ids.ndim != 2 or len(ids) != len(texts):
            raise self._wrong("tokens", f"whole numbers of shape ({len(texts)}, length)", ids)
        return ids.astype(np.int64)

    def _wrong(self, method: str, expected: str, got: np.ndarray) -> UserError:
        return UserError(
            f"Expected {method} of {self._spec} to give {expected}, got {got.dtype} of shape {tuple(got.shape)}."
        )


class UserEncoder(_UserModel, DualEncoder):
    """A user's object with encode_images and encode_texts as a DualEncoder. Embeddings are scaled to unit length."""

    def __init__(self, model: Any, spec: str, source: Any, device: str | None):
        super().__init__(model, spec, source, device)
        self._width: int | None = None
        self._prepares = callable(self._get("prepare", None))
        self.info["embeddings"] = "brought to unit length"

    @torch.no_grad()
    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit embeddings, float32 (n, d)."""
        return self._unit("encode_texts", texts, "text")

    def prepare(self, image: Image.Image) -> Any:
        """What the object's own `prepare` makes of an RGB image; the image where it has none."""
        if not self._prepares:
            return image
        with user_code(self._spec, "prepare"):
            return self._model.prepare(image)

    @torch.no_grad()
    def encode_images(self, images: Sequence[Any]) -> np.ndarray:
        """Unit embeddings of what `prepare` returned, float32 (n, d)."""
        return self._unit("encode_images", images, "image")

    def _unit(self, method: str, inputs: Sequence[Any], what: str) -> np.ndarray:
        """Call `method`, check its embeddings and scale them to unit length, float32 (n, d); NaN where one is not finite."""
        vectors, n = self._call(method, list(inputs)), len(inputs)
        if vectors.dtype == object and vectors.shape == (n,) and (odd := _odd_one(vectors)):
            raise UserError(
                f"Expected {method} of {self._spec} to give embeddings of one width, got {np.shape(vectors[odd])} for "
                f"{_named(what, inputs, odd)} and {np.shape(vectors[0])} for the first."
            )
        if vectors.dtype.kind != "f" or vectors.ndim != 2 or len(vectors) != n or vectors.shape[1] == 0:
            raise self._wrong(method, f"floating point embeddings of shape ({n}, width)", vectors)
        if self._width not in (None, vectors.shape[1]):
            raise self._wrong(method, f"embeddings of width {self._width}, as before", vectors)
        self._width = vectors.shape[1]
        wide = np.where(np.isfinite(vectors), vectors, np.nan).astype(np.float64)
        lengths = np.linalg.norm(wide, axis=1, keepdims=True)
        if not lengths.all():
            raise UserError(
                f"{method} of {self._spec} gave nothing but zeros for {_named(what, inputs, int(np.argmin(lengths)))}; such an embedding "
                "has no cosine."
            )
        return (wide / lengths).astype(np.float32)


class UserScorer(_UserModel, PairScorer):
    """A user's object with score_pairs or score as a PairScorer."""

    def __init__(self, model: Any, spec: str, source: Any, device: str | None):
        super().__init__(model, spec, source, device)
        self._in_bulk = callable(getattr(model, "score_pairs", None))
        channels = self._get("channels", ("score",))
        if not isinstance(channels, tuple | list) or not channels or len(set(map(str, channels))) < len(channels):
            raise UserError(f"The channels of {spec} are {channels!r}; give a tuple of names.")
        self.channels = tuple(check_name(name, f"channel of {spec}") for name in channels)
        if not self._in_bulk and len(self.channels) > 1:
            raise UserError(f"score of {spec} gives one number for {len(self.channels)} channels; give it score_pairs.")
        passes = self._get("passes", 1)
        if not isinstance(passes, int) or passes < 1:
            raise UserError(f"The passes of {spec} are {passes!r}; give a whole number from 1.")
        self.passes = passes
        self.batch = BatchSize(BATCH, "pair of image and text")
        self.contested = self._flag("contested", False)
        self.reads_images = self._flag("reads_images", True)
        self.image_channel = self._get("image_channel", None)
        if self.image_channel not in (None, *self.channels):
            raise UserError(
                f"The image_channel of {spec} is {self.image_channel!r}; give one of its channels, {self.channels}."
            )

    def _flag(self, name: str, default: bool) -> bool:
        given = self._get(name, default)
        if not isinstance(given, bool):
            raise UserError(f"Expected {name} of {self._spec} to be True or False, got {given!r}; mend it.")
        return given

    @torch.no_grad()
    def score_pairs(
        self,
        images: Sequence[Any],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
        """As PairScorer.score_pairs, by the model's score_pairs or, one pair after another, by its score.

        The model's score_pairs gets at most `batch` pairs at once, and one that is contested gets all of them.
        """
        scores = np.empty((len(pairs), len(self.channels)), np.float32)
        if self.contested:
            scores[:] = self._scored(images, pairs, contests)
        else:
            for part, found in self.batch.run(
                lambda part: self._part(images, pairs, contests, part), range(len(pairs))
            ):
                scores[part] = found
        return scores

    def _part(
        self,
        images: Sequence[Any],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None,
        part: Sequence[int],
    ) -> np.ndarray:
        """Scores of the pairs in a range of rows, with their images and the contests among them alone."""
        shown = sorted({pairs[row][0] for row in part})
        place_of = {image: place for place, image in enumerate(shown)}
        row_of = {row: place for place, row in enumerate(part)}
        among = [[row_of[row] for row in contest if row in row_of] for contest in contests or ()]
        few = None if contests is None else [contest for contest in among if len(contest) > 1]
        return self._scored(
            [images[image] for image in shown], [(place_of[pairs[row][0]], pairs[row][1]) for row in part], few
        )

    def _scored(
        self,
        images: Sequence[Any],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None,
    ) -> np.ndarray:
        if self._in_bulk:
            method, scores = "score_pairs", self._bulk(images, pairs, contests)
            if scores.ndim == 1 and len(self.channels) == 1:
                scores = scores[:, None]
        else:
            method = "score"
            each = [self._call(method, images[place], text) for place, text in pairs]
            for one, (_, text) in zip(each, pairs, strict=True):
                if one.size != 1 or one.dtype.kind not in "fiu":
                    raise self._wrong(method, f"one number for '{text}'", one)
            scores = np.array([one.item() for one in each], np.float64).reshape(-1, 1)
        if scores.dtype.kind not in "fiu" or scores.shape != (len(pairs), len(self.channels)):
            raise self._wrong(method, f"numbers of shape ({len(pairs)}, {len(self.channels)})", scores)
        # NaN leaves items unscored and named, while infinity would win or lose every comparison
        return np.where(np.isfinite(scores), scores, np.nan).astype(np.float32)

    def _bulk(
        self,
        images: Sequence[Any],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None,
    ) -> np.ndarray:
        wanted = {"contests": contests} if "contests" in _parameters(self._model.score_pairs) else {}
        return self._call("score_pairs", images, pairs, **wanted)


def _odd_one(vectors: np.ndarray) -> int | None:
    """The first of several vectors whose shape is not that of the first; None where all have one shape."""
    return next((i for i, each in enumerate(vectors) if np.shape(each) != np.shape(vectors[0])), None)


def _named(what: str, inputs: Sequence[Any], i: int) -> str:
    """An input by its number, and a text by its words."""
    words = f" ('{inputs[i]}')" if isinstance(inputs[i], str) else ""
    return f"{what} {i + 1} of {len(inputs)}{words}"


def _import(module: str, spec: str) -> ModuleType:
    """The module of that name. Raises UserError when there is none, or when importing it raises an error."""
    here = os.getcwd()
    _look_in(here)
    with user_code(spec, "importing the module"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # something that the user's module imports
    raise UserError(
        f"There is no Python module '{module}' in {here} or where Python looks; run where it is, set PYTHONPATH, or give its file."
    )


def _import_file(file: Path, spec: str) -> ModuleType:
    """The module in a file; other modules beside it can be imported, as where Python runs the file.

    Raises UserError when there is no such file, when its name is that of another module, or when it raises an error.
    """
    if not file.is_file():
        raise UserError(f"There is no file '{file}' in {os.getcwd()}; give the path of the file that has the model.")
    path = file.resolve()
    found = sys.modules.get(path.stem)
    if found is not None and getattr(found, "__file__", None) != str(path):
        raise UserError(
            f"The name of '{file}' is that of another module, '{path.stem}', which is in use; rename the file."
        )
    if found is None:
        _look_in(str(path.parent))
        made = importlib.util.spec_from_file_location(path.stem, path)
        assert made is not None
        assert made.loader is not None
        found = importlib.util.module_from_spec(made)
        sys.modules[path.stem] = found
        try:
            with user_code(spec, "importing the file"):
                made.loader.exec_module(found)
        except BaseException:
            del sys.modules[path.stem]
            raise
    return found


def _look_in(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)  # kept, as Python does, for what the model imports later


def _found(module: ModuleType, path: str) -> Any:
    """The object at `path` of a module. Raises UserError when there is no such object."""
    try:
        return reduce(getattr, path.split("."), module)
    except AttributeError:
        callables = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        some = f"it has {', '.join(callables[:8])}" if callables else "it has no class or function"
        raise UserError(f"There is no '{path}' in the module {module.__name__}: {some}.") from None


def _needed(factory: Callable[..., Any]) -> list[str]:
    """The parameters that a factory cannot be called without, but for `device`."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return []
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        each.name for each in parameters
        if each.default is each.empty and each.kind not in free and each.name != "device"
    ]  # fmt: skip


def _parameters(function: Callable[..., Any]) -> list[str]:
    """Names of the parameters of a function; none for compiled code."""
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _file_of(source: Any) -> Path | None:
    """The source file of a class or function; None for compiled code."""
    try:
        file = inspect.getsourcefile(inspect.unwrap(source))
    except TypeError:
        return None
    return Path(file) if file and Path(file).exists() else None


def _array(given: Any) -> np.ndarray:
    """What a user's method returned as an array: a tensor on any device, an array, or a list of either."""
    if isinstance(given, torch.Tensor):
        given = given.detach().cpu()
        return np.asarray(given.float() if given.is_floating_point() else given)
    if isinstance(given, list | tuple) and any(isinstance(each, torch.Tensor) for each in given):
        given = [_array(each) for each in given]
    try:
        return np.asarray(given)
    except ValueError:  # rows of several lengths
        return np.asarray([*given, None], dtype=object)[:-1]
