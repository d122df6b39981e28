"""Refuses configurations of open_clip that lead to foreign code or elsewhere: a folder or repository of someone else's holds any."""

import re
from collections.abc import Mapping
from typing import Any

from generator.base.errors import UserError

CONFIG = "open_clip_config.json"
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
# what tokenizers of open_clip may be given; anything else is handed on to transformers, or names a file to read
_TOKENIZER = {"clean", "strip_sep_token", "language", "additional_special_tokens", "reduction_mask"}


def check_open_clip_config(config: Any, given: str) -> None:
    """Raise UserError where a model's configuration asks for foreign code or names a path.

    `config` is the `model_cfg` of open_clip_config.json, `given` what the user named.
    """
    parts: list[Any] = [config.get(name) for name in ("text_cfg", "vision_cfg")] if isinstance(config, Mapping) else []
    if not parts or not all(isinstance(part, Mapping) for part in parts):
        raise UserError(
            f"The open_clip_config.json of '{given}' has no text_cfg and vision_cfg; give a folder that open_clip wrote."
        )
    text, vision = parts
    options = text.get("tokenizer_kwargs") or {}
    if not isinstance(options, Mapping) or (foreign := sorted(map(str, options.keys() - _TOKENIZER))):
        named = ", ".join(foreign) if isinstance(options, Mapping) else repr(options)
        raise UserError(
            f"The open_clip_config.json of '{given}' gives the tokenizer {named}, which could run code or read other files; "
            f"take it out of tokenizer_kwargs (allowed: {', '.join(sorted(_TOKENIZER))})."
        )
    for part, key in ((text, "hf_tokenizer_name"), (text, "hf_model_name"), (vision, "timm_model_name")):
        name = part.get(key)
        if name and not (isinstance(name, str) and _HUB_NAME.fullmatch(name)):
            raise UserError(
                f"The open_clip_config.json of '{given}' has {key} = {name!r}, expected the plain name of a model; correct it."
            )
    if text.get("hf_model_name"):
        _check_text_model(text["hf_model_name"], given)


def _check_text_model(name: str, given: str) -> None:
    """Refuse a text tower of transformers that brings code of its own, since open_clip cannot be told not to run it."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False)
    if getattr(config, "auto_map", None):
        raise UserError(
            f"The text model '{name}' of '{given}' has code of its own, which is not run; give another model."
        )


def check_plain_sizes(config: Any, given: str) -> None:
    """Raise UserError where an architecture has more than numbers, as `score train` writes it: no name, nothing to look up."""
    found = config if isinstance(config, Mapping) else {}
    towers = [each for each in found.values() if isinstance(each, Mapping)]
    for part in ({key: each for key, each in found.items() if not isinstance(each, Mapping)}, *towers):
        for key, value in part.items():
            if not all(isinstance(each, int | float) for each in (value if isinstance(value, list) else [value])):
                raise UserError(
                    f"The open_clip_config.json of '{given}' has {key} = {value!r}, and `score train` writes numbers alone; load it as "
                    f"open_clip:local-dir:{given} if you trust it."
                )
