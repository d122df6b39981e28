"""Adapt objects that users wrote to `DualEncoder`, `PairScorer` or `Answerer`: default attributes,
checks of results.

Later runs reuse their results only if the object has a `key` (docs/models.md).
"""

import hashlib
import inspect
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import numpy as np
import torch
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, InstanceOf, JsonValue, ValidationError

from evaluator.metrics.comparison import TOLERANCE
from evaluator.models.contracts import (
    Answer,
    Answerer,
    BatchSize,
    Chat,
    Contests,
    DualEncoder,
    Group,
    How,
    Model,
    Pairs,
    PairScorer,
    cache_key,
    fingerprints,
    out_of_memory,
)
from evaluator.models.network import best_device, describe_network
from evaluator.provenance.exposure import Exposure
from generator.base.errors import UserError

BATCH = 128
_WANTED = "encode_images and encode_texts, or score_pairs, or score"
_FOREIGN = [
    Path(sysconfig.get_path(name)).resolve()
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
]
_FOREIGN += [Path(__file__).resolve().parents[2] / name for name in ("evaluator", "generator")]


class _Said(BaseModel):
    """Optional attributes of a user's object, and their defaults."""

    model_config = ConfigDict(strict=True)
    key: Annotated[str, Field(min_length=1)] | None = None
    info: dict[str, JsonValue] = {}
    exposure: InstanceOf[Exposure] | None = None
    channels: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w-]*$")], ...], Field(strict=False)
    ] = ("score",)
    passes: Annotated[int, Field(ge=1)] = 1
    image_channel: str | None = None
    contested: bool = False
    tie_tolerance: Annotated[float, Field(ge=0, lt=float("inf"))] = TOLERANCE
    reads_images: bool = True


def adapt(model: Any, spec: str, source: Any, device: str | None) -> Model:
    """The object as a DualEncoder when it has encode_images and encode_texts, else as a PairScorer.

    `source` is the class or function that made the object. Raises UserError when the object has no
    method to score
    with, or attributes of the wrong kind.
    """
    encoders = [
        name for name in ("encode_images", "encode_texts") if callable(getattr(model, name, None))
    ]
    if len(encoders) == 2:
        return UserEncoder(model, spec, source, device)
    if callable(getattr(model, "score_pairs", None)) or callable(getattr(model, "score", None)):
        return UserScorer(model, spec, source, device)
    lacking = (
        f"has only {encoders[0]}"
        if encoders
        else f"({type(model).__name__}) has no method to score with"
    )
    asked = (
        " (`score ask` takes a model with answer)"
        if callable(getattr(model, "answer", None))
        else ""
    )
    raise UserError(f"The model of {spec} {lacking}; give it {_WANTED}{asked}.")


