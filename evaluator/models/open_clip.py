"""`open_clip:` models: any architecture and weights of open_clip, local checkpoints and folders,
and the Hub.

`open_clip:ARCHITECTURE@TAG`, `open_clip:ARCHITECTURE@/path/to/checkpoint`,
`open_clip:local-dir:/path/to/folder`,
`open_clip:hf-hub:owner/name`, `open_clip:hf-hub:owner/name@revision`.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import open_clip
import torch
from open_clip.model import CLIP
from PIL import Image

from evaluator.models.bases import TowerEncoder
from evaluator.models.contracts import cache_key
from evaluator.models.hub import Source, check_files, loading
from evaluator.models.network import best_device, describe_network
from evaluator.provenance.exposure import recorded_exposure
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_json

CONFIG = "open_clip_config.json"
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
# allowed arguments of open_clip's tokenizers; others are passed on to transformers, or name a file
# to read
_TOKENIZER = {"clean", "strip_sep_token", "language", "additional_special_tokens", "reduction_mask"}
_QUICK = "-quickgelu"
_FEW = 8
_OWN = "by the model's own configuration"


class OpenClipEncoder(TowerEncoder):
    """A model of open_clip as a DualEncoder, in the precision of its weights."""

    def __init__(
        self,
        model: Any,
        preprocess: Any,
        tokenizer: Any,
        config: dict[str, Any],
        weights: str,
        device: torch.device,
    ):
        self._model = self.network = model.eval()
        self._preprocess, self._tokenizer = preprocess, tokenizer
        self.config, self.device, self._dtype = config, device, next(model.parameters()).dtype
        self.info = describe_network(weights, model, device) | {
            "preprocessing": " → ".join(
                _describe(step) for step in getattr(preprocess, "transforms", (preprocess,))
            ),
            "text_length": int(tokenizer.context_length),
        }
        decides = ("weights_sha256", "preprocessing", "activation", "text_length")
        # with the configuration, since tensors show neither the number of heads nor the tokenizer
        # of training
        self.key = cache_key(config, device.type, [self.info[name] for name in decides])

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
        read = getattr(
            self._tokenizer, "tokenizer", None
        )  # of transformers; open_clip's own omits start and end
        return [
            len(self._tokenizer.encode(text)) + 2 if read is None else len(read(text)["input_ids"])
            for text in texts
        ]

    def prepare(self, image: Image.Image) -> torch.Tensor:
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


def load_open_clip(name: str, device: str | None) -> OpenClipEncoder:
    """Load `ARCHITECTURE@TAG`, `ARCHITECTURE@FILE`, `local-dir:FOLDER`, `hf-hub:OWNER/NAME` or
    `hf-hub:OWNER/NAME@REVISION`.

    Published weights determine GELU or QuickGELU, since their training is known. For a file, the
    architecture's name decides (`ViT-B-32-quickgelu`). `info["activation"]` records the activation.
    Raises UserError when the architecture or the weights do not exist or do not fit each other.
    """
    if name.startswith("local-dir:"):
        return _load_folder(Path(name.removeprefix("local-dir:")).expanduser(), name, device)
    if name.startswith("hf-hub:"):
        place, _, revision = name.removeprefix("hf-hub:").partition("@")
        if not revision:
            return _load(name, None, False, device, _OWN)
        with loading(
            Source(name, place, revision, "name another revision")
        ):  # open_clip itself loads the newest one
            folder = Path(huggingface_hub.snapshot_download(place, revision=revision))
        return _load_folder(folder, name, device)
    architecture, _, weights = name.partition("@")
    if architecture not in (known := open_clip.list_models()):
        raise UserError(
            f"Unknown open_clip architecture '{architecture}': {_suggest(architecture, known)}"
        )
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if not weights:
        some = f", or one of {', '.join(tags)}" if tags else ""
        raise UserError(
            f"open_clip:{architecture} names no weights: add @ and a checkpoint's path{some}."
        )
    quick = architecture.endswith(_QUICK)
    if weights in tags:
        trained_quick = bool(open_clip.get_pretrained_cfg(architecture, weights).get("quick_gelu"))
        if quick and not trained_quick:
            raise UserError(
                f"The weights '{weights}' were trained with GELU, not QuickGELU: name the "
                f"architecture {architecture.removesuffix(_QUICK)}."
            )
        return _load(
            architecture, weights, trained_quick, device, "as the published weights were trained"
        )
    file = Path(weights).expanduser()
    if not file.exists():
        mend = "give a path that exists." if "/" in weights else _suggest(weights, tags)
        raise UserError(f"There are no weights '{weights}' for {architecture}: {mend}")
    if file.is_dir():
        raise UserError(
            f"'{weights}' is a folder: give a file in it, or name the folder alone, "
            f"open_clip:local-dir:{weights}."
        )
    check_files(file)
    as_named = "by the architecture's name; a weights file cannot tell"
    return _load(
        architecture, str(file), quick, device, as_named, **_preprocessing(architecture, tags)
    )


def _preprocessing(architecture: str, tags: Sequence[str]) -> dict[str, Any]:
    """Preprocessing for a weights file: the settings that all published weights of the architecture
    share."""
    known = [open_clip.get_pretrained_cfg(architecture, tag) for tag in tags]
    settings = {
        name: {each.get(name) for each in known}
        for name in ("mean", "std", "interpolation", "resize_mode")
    }
    return {f"image_{name}": found.pop() for name, found in settings.items() if len(found) == 1}


def _suggest(name: str, known: list[str]) -> str:
    """End of an error message: the nearest name, or if there are many, how to list all names."""
    if not known:
        return "give a checkpoint's path."
    near = did_you_mean(name, known)
    list_all = "`python -c 'import open_clip; print(open_clip.list_pretrained())'` lists all."
    return list_all if len(known) > _FEW and not near.startswith("did") else near


def _load_folder(folder: Path, given: str, device: str | None) -> OpenClipEncoder:
    if not (folder / CONFIG).is_file():
        raise UserError(
            f"'{folder}' is no folder with {CONFIG}; give a folder that open_clip wrote."
        )
    read_json(folder / CONFIG)  # raises UserError if it is damaged
    check_files(folder)
    encoder = _load(f"local-dir:{folder}", None, False, device, _OWN)
    encoder.info["weights"] = given
    encoder.exposure = recorded_exposure(folder)
    return encoder


def _load(
    name: str, weights: str | None, quick: bool, device: str | None, activation: str, **images: Any
) -> OpenClipEncoder:
    target = best_device(device)
    given = weights or name
    mend = (
        f"give a checkpoint of {name} saved by open_clip"
        if weights
        else "give a folder that open_clip wrote"
    )
    with loading(Source(given, given.removeprefix("local-dir:"), None, mend)):
        config = open_clip.get_model_config(name)
        check_open_clip_config(config, given)
        model, preprocess = open_clip.create_model_from_pretrained(
            name, weights, force_quick_gelu=quick, device=target, precision="fp32", **images
        )
        by_transformers = bool(config["text_cfg"].get("hf_tokenizer_name"))
        tokenizer = open_clip.get_tokenizer(
            name, **({"trust_remote_code": False} if by_transformers else {})
        )
    encoder = OpenClipEncoder(model, preprocess, tokenizer, config, given, target)
    encoder.info["activation_chosen"] = activation
    return encoder


def _describe(step: Any) -> str:
    """A step of the preprocessing with its settings, lists as tuples; for a plain function, its
    name."""
    if callable(step) and not isinstance(step, torch.nn.Module):
        return str(getattr(step, "__name__", type(step).__name__))
    return " ".join(str(step).split()).translate(str.maketrans("[]", "()"))


def check_open_clip_config(config: Any, given: str) -> None:
    """Raise UserError if a model's configuration asks for foreign code or names a path.

    `config` is the `model_cfg` of open_clip_config.json, `given` the model as the user named it.
    """
    parts: list[Any] = (
        [config.get(name) for name in ("text_cfg", "vision_cfg")]
        if isinstance(config, Mapping)
        else []
    )
    if not parts or not all(isinstance(part, Mapping) for part in parts):
        raise UserError(
            f"The open_clip_config.json of '{given}' has no text_cfg and vision_cfg; give one that "
            f"open_clip wrote."
        )
    text, vision = parts
    if foreign := sorted({*(text.get("tokenizer_kwargs") or ())} - _TOKENIZER):
        raise UserError(
            f"The open_clip_config.json of '{given}' gives the tokenizer {', '.join(foreign)}, "
            f"which could run code or read other files; take it out of tokenizer_kwargs (allowed: "
            f"{', '.join(sorted(_TOKENIZER))})."
        )
    for part, key in (
        (text, "hf_tokenizer_name"),
        (text, "hf_model_name"),
        (vision, "timm_model_name"),
    ):
        name = part.get(key)
        if name and not (isinstance(name, str) and _HUB_NAME.fullmatch(name)):
            raise UserError(
                f"The open_clip_config.json of '{given}' has {key} = {name!r}, expected the plain "
                f"name of a model; correct it."
            )
    if text.get("hf_model_name"):
        _check_text_model(text["hf_model_name"], given)


def _check_text_model(name: str, given: str) -> None:
    """Refuse a text tower of transformers with its own code, since open_clip has no option against
    running it."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False)
    if getattr(config, "auto_map", None):
        raise UserError(
            f"The text model '{name}' of '{given}' has code of its own, which is not run; give "
            f"another model."
        )


def check_plain_sizes(config: Any, given: str) -> None:
    """Raise UserError if an architecture has values other than numbers. `score train` writes only
    numbers, no names to look up."""
    for name, part in config.items() if isinstance(config, Mapping) else ():
        for key, value in (part if isinstance(part, Mapping) else {name: part}).items():
            if not all(
                isinstance(each, int | float)
                for each in (value if isinstance(value, list) else [value])
            ):
                raise UserError(
                    f"The open_clip_config.json of '{given}' has {key} = {value!r}, but `score "
                    f"train` writes only "
                    f"numbers; load it as open_clip:local-dir:{given} if you trust it."
                )
