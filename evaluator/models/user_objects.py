"""Adapt objects that users wrote to `DualEncoder`, `PairScorer` or `Answerer`: default attributes,
checks of results. What an object must offer is in `evaluator.models.user_protocols`.

Later runs reuse their results only if the object has a `key` (docs/models.md).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image
from pydantic import ValidationError

from evaluator.models.contracts import (
    Answer,
    Answerer,
    BatchSize,
    Chat,
    Contests,
    DualEncoder,
    GenerationConfig,
    Group,
    ImageTextPairs,
    Model,
    PairScorer,
    cache_key,
    fingerprints,
)
from evaluator.models.network import best_device, describe_network
from evaluator.models.user_code import (
    networks_of,
    parameters_of,
    source_digest,
    source_file,
    user_code,
)
from evaluator.models.user_protocols import (
    ModelAttributes,
    ScorerAttributes,
    UserAnswerer,
    UserDualEncoder,
    UserPairScorer,
    UserSinglePairScorer,
    implements,
)
from evaluator.provenance.exposure import Exposure
from generator.base.errors import UserError

BATCH = 128
"""Images, texts or pairs that an object gets in a call."""
_METHODS = "encode_images and encode_texts, or score_pairs, or score"


def adapt(model: Any, spec: str, *, source: Any, device: str | None) -> Model:
    """Adapt an object: as a DualEncoder if it implements `UserDualEncoder`, else as a PairScorer.

    Args:
        model: The object.
        spec: The model, as the user named it, for messages and the cache key.
        source: The class or function that made the object; its file is part of the cache key.
        device: The device that the user named; None for the best one.

    Raises:
        UserError: The object has no method to score with, or attributes of the wrong kind.
    """
    if implements(model, UserDualEncoder):
        return EncoderAdapter(model, spec, source=source, device=device)
    if implements(model, UserPairScorer) or implements(model, UserSinglePairScorer):
        return ScorerAdapter(model, spec, source=source, device=device)
    encoders = [
        name for name in ("encode_images", "encode_texts") if callable(getattr(model, name, None))
    ]
    if encoders:
        fault = f"has only {encoders[0]}"
    else:
        fault = f"({type(model).__name__}) has no method to score with"
    hint = ""
    if implements(model, UserAnswerer):
        hint = " (`score ask` takes a model with answer)"
    raise UserError(f"The model of {spec} {fault}; give it {_METHODS}{hint}.")


def adapt_answering(model: Any, spec: str, *, source: Any, device: str | None) -> Answerer:
    """As `adapt`, for questions in words. Raises UserError if the object does not implement
    `UserAnswerer`."""
    if not implements(model, UserAnswerer):
        raise UserError(
            f"The model of {spec} ({type(model).__name__}) has no method answer(images, question)."
        )
    return AnswererAdapter(model, spec, source=source, device=device)


class _Adapter:
    """Base class of the adapters: reads a user's object and supplies defaults for attributes that
    it lacks."""

    attributes_class: type[ModelAttributes] = ModelAttributes
    """The attributes that are read from the object; any other may mean anything in it."""
    info: dict[str, Any]
    """As `Model.info`."""
    key: str
    """As `Model.key`."""
    reusable: bool
    """As `Model.reusable`."""
    fits_texts: bool
    """As `Model.fits_texts`."""
    exposure: Exposure | None
    """As `Model.exposure`."""

    def __init__(self, model: Any, spec: str, *, source: Any, device: str | None):
        self._model = model
        self._spec = spec
        self._source = source
        with user_code(spec, "eval"):
            networks = [network.eval() for network in networks_of(model)]
        self.info = {"weights": spec, "parameters": 0, "precision": "its own", "device": "its own"}
        if networks:
            modules = torch.nn.ModuleList(networks)
            self.info |= describe_network(spec, modules, best_device(device))
        attributes = self._read_attributes()
        self._own_key = attributes.key
        self.info |= {"source_sha256": source_digest(source), **attributes.info}
        self.reusable = attributes.key is not None
        self.key = self._make_key()
        self.exposure = attributes.exposure
        # An object that inherits from our contracts always has the method; its attribute says
        # whether to call it.
        self.fits_texts = bool(self._get("fits_texts", self._has("fit_texts")))
        self._set_up(attributes)

    def _set_up(self, attributes: ModelAttributes) -> None:
        """Set the attributes of the kind of model. Optionally overridden."""

    def _make_key(self) -> str:
        """Cache key from the spec, the source file and the object's key; without a key, weights and
        device take its place, so that a run can resume."""
        weights = [self.info.get(name) for name in ("weights_sha256", "device")]
        return cache_key(
            self._spec,
            source_file(self._source),
            source_digest(self._source),
            self._own_key or weights,
        )

    def fit_texts(self, texts: Sequence[str], groups: Sequence[Group] = ()) -> None:
        """As in contracts.py, if the object has such a method, which gets `groups` if it has a
        parameter of that name."""
        takes_groups = "groups" in parameters_of(self._model.fit_texts)
        options = {"groups": groups} if takes_groups else {}
        with user_code(self._spec, "fit_texts"):
            self._model.fit_texts(list(texts), **options)
        # Results depend on the texts now, and an object may change its key or weights.
        self.key = self._make_key()

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

    def _read_attributes(self) -> ModelAttributes:
        """Read the object's attributes. Raises UserError for a value of the wrong type."""
        values = {}
        for name in self.attributes_class.model_fields:
            value = self._get(name, None)
            if value is not None:
                values[name] = value
        try:
            return self.attributes_class(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            raise UserError(
                f"The attribute `{name}` of {self._spec} is {values[name]!r} ({first['msg']}); fix "
                f"it, or leave it out."
            ) from None

    def _call(self, method: str, *arguments: Any, **options: Any) -> np.ndarray:
        """Call a method of the user's object; returns its result as an array."""
        with user_code(self._spec, method):
            return _to_array(getattr(self._model, method)(*arguments, **options))

    def _wrong(self, method: str, expected: str, result: np.ndarray) -> UserError:
        return UserError(
            f"Expected {method} of {self._spec} to give {expected}, got {result.dtype} of shape "
            f"{tuple(result.shape)}."
        )


class EncoderAdapter(_Adapter, DualEncoder):
    """A `UserDualEncoder` as a DualEncoder. Embeddings are scaled to unit length."""

    def _set_up(self, attributes: ModelAttributes) -> None:
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
        vectors = self._call(method, list(inputs))
        n = len(inputs)
        is_matrix = vectors.dtype.kind == "f" and vectors.ndim == 2
        if not is_matrix or len(vectors) != n or vectors.shape[1] == 0:
            raise self._wrong(method, f"floating point embeddings of shape ({n}, width)", vectors)
        width = vectors.shape[1]
        if self._width not in (None, width):
            raise self._wrong(method, f"embeddings of width {self._width}, as before", vectors)
        self._width = width

        # In float64, where the square of a large half-precision number does not overflow.
        wide = np.where(np.isfinite(vectors), vectors, np.nan).astype(np.float64)
        lengths = np.linalg.norm(wide, axis=1, keepdims=True)
        if not lengths.all():
            zero = int(np.argmin(lengths))
            words = f" ('{inputs[zero]}')" if isinstance(inputs[zero], str) else ""
            raise UserError(
                f"{method} of {self._spec} gave only zeros for input {zero + 1} of {n}{words}; "
                f"such an embedding has no cosine."
            )
        return (wide / lengths).astype(np.float32)


class ScorerAdapter(_Adapter, PairScorer):
    """A `UserPairScorer` or `UserSinglePairScorer` as a PairScorer."""

    attributes_class = ScorerAttributes

    def _set_up(self, attributes: ModelAttributes) -> None:
        assert isinstance(attributes, ScorerAttributes)
        self._in_bulk = self._has("score_pairs")
        self.channels = attributes.channels
        self.image_channel = attributes.image_channel
        self.passes = attributes.passes
        self.contested = attributes.contested
        self.reads_images = attributes.reads_images
        self.tie_tolerance = attributes.tie_tolerance
        self.batch = BatchSize(BATCH, "pair of image and text")
        self._check_channels()

    def _check_channels(self) -> None:
        """Raise UserError for channels that contradict one another."""
        if not self.channels or len(set(self.channels)) < len(self.channels):
            raise UserError(
                f"The channels of {self._spec} are {self.channels!r}; give a tuple of different "
                f"names."
            )
        if not self._in_bulk and len(self.channels) > 1:
            raise UserError(
                f"score of {self._spec} gives one number for {len(self.channels)} channels; give "
                f"it score_pairs."
            )
        if self.image_channel not in (None, *self.channels):
            raise UserError(
                f"The image_channel of {self._spec} is {self.image_channel!r}; give one of its "
                f"channels, {self.channels}."
            )

    @torch.no_grad()
    def score_pairs(
        self, images: Sequence[Any], pairs: ImageTextPairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs, with the object's score_pairs or, pair by pair, with its
        score.

        The object's score_pairs gets at most `batch` pairs per call. If it is contested, it gets
        all pairs, and `contests` if it has a parameter of that name.
        """
        if self.contested:
            return self._score(images, pairs, contests)

        def compute(batch: Sequence[int]) -> np.ndarray:
            # The batch gets its own images alone, and pairs that index these.
            used_images = sorted({pairs[row][0] for row in batch})
            index_of = {image: index for index, image in enumerate(used_images)}
            batch_pairs = []
            for row in batch:
                image, text = pairs[row]
                batch_pairs.append((index_of[image], text))
            return self._score([images[image] for image in used_images], batch_pairs, None)

        shape = (len(pairs), len(self.channels))
        return self.batch.fill(compute, range(len(pairs)), shape=shape)

    def _score(
        self, images: Sequence[Any], pairs: ImageTextPairs, contests: Contests
    ) -> np.ndarray:
        """Scores, float32 (pairs, channels); NaN for scores that are not finite."""
        expected = (len(pairs), len(self.channels))
        if self._in_bulk:
            method = "score_pairs"
            scores = self._score_in_bulk(images, pairs, contests)
        else:
            method = "score"
            scores = self._score_singly(images, pairs)
        if scores.dtype.kind not in "fiu" or scores.shape != expected:
            raise self._wrong(method, f"numbers of shape {expected}", scores)
        # NaN marks items as unscored, while infinity would win or lose every comparison.
        return np.where(np.isfinite(scores), scores, np.nan).astype(np.float32)

    def _score_in_bulk(
        self, images: Sequence[Any], pairs: ImageTextPairs, contests: Contests
    ) -> np.ndarray:
        options: dict[str, Any] = {}
        if contests is not None and "contests" in parameters_of(self._model.score_pairs):
            options["contests"] = contests
        scores = self._call("score_pairs", images, pairs, **options)
        # One channel may be a plain list of numbers.
        is_flat = scores.shape == (len(pairs),) and len(self.channels) == 1
        return scores[:, None] if is_flat else scores

    def _score_singly(self, images: Sequence[Any], pairs: ImageTextPairs) -> np.ndarray:
        numbers = []
        for image, text in pairs:
            number = self._call("score", images[image], text)
            if number.size != 1 or number.dtype.kind not in "fiu":
                raise self._wrong("score", f"one number for '{text}'", number)
            numbers.append(number.item())
        return np.array(numbers, np.float64).reshape(-1, 1)


class AnswererAdapter(_Adapter, Answerer):
    """A `UserAnswerer` as an Answerer; `answer` gets `sample`, `max_tokens` and `temperature` if it
    has parameters of these names."""

    def answer_all(
        self,
        chats: Iterable[Chat],
        generation: GenerationConfig,
        *,
        keep: Callable[[Chat, Answer], None],
    ) -> None:
        """As Answerer.answer_all, one question after another."""
        for chat in chats:
            optional = {
                "sample": chat.sample,
                "max_tokens": generation.max_tokens,
                "temperature": generation.temperature,
            }
            with user_code(self._spec, "answer"), torch.no_grad():
                parameters = parameters_of(self._model.answer)
                options = {name: value for name, value in optional.items() if name in parameters}
                text = self._model.answer(chat.show(), chat.text, **options)
            if not isinstance(text, str):
                raise UserError(
                    f"Expected answer of {self._spec} to give a string, got {type(text).__name__}."
                )
            keep(chat, Answer(text))


def _to_array(result: Any) -> np.ndarray:
    """Convert a result of a user's method to an array: a tensor on any device, an array, or a list
    of either."""
    if isinstance(result, torch.Tensor):
        result = result.detach().cpu()
        # NumPy has no bfloat16.
        return np.asarray(result.float() if result.is_floating_point() else result)
    if isinstance(result, list | tuple) and any(isinstance(row, torch.Tensor) for row in result):
        result = [_to_array(row) for row in result]
    try:
        return np.asarray(result)
    except ValueError:
        # Rows of different lengths: an array of objects, whose dtype the checks then refuse. None
        # keeps NumPy from stacking rows.
        return np.asarray([*result, None], dtype=object)[:-1]