class _UserModel:
    """Base class of the adapters: reads a user's object and supplies defaults for attributes that
    it lacks."""

    says: tuple[str, ...] = ("key", "info", "exposure")
    """The attributes of `_Said` that are read from the object; the others may mean anything in
    it."""
    info: dict[str, Any]
    key: str
    reusable: bool
    fits_texts: bool
    exposure: Exposure | None

    def __init__(self, model: Any, spec: str, source: Any, device: str | None):
        self._model, self._spec, self._source = model, spec, source
        with user_code(spec, "eval"):
            networks = [each.eval() for each in networks_of(model)]
        self.info = {"weights": spec, "parameters": 0, "precision": "its own", "device": "its own"}
        if networks:
            self.info |= describe_network(spec, torch.nn.ModuleList(networks), best_device(device))
        self._said = said = self._read_said()
        self.info |= {"source_sha256": _source_digest(source), **said.info}
        self.reusable, self.key, self.exposure = (
            said.key is not None,
            self._own_key(),
            said.exposure,
        )
        # an object that inherits from our contracts always has the method; its attribute says
        # whether to call it
        self.fits_texts = bool(self._get("fits_texts", self._has("fit_texts")))

    def _own_key(self) -> str:
        """Cache key from the spec, the source file and the object's key; without a key, weights and
        device take its place, so that a run can resume."""
        known = [self.info.get(name) for name in ("weights_sha256", "device")]
        return cache_key(
            self._spec,
            _source_file(self._source),
            _source_digest(self._source),
            self._said.key or known,
        )

    def fit_texts(self, texts: Sequence[str], groups: Sequence[Group] = ()) -> None:
        """As in contracts.py, if the object has such a method, which gets `groups` if it has a
        parameter of that name."""
        wanted = {"groups": groups} if "groups" in parameters_of(self._model.fit_texts) else {}
        with user_code(self._spec, "fit_texts"):
            self._model.fit_texts(list(texts), **wanted)
        self.key = self._own_key()

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """The model's own tokens, int64 (n, length), or fingerprints of the texts."""
        if not self._has("tokens"):
            return fingerprints(text.encode() for text in texts)
        ids = self._call("tokens", list(texts))
        if ids.dtype.kind not in "iu" or ids.ndim != 2 or len(ids) != len(texts):
            raise self._wrong("tokens", f"whole numbers of shape ({len(texts)}, length)", ids)
        return ids.astype(np.int64)

    def _get(self, name: str, default: Any) -> Any:
        """An attribute of the user's object. A property may run the user's code."""
        with user_code(self._spec, name):
            return getattr(self._model, name, default)

    def _has(self, method: str) -> bool:
        return callable(self._get(method, None))

    def _read_said(self) -> _Said:
        """Read the object's attributes. Raises UserError for a value of the wrong type."""
        given = {name: value for name in self.says if (value := self._get(name, None)) is not None}
        try:
            return _Said(**given)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            raise UserError(
                f"The attribute `{name}` of {self._spec} is {given[name]!r} ({first['msg']}); mend "
                f"it, or leave it out."
            ) from None

    def _call(self, method: str, *given: Any, **named: Any) -> np.ndarray:
        """Call a method of the user's object; returns its result as an array."""
        with user_code(self._spec, method):
            return _array(getattr(self._model, method)(*given, **named))

    def _wrong(self, method: str, expected: str, got: np.ndarray) -> UserError:
        return UserError(
            f"Expected {method} of {self._spec} to give {expected}, got {got.dtype} of shape "
            f"{tuple(got.shape)}."
        )


