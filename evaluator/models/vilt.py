"""`vilt:` models: ViLT with its head for image–text retrieval (Kim et al. 2021), by folder or by name on the Hub.

Also what the families of transformers that read pairs share: loading (`load_pretrained`), scoring by image
(`ByImage`) and batches that shrink when memory runs out (`in_batches`).
"""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from evaluator.models.device import best_device, out_of_memory
from evaluator.models.open_clip import weights_digest
from generator.dataset.commands import say
from generator.dataset.errors import UserError

BATCH = 64
_MEND = "give a folder written by save_pretrained, or a name on the Hugging Face Hub."
_STEPS = ("size", "size_divisor", "crop_size", "min_pixels", "max_pixels", "resample", "image_mean", "image_std")
_ACTIVATIONS = ("hidden_act", "hidden_activation", "activation_function", "feed_forward_proj", "qformer_hidden_act")


@dataclass(frozen=True)
class Loaded:
    """A model of transformers in evaluation mode, its processor (or tokenizer), and what a run records of both."""

    model: Any
    processor: Any
    device: torch.device
    info: dict[str, Any]
    identity: str

    @property
    def tokenizer(self) -> Any:
        """The tokenizer, alone or inside the processor."""
        return getattr(self.processor, "tokenizer", self.processor)

    def key(self, *more: Any) -> str:
        """What identifies scores: the weights, their configuration, the processor, the device and `more`."""
        return hashlib.sha256(json.dumps([self.identity, *more]).encode()).hexdigest()[:16]


def load_pretrained(name: str, device: str | None, family: str, kinds: Mapping[str, str], processor: str) -> Loaded:
    """Load a folder, `OWNER/NAME` or `OWNER/NAME@REVISION` in float32, running no foreign code.

    `kinds` gives the class of transformers that reads each type of model; `processor` is the class of the processor or
    tokenizer. Raises UserError when the model does not exist, is of another type, or when its weights do not fill it.
    """
    import transformers

    target = best_device(device)
    source, revision = _source(name, family)
    common: dict[str, Any] = {"revision": revision, "trust_remote_code": False}
    try:
        with _quiet():
            config = transformers.AutoConfig.from_pretrained(source, **common)
            if config.model_type not in kinds:
                raise UserError(f"'{name}' is a model of type '{config.model_type}', which {family}: does not read; name a {family} model.")  # fmt: skip
            reader = getattr(transformers, processor).from_pretrained(source, **common)
            model, found = getattr(transformers, kinds[config.model_type]).from_pretrained(
                source, dtype=torch.float32, output_loading_info=True, **common
            )
    except UserError:
        raise
    except Exception as error:  # every loader of transformers has errors of its own
        reason = _short(" ".join(str(error).split()).rstrip(".") or type(error).__name__)
        away = any(sign in str(error) for sign in ("connect", "offline", "resolve"))
        if away and not Path(source).is_dir():
            raise UserError(f"'{name}' is not on this machine and cannot be downloaded ({reason}); check the network, or give a folder.") from error  # fmt: skip
        raise UserError(
            f"Cannot load '{name}' as a {family}: model ({type(error).__name__}: {reason}); {_MEND}"
        ) from error
    if lacking := sorted(found["missing_keys"]):
        more = f" and {len(lacking) - 1:,} more tensors" * (len(lacking) > 1)
        raise UserError(f"The weights of '{name}' do not fit {type(model).__name__}: {lacking[0]}{more} would be random; name a model trained for this task.")  # fmt: skip
    try:
        model = model.to(target).eval()
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        raise UserError(f"'{name}' does not fit in the memory of {target}; choose --device cpu or a smaller model.") from None  # fmt: skip
    return _described(name, model, reader, target)


def _source(name: str, family: str) -> tuple[str, str | None]:
    """The folder, or the name on the Hub and its revision."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return str(folder), None
    source, _, revision = name.partition("@")
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", source) or source.startswith("."):
        raise UserError(f"There is no folder '{name}' for {family}: models; {_MEND}")
    return source, revision or None


def _described(name: str, model: Any, processor: Any, device: torch.device) -> Loaded:
    digest, config = weights_digest(model), _without_places(model.config.to_dict())
    images = getattr(processor, "image_processor", None)
    steps = {} if images is None else images.to_dict()
    tokenizer = getattr(processor, "tokenizer", processor)
    if not tokenizer.get_vocab().keys() - set(tokenizer.all_special_tokens):
        raise UserError(f"The tokenizer of '{name}' has no words; put the tokenizer's files beside the weights.")
    told = "; ".join(f"{step} {steps[step]}" for step in _STEPS if steps.get(step) is not None)
    info = {
        "weights": name,
        "weights_sha256": digest,
        "architecture": type(model).__name__,
        "activation": ", ".join(sorted(_activations(config))),
        "preprocessing": "none" if images is None else f"{type(images).__name__}: {told}",
        "text_length": None,
        "parameters": sum(p.numel() for p in model.parameters()),
        "precision": str(model.dtype).removeprefix("torch."),
        "device": str(device),
    }
    vocabulary = getattr(tokenizer, "backend_tokenizer", None)
    words = vocabulary.to_str() if vocabulary is not None else sorted(tokenizer.get_vocab().items())
    parts = [digest, config, steps, words, info["precision"], device.type]
    return Loaded(model, processor, device, info, json.dumps(parts, sort_keys=True, default=str))


def _without_places(config: Any) -> Any:
    """A configuration without what differs between copies of a model: folders and the versions that wrote them."""
    if isinstance(config, dict):
        kept = {k: v for k, v in config.items() if k not in ("_name_or_path", "name_or_path", "transformers_version")}
        return {key: _without_places(value) for key, value in kept.items()}
    return config


def _activations(config: Any) -> set[str]:
    if not isinstance(config, dict):
        return set()
    here = {str(config[name]) for name in _ACTIVATIONS if config.get(name)}
    return here.union(*(_activations(part) for part in config.values()))


@contextmanager
def _quiet() -> Iterator[None]:
    """The library's own reports are said in one sentence instead."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _short(text: str, length: int = 160) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def in_batches(compute: Callable[[Sequence[int]], np.ndarray], order: Sequence[int], batch: int) -> tuple[list[np.ndarray], int]:  # fmt: skip
    """`compute` of consecutive parts of `order`; halves the batch and repeats the part when memory runs out.

    Returns the answers in that order, and the batch that there is room for. Raises UserError when one is too many.
    """
    found: list[np.ndarray] = []
    start = 0
    while start < len(order):
        try:
            found.append(compute(order[start : start + batch]))
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            if batch == 1:
                raise UserError("There is no memory for one pair of image and text; choose --device cpu or a smaller model.") from None  # fmt: skip
            batch //= 2
            say(f"Out of memory: going on with batches of {batch}.")
            continue
        start += batch
    return found, batch


