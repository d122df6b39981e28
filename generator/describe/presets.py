"""Texts as a paper asks for them: a preset names protocols and their options (scenes/presets/texts/NAME.toml)."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from generator.base.declarations import Declared, sentence_of
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_toml
from generator.base.registry import resource
from generator.describe.protocols.registry import find_protocol
from generator.language.complexity import LEVELS

_FOLDER = "scenes/presets/texts"
_GIVEN = ("self", "captioner", "cells")
"""Parameters of a protocol that are not options."""


class TextPreset(Declared):
    """The options of `gen describe` of these names, and `options`: keyword options of protocols, by the protocol's name."""

    about: str
    protocols: Annotated[tuple[str, ...], Field(min_length=1)]
    levels: tuple[str, ...] = tuple(LEVELS)
    complexity: str = "1..12"
    template: str | None = None
    equal_familiarity: bool = True
    options: Mapping[str, dict[str, Any]] = Field(default_factory=dict)


def text_preset_names() -> list[str]:
    """Names of the presets of texts that are shipped."""
    return sorted(path.stem for path in resource(_FOLDER).glob("*.toml"))


def read_text_preset(name: str) -> TextPreset:
    """The preset of that name, or of the TOML file at that path. Raises UserError where it is missing or has a mistake."""
    path = resource(_FOLDER) / f"{name}.toml" if name in text_preset_names() else Path(name)
    if path.suffix != ".toml":
        raise UserError(
            f"Unknown preset '{name}'; {did_you_mean(name, text_preset_names())} A file of your own ends in .toml."
        )
    try:
        preset = TextPreset.model_validate(read_toml(path, "preset"))
    except ValidationError as error:
        raise UserError(f"The preset {path}: {sentence_of(dict(error.errors()[0]))}") from None
    for protocol, options in preset.options.items():
        check_options(protocol, options)
    return preset


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Raises UserError for an option that the protocol `name` lacks, or a value that the option cannot have."""
    known = {
        option: parameter.annotation
        for option, parameter in inspect.signature(find_protocol(name)).parameters.items()
        if option not in _GIVEN
    }
    for option, value in options.items():
        if option not in known:
            instead = did_you_mean(option, list(known)) if known else "it has none; leave it out."
            raise UserError(f"The protocol '{name}' has no option '{option}'; {instead}")
        try:
            TypeAdapter(known[option]).validate_python(value, strict=True)
        except ValidationError as error:
            raise UserError(
                f"The option {option} of '{name}': {error.errors()[0]['msg'].lower()}, got {value!r}."
            ) from None