class UserEncoder(_UserModel, DualEncoder):
    """A user's object with encode_images and encode_texts as a DualEncoder. Embeddings are scaled
    to unit length."""

    def __init__(self, model: Any, spec: str, source: Any, device: str | None):
        super().__init__(model, spec, source, device)
        self._width: int | None = None
        self._prepares = self._has("prepare")
        self.info["embeddings"] = "scaled to unit length"

    @torch.no_grad()
    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Unit embeddings, float32 (n, d)."""
        return self._unit("encode_texts", texts)

    def prepare(self, image: Image.Image) -> Any:
        """The result of the object's own `prepare` for an RGB image; the image itself if it has no
        `prepare`."""
        if not self._prepares:
            return image
        with user_code(self._spec, "prepare"):
            return self._model.prepare(image)

    @torch.no_grad()
    def encode_images(self, images: Sequence[Any]) -> np.ndarray:
        """Unit embeddings of outputs of `prepare`, float32 (n, d)."""
        return self._unit("encode_images", images)

    def _unit(self, method: str, inputs: Sequence[Any]) -> np.ndarray:
        """Call `method`, check its embeddings and scale them to unit length, float32 (n, d); NaN
        for embeddings that are not finite."""
        vectors, n = self._call(method, list(inputs)), len(inputs)
        if (
            vectors.dtype.kind != "f"
            or vectors.ndim != 2
            or len(vectors) != n
            or vectors.shape[1] == 0
        ):
            raise self._wrong(method, f"floating point embeddings of shape ({n}, width)", vectors)
        if self._width not in (None, vectors.shape[1]):
            raise self._wrong(method, f"embeddings of width {self._width}, as before", vectors)
        self._width = vectors.shape[1]
        wide = np.where(np.isfinite(vectors), vectors, np.nan).astype(np.float64)
        lengths = np.linalg.norm(wide, axis=1, keepdims=True)
        if not lengths.all():
            zero = int(np.argmin(lengths))
            words = f" ('{inputs[zero]}')" if isinstance(inputs[zero], str) else ""
            raise UserError(
                f"{method} of {self._spec} gave only zeros for input {zero + 1} of {n}{words}; "
                f"such an "
                "embedding has no cosine."
            )
        return (wide / lengths).astype(np.float32)


class UserScorer(_UserModel, PairScorer):
    """A user's object with score_pairs or score as a PairScorer."""

    says = tuple(_Said.model_fields)

    def __init__(self, model: Any, spec: str, source: Any, device: str | None):
        super().__init__(model, spec, source, device)
        self._in_bulk = self._has("score_pairs")
        said = self._said
        self.channels, self.image_channel, self.passes = (
            said.channels,
            said.image_channel,
            said.passes,
        )
        self.contested, self.reads_images = said.contested, said.reads_images
        self.tie_tolerance = said.tie_tolerance
        self.batch = BatchSize(BATCH, "pair of image and text")
        if not self.channels or len(set(self.channels)) < len(self.channels):
            raise UserError(
                f"The channels of {spec} are {self.channels!r}; give a tuple of different names."
            )
        if not self._in_bulk and len(self.channels) > 1:
            raise UserError(
                f"score of {spec} gives one number for {len(self.channels)} channels; give it "
                f"score_pairs."
            )
        if self.image_channel not in (None, *self.channels):
            raise UserError(
                f"The image_channel of {spec} is {self.image_channel!r}; give one of its channels, "
                f"{self.channels}."
            )

    @torch.no_grad()
    def score_pairs(
        self, images: Sequence[Any], pairs: Pairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs, with the object's score_pairs or, pair by pair, with its
        score.

        The object's score_pairs gets at most `batch` pairs per call. If it is contested, it gets
        all pairs, and
        `contests` if it has a parameter of that name.
        """

        def compute(part: Sequence[int]) -> np.ndarray:
            shown = {
                image: place for place, image in enumerate(sorted({pairs[row][0] for row in part}))
            }
            of_part = [(shown[pairs[row][0]], pairs[row][1]) for row in part]
            return self._scored([images[image] for image in shown], of_part, None)

        if self.contested:
            return self._scored(images, pairs, contests)
        return self.batch.fill(compute, range(len(pairs)), (len(pairs), len(self.channels)))

    def _scored(self, images: Sequence[Any], pairs: Pairs, contests: Contests) -> np.ndarray:
        expected = (len(pairs), len(self.channels))
        if self._in_bulk:
            told = contests is not None and "contests" in parameters_of(self._model.score_pairs)
            wanted = {"contests": contests} if told else {}
            method, scores = "score_pairs", self._call("score_pairs", images, pairs, **wanted)
            if scores.shape == expected[:1] and expected[1] == 1:
                scores = scores[:, None]
        else:
            method, each = (
                "score",
                [self._call("score", images[place], text) for place, text in pairs],
            )
            for one, (_, text) in zip(each, pairs, strict=True):
                if one.size != 1 or one.dtype.kind not in "fiu":
                    raise self._wrong(method, f"one number for '{text}'", one)
            scores = np.array([one.item() for one in each], np.float64).reshape(-1, 1)
        if scores.dtype.kind not in "fiu" or scores.shape != expected:
            raise self._wrong(method, f"numbers of shape {expected}", scores)
        # NaN marks items as unscored, while infinity would win or lose every comparison
        return np.where(np.isfinite(scores), scores, np.nan).astype(np.float32)


class UserAnswerer(_UserModel, Answerer):
    """A user's object with answer(images, question) as an Answerer; `answer` gets `sample`,
    `max_tokens` and `temperature` if it has parameters of these names."""

    def answer_all(
        self, chats: Iterable[Chat], how: How, keep: Callable[[Chat, Answer], None]
    ) -> None:
        """As Answerer.answer_all, one question after another."""
        for chat in chats:
            known = {
                "sample": chat.sample,
                "max_tokens": how.max_tokens,
                "temperature": how.temperature,
            }
            with user_code(self._spec, "answer"), torch.no_grad():
                taken = parameters_of(self._model.answer)
                more = {name: value for name, value in known.items() if name in taken}
                said = self._model.answer(chat.show(), chat.text, **more)
            if not isinstance(said, str):
                raise UserError(
                    f"Expected answer of {self._spec} to give a string, got {type(said).__name__}."
                )
            keep(chat, Answer(said))


def adapt_answering(model: Any, spec: str, source: Any, device: str | None) -> Answerer:
    """As `adapt`, for questions in words. Raises UserError when the object has no method to answer
    with."""
    if not callable(getattr(model, "answer", None)):
        raise UserError(
            f"The model of {spec} ({type(model).__name__}) has no method answer(images, question)."
        )
    return UserAnswerer(model, spec, source, device)


def networks_of(model: Any) -> list[torch.nn.Module]:
    """The torch modules that an object is or holds in its attributes and containers, at any
    depth."""
    found: list[torch.nn.Module] = []
    seen: dict[
        int, Any
    ] = {}  # keeps the objects alive, since the id of a deleted object may be reused
    waiting = [model]
    while waiting:
        each = waiting.pop(0)
        if id(each) in seen or isinstance(each, type | ModuleType | torch.Tensor):
            continue
        seen[id(each)] = each
        if isinstance(each, torch.nn.Module):
            found.append(each)
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list | tuple | set):
            waiting += each
        else:
            waiting += getattr(each, "__dict__", {}).values()
    return found


@contextmanager
def user_code(spec: str, doing: str) -> Iterator[None]:
    """Context for code of the model `spec`; `doing` names the code, such as "encode_texts".

    All errors, also SystemExit, become a UserError of one sentence, followed by the traceback's
    lines in the user's own files. Out-of-memory errors are passed on, since batches are then
    halved.
    """
    try:
        yield
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        if out_of_memory(error):
            raise
        what = " ".join(str(error).split())
        ended = (
            f"{doing} of {spec} ended with {type(error).__name__}{f': {what}' if what else ''}"
        ).removesuffix(".")
        lines = _own_lines(error)
        shown = f"mend it here:\n{lines}" if lines else "correct what it is given."
        raise UserError(f"{ended}; {shown}") from error


def _own_lines(error: BaseException) -> str:
    """The lines of the user's files in a traceback; for a syntax error, the faulty line."""
    found = traceback.TracebackException.from_exception(error)
    if isinstance(error, SyntaxError) and error.filename and _is_own(error.filename):
        return "".join(list(found.format_exception_only())[:-1]).rstrip()
    own = [frame for frame in found.stack if _is_own(frame.filename)]
    return "".join(traceback.StackSummary.from_list(own).format()).rstrip()


def _is_own(file: str) -> bool:
    """Whether a source file is the user's: not of Python, an installed package, or this package."""
    path = Path(file)
    return path.is_file() and not any(path.resolve().is_relative_to(folder) for folder in _FOREIGN)


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function by name; none for compiled code."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _source_file(source: Any) -> Path | None:
    """The source file of a class or function; None for compiled code and notebooks."""
    try:
        file = Path(inspect.getsourcefile(inspect.unwrap(source)) or "").resolve()
    except TypeError:
        return None
    return file if file.is_file() else None


def _source_digest(source: Any) -> str | None:
    """SHA-256 (hex) of the source file of a class or function; None without a file."""
    file = _source_file(source)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file else None


def _array(given: Any) -> np.ndarray:
    """Convert a result of a user's method to an array: a tensor on any device, an array, or a list
    of either."""
    if isinstance(given, torch.Tensor):
        given = given.detach().cpu()
        return np.asarray(given.float() if given.is_floating_point() else given)
    if isinstance(given, list | tuple) and any(isinstance(each, torch.Tensor) for each in given):
        given = [_array(each) for each in given]
    try:
        return np.asarray(given)
    except ValueError:  # rows of different lengths
        return np.asarray([*given, None], dtype=object)[:-1]