class ByImage(ABC):
    """Scores pairs image by image: what depends on the image alone is computed once and kept while it is needed."""

    channels: tuple[str, ...]
    passes = 1

    def __init__(self, loaded: Loaded, batch: int = BATCH):
        self._loaded = loaded
        self._batch = batch
        self.info = loaded.info

    @abstractmethod
    def _encode(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        """What is computed of each image."""

    @abstractmethod
    def _read(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        """Scores (n, channels) of as many features and texts."""

    @torch.inference_mode()
    def score_pairs(
        self,
        images: Sequence[Image.Image],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
        """As PairScorer.score_pairs."""
        known: dict[int, torch.Tensor] = {}

        def compute(part: Sequence[int]) -> np.ndarray:
            places = sorted({pairs[i][0] for i in part})
            for done in [place for place in known if place < places[0]]:
                del known[done]
            new = [place for place in places if place not in known]
            known.update(zip(new, self._encode([images[place] for place in new]) if new else [], strict=True))
            scores: np.ndarray = self._read([known[pairs[i][0]] for i in part], [pairs[i][1] for i in part]).float().cpu().numpy()  # fmt: skip
            return scores

        order = sorted(range(len(pairs)), key=lambda i: pairs[i][0])
        found, self._batch = in_batches(compute, order, self._batch)
        scores = np.empty((len(pairs), len(self.channels)), dtype=np.float32)
        if order:
            scores[order] = np.concatenate(found)
        return scores


class ViltScorer(ByImage):
    """A ViLT model as a PairScorer (registry.py): one transformer reads the patches and the words together.

    The linear embedding of an image's patches is computed once an image; the transformer runs once a pair. All patches
    are read, in their order, whatever `max_image_length` says: that limit draws patches at random.
    """

    channels = ("itm",)

    def __init__(self, loaded: Loaded, batch: int = BATCH):
        super().__init__(loaded, batch)
        self._length = min(loaded.tokenizer.model_max_length, loaded.model.config.max_position_embeddings)
        self.info |= {"text_length": self._length, "patches": "all"}
        self.key = loaded.key("vilt", self._length)

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length)."""
        return token_rows(self._loaded.tokenizer, texts, self._length)

    def _encode(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        return [self._patches(image) for image in images]

    def _patches(self, image: Image.Image) -> torch.Tensor:
        """Embedded patches and their positions, after the class token: (1 + patches, d)."""
        seen = self._loaded.processor.image_processor([image], return_tensors="pt").to(self._loaded.device)
        pixels = seen["pixel_values"]
        mask = torch.ones(pixels.shape[0], *pixels.shape[2:], dtype=torch.long, device=pixels.device)
        with torch.random.fork_rng(devices=[]):  # the library shuffles the patches
            patches, _, (place, (_, width)) = self._loaded.model.vilt.embeddings.visual_embed(pixels, mask, -1)
        order = torch.argsort(place[0, :, 0] * width + place[0, :, 1])
        return torch.cat([patches[0, :1], patches[0, 1:][order]])

    def _read(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        words = self._loaded.tokenizer(
            list(texts), padding=True, truncation=True, max_length=self._length, return_tensors="pt"
        )
        patches = torch.nn.utils.rnn.pad_sequence(list(features), batch_first=True)
        sizes = torch.tensor([len(each) for each in features], device=patches.device)
        mask = (torch.arange(patches.shape[1], device=patches.device) < sizes[:, None]).long()
        logits: torch.Tensor = self._loaded.model(
            **words.to(self._loaded.device), image_embeds=patches, pixel_mask=mask
        ).logits
        return logits


def token_rows(tokenizer: Any, texts: Sequence[str], length: int) -> np.ndarray:
    """Token ids, int64 (n, length), cut and padded to the length."""
    ids = tokenizer(list(texts), padding="max_length", truncation=True, max_length=length)["input_ids"]
    return np.array(ids, dtype=np.int64).reshape(len(texts), length)


def load_vilt(name: str, device: str | None) -> ViltScorer:
    """Load a folder or a name on the Hub. Raises UserError when it is not a ViLT model with a retrieval head."""
    return ViltScorer(load_pretrained(name, device, "vilt", {"vilt": "ViltForImageAndTextRetrieval"}, "ViltProcessor"))
