"""`open_clip:` models: any architecture and weights of open_clip, local checkpoints and folders,
and the Hub.

`open_clip:ARCHITECTURE@TAG`, `open_clip:ARCHITECTURE@/path/to/checkpoint`,
`open_clip:local-dir:/path/to/folder`,
`open_clip:hf-hub:owner/name`, `open_clip:hf-hub:owner/name@revision`.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import huggingface_hub
import numpy as np
import open_clip
import torch
from open_clip.model import CLIP
from PIL import Image

from evaluator.models.bases import TowerEncoder
from evaluator.models.contracts import cache_key
from evaluator.models.hub import ModelSource, check_files, loading
from evaluator.models.image_options import ImageOptions
from evaluator.models.network import best_device, describe_network
from evaluator.provenance.exposure import recorded_exposure
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_json

CONFIG = "open_clip_config.json"
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_TOKENIZER_ARGUMENTS = {
    "clean",
    "strip_sep_token",
    "language",
    "additional_special_tokens",
    "reduction_mask",
}
"""Allowed arguments of open_clip's tokenizers; others are passed on to transformers, or name a file
to read."""
_QUICK_GELU = "-quickgelu"
"""Ends the name of an architecture with QuickGELU."""
_MOST_LISTED = 8
"""Names that an error message lists; open_clip has more than a hundred architectures."""
_BY_CONFIG = "by the model's own configuration"


class OpenClipEncoder(TowerEncoder):
    """A model of open_clip as a DualEncoder, in the precision of its weights."""

    def __init__(
        self,
        model: Any,
        *,
        preprocess: Any,
        tokenizer: Any,
        config: dict[str, Any],
        weights: str,
        device: torch.device,
    ):
        """
        Args:
            model: The model, on its device.
            preprocess: Converts an RGB image to a tensor (3, h, w).
            tokenizer: Converts texts to token ids (n, length).
            config: The configuration of the architecture.
            weights: What was loaded, for run.json.
            device: The device of the model.
        """
        self._model = self.network = model.eval()
        self._preprocess = preprocess
        self._tokenizer = tokenizer
        self.config = config
        self.device = device
        self._dtype = next(model.parameters()).dtype
        steps = getattr(preprocess, "transforms", (preprocess,))
        self.info = describe_network(weights, model, device) | {
            "preprocessing": " → ".join(_describe_step(step) for step in steps),
            "text_length": int(tokenizer.context_length),
        }
        # The configuration is part of the key, since tensors show neither the number of heads nor
        # the tokenizer of training.
        identity = ("weights_sha256", "preprocessing", "activation", "text_length")
        self.key = cache_key(config, device.type, [self.info[name] for name in identity])

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids, int64 (n, text_length)."""
        return self._tokenizer(list(texts)).numpy()

    def text_inputs(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """Inputs of the text tower by name: token ids, int64 (n, text_length)."""
        return {"text": self._tokenizer(list(texts))}

    def text_features(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """As TowerEncoder.text_features."""
        tokens = inputs["text"].to(self.device)
        # Padding takes two fifths of a training step. In evaluation it stays, so that the
        # embedding of a text has the same bits in every batch.
        if self.network.training and _ignores_padding(self._model):
            return _encode_without_padding(self._model, tokens)
        return self._model.encode_text(tokens)

    def image_features(self, images: Sequence[torch.Tensor]) -> torch.Tensor:
        """As TowerEncoder.image_features."""
        return self._model.encode_image(torch.stack(list(images)).to(self.device, self._dtype))

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """As TowerEncoder.token_counts."""
        of_transformers = getattr(self._tokenizer, "tokenizer", None)
        if of_transformers is not None:
            return [len(of_transformers(text)["input_ids"]) for text in texts]
        # open_clip's own tokenizer omits start and end.
        return [len(self._tokenizer.encode(text)) + 2 for text in texts]

    def prepare_image(self, image: Image.Image) -> torch.Tensor:
        """The model's input for an RGB image, float32 (3, h, w)."""
        return self._preprocess(image)


def _ignores_padding(model: Any) -> bool:
    """Whether a text's embedding is independent of the padding behind its last token.

    It is in CLIP's own text tower: attention is causal, and the end token is read.
    """
    return (
        isinstance(model, CLIP)
        and model.attn_mask is not None
        and (model.text_pool_type == "argmax")
    )


def _encode_without_padding(model: CLIP, tokens: torch.Tensor) -> torch.Tensor:
    """Unit embeddings of texts, read as far as the last token of the longest of them.

    Args:
        model: A model for which `_ignores_padding`.
        tokens: Token ids, int64 (n, text_length).

    Returns:
        Float (n, d): as `model.encode_text(tokens, normalize=True)` up to rounding.
    """
    # The end token has the highest number.
    length = int(tokens.argmax(dim=1).max()) + 1
    shortened = {
        "positional_embedding": model.positional_embedding[:length],
        "attn_mask": model.attn_mask[:length, :length],
    }
    only_texts = {"text": tokens[:, :length]}
    output = torch.func.functional_call(model, shortened, kwargs=only_texts)
    return output["text_features"] if isinstance(output, dict) else output[1]


def load_open_clip(
    name: str, device: str | None, **overrides: Unpack[ImageOptions]
) -> OpenClipEncoder:
    """Load a model of open_clip.

    Published weights determine GELU or QuickGELU, since their training is known. For a file, the
    architecture's name decides (`ViT-B-32-quickgelu`). `info["activation"]` records the activation.

    Args:
        name: `ARCHITECTURE@TAG`, `ARCHITECTURE@FILE`, `local-dir:FOLDER`, `hf-hub:OWNER/NAME` or
            `hf-hub:OWNER/NAME@REVISION`.
        device: The device that the user named; None for the best one.
        overrides: Overrides of preprocessing.

    Raises:
        UserError: The architecture or the weights do not exist or do not fit each other.
    """
    encoder = _load_named(name, device)
    encoder.override_preprocessing(overrides)
    return encoder


def _load_named(name: str, device: str | None) -> OpenClipEncoder:
    if name.startswith("local-dir:"):
        folder = Path(name.removeprefix("local-dir:")).expanduser()
        return _load_folder(folder, name, device)
    if name.startswith("hf-hub:"):
        return _load_from_hub(name, device)
    architecture, _, weights = name.partition("@")
    known = open_clip.list_models()
    if architecture not in known:
        raise UserError(
            f"Unknown open_clip architecture '{architecture}': {_suggest(architecture, known)}"
        )
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if not weights:
        choices = f", or one of {', '.join(tags)}" if tags else ""
        raise UserError(
            f"open_clip:{architecture} names no weights: add @ and a checkpoint's path{choices}."
        )
    if weights in tags:
        return _load_published(architecture, weights, device)
    return _load_file(architecture, weights, device=device, tags=tags)


def _load_from_hub(name: str, device: str | None) -> OpenClipEncoder:
    """Load `hf-hub:OWNER/NAME` or `hf-hub:OWNER/NAME@REVISION`."""
    place, _, revision = name.removeprefix("hf-hub:").partition("@")
    if not revision:
        return _load(name, None, quick_gelu=False, device=device, activation=_BY_CONFIG)
    # open_clip itself loads the newest revision.
    with loading(ModelSource(name, place, revision, "name another revision")):
        folder = Path(huggingface_hub.snapshot_download(place, revision=revision))
    return _load_folder(folder, name, device)


def _load_published(architecture: str, tag: str, device: str | None) -> OpenClipEncoder:
    """Load published weights, with the activation that they were trained with."""
    quick_gelu = bool(open_clip.get_pretrained_cfg(architecture, tag).get("quick_gelu"))
    if architecture.endswith(_QUICK_GELU) and not quick_gelu:
        raise UserError(
            f"The weights '{tag}' were trained with GELU, not QuickGELU: name the architecture "
            f"{architecture.removesuffix(_QUICK_GELU)}."
        )
    activation = "as the published weights were trained"
    return _load(architecture, tag, quick_gelu=quick_gelu, device=device, activation=activation)


def _load_file(
    architecture: str, weights: str, *, device: str | None, tags: list[str]
) -> OpenClipEncoder:
    """Load a checkpoint. tags: the published weights of the architecture."""
    file = Path(weights).expanduser()
    if not file.exists():
        advice = "give a path that exists." if "/" in weights else _suggest(weights, tags)
        raise UserError(f"There are no weights '{weights}' for {architecture}: {advice}")
    if file.is_dir():
        raise UserError(
            f"'{weights}' is a folder: give a file in it, or name the folder alone, "
            f"open_clip:local-dir:{weights}."
        )
    check_files(file)
    return _load(
        architecture,
        str(file),
        quick_gelu=architecture.endswith(_QUICK_GELU),
        device=device,
        activation="by the architecture's name; a weights file cannot tell",
        **_preprocessing(architecture, tags),
    )


def _preprocessing(architecture: str, tags: Sequence[str]) -> dict[str, Any]:
    """Preprocessing for a weights file: the settings that all published weights of the architecture
    share."""
    configs = [open_clip.get_pretrained_cfg(architecture, tag) for tag in tags]
    # A checkpoint has no preprocessing in it. Where published weights of the architecture differ,
    # nothing tells which of them was meant, and open_clip's default stays.
    shared = {}
    for name in ("mean", "std", "interpolation", "resize_mode"):
        values = {config.get(name) for config in configs}
        if len(values) == 1:
            shared[f"image_{name}"] = values.pop()
    return shared


def _suggest(name: str, known: list[str]) -> str:
    """End of an error message: the nearest name, or if there are many, how to list all names."""
    if not known:
        return "give a checkpoint's path."
    suggestion = did_you_mean(name, known)
    if suggestion.startswith("did") or len(known) <= _MOST_LISTED:
        return suggestion
    return "`python -c 'import open_clip; print(open_clip.list_pretrained())'` lists all."


def _load_folder(folder: Path, name: str, device: str | None) -> OpenClipEncoder:
    """Load a folder that open_clip wrote. name: as the user wrote it."""
    if not (folder / CONFIG).is_file():
        raise UserError(
            f"'{folder}' is not a folder with {CONFIG}; give a folder that open_clip wrote."
        )
    read_json(folder / CONFIG)  # raises UserError if it is damaged
    check_files(folder)
    encoder = _load(
        f"local-dir:{folder}", None, quick_gelu=False, device=device, activation=_BY_CONFIG
    )
    encoder.info["weights"] = name
    encoder.exposure = recorded_exposure(folder)
    return encoder


def _load(
    name: str,
    weights: str | None,
    *,
    quick_gelu: bool,
    device: str | None,
    activation: str,
    **images: Any,
) -> OpenClipEncoder:
    """Load a model with open_clip.

    Args:
        name: An architecture, or open_clip's name of a folder or a repository.
        weights: A tag or a file; None for those of the folder or repository.
        quick_gelu: Whether the activation is QuickGELU whatever the architecture says.
        device: The device that the user named.
        activation: What decided the activation, for run.json.
        images: Settings of preprocessing for open_clip.
    """
    target = best_device(device)
    loaded_from = weights or name
    if weights:
        advice = f"give a checkpoint of {name} saved by open_clip"
    else:
        advice = "give a folder that open_clip wrote"
    place = loaded_from.removeprefix("local-dir:")
    with loading(ModelSource(loaded_from, place, None, advice)):
        config = open_clip.get_model_config(name)
        check_open_clip_config(config, loaded_from)
        model, preprocess = open_clip.create_model_from_pretrained(
            name, weights, force_quick_gelu=quick_gelu, device=target, precision="fp32", **images
        )
        # open_clip passes this option on to transformers, and its own tokenizer does not take it.
        by_transformers = bool(config["text_cfg"].get("hf_tokenizer_name"))
        options = {"trust_remote_code": False} if by_transformers else {}
        tokenizer = open_clip.get_tokenizer(name, **options)
    encoder = OpenClipEncoder(
        model,
        preprocess=preprocess,
        tokenizer=tokenizer,
        config=config,
        weights=loaded_from,
        device=target,
    )
    encoder.info["activation_chosen"] = activation
    return encoder


def _describe_step(step: Any) -> str:
    """A step of the preprocessing with its settings, lists as tuples; for a plain function, its
    name."""
    if callable(step) and not isinstance(step, torch.nn.Module):
        return str(getattr(step, "__name__", type(step).__name__))
    return " ".join(str(step).split()).translate(str.maketrans("[]", "()"))


def check_open_clip_config(config: Any, name: str) -> None:
    """Raise UserError if a model's configuration asks for foreign code or names a path.

    Args:
        config: The `model_cfg` of open_clip_config.json.
        name: The model as the user named it.
    """
    parts: list[Any] = []
    if isinstance(config, Mapping):
        parts = [config.get(part) for part in ("text_cfg", "vision_cfg")]
    if not parts or not all(isinstance(part, Mapping) for part in parts):
        raise UserError(
            f"The open_clip_config.json of '{name}' has no text_cfg and vision_cfg; give one that "
            f"open_clip wrote."
        )
    text, vision = parts
    foreign = sorted(set(text.get("tokenizer_kwargs") or ()) - _TOKENIZER_ARGUMENTS)
    if foreign:
        raise UserError(
            f"The open_clip_config.json of '{name}' gives the tokenizer {', '.join(foreign)}, "
            f"which could run code or read other files; take it out of tokenizer_kwargs (allowed: "
            f"{', '.join(sorted(_TOKENIZER_ARGUMENTS))})."
        )
    named_models = (
        (text, "hf_tokenizer_name"),
        (text, "hf_model_name"),
        (vision, "timm_model_name"),
    )
    for part, key in named_models:
        value = part.get(key)
        if value and not (isinstance(value, str) and _HUB_NAME.fullmatch(value)):
            raise UserError(
                f"The open_clip_config.json of '{name}' has {key} = {value!r}, expected the plain "
                f"name of a model; correct it."
            )
    if text.get("hf_model_name"):
        _check_text_model(text["hf_model_name"], name)


def _check_text_model(text_model: str, name: str) -> None:
    """Refuse a text tower of transformers with its own code, since open_clip has no option against
    running it."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(text_model, trust_remote_code=False)
    if getattr(config, "auto_map", None):
        raise UserError(
            f"The text model '{text_model}' of '{name}' has code of its own, which is not run; "
            f"give another model."
        )


def check_plain_sizes(config: Any, name: str) -> None:
    """Raise UserError if an architecture has values other than numbers. `score train` writes only
    numbers, no names to look up.

    Args:
        config: The `model_cfg` of open_clip_config.json.
        name: The model as the user named it.
    """
    if not isinstance(config, Mapping):
        return
    for part_name, part in config.items():
        settings = part if isinstance(part, Mapping) else {part_name: part}
        for key, value in settings.items():
            numbers = value if isinstance(value, list) else [value]
            if not all(isinstance(number, int | float) for number in numbers):
                raise UserError(
                    f"The open_clip_config.json of '{name}' has {key} = {value!r}, but `score "
                    f"train` writes only "
                    f"numbers; load it as open_clip:local-dir:{name} if you trust it."
                )
