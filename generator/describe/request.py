"""Requests for the texts of a benchmark, and the checks of a request."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from generator.base.declarations import Declared, sentence_of
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_toml
from generator.base.registry import resource
from generator.describe.protocols import find_protocol, protocol_names
from generator.describe.statistics import Statistics
from generator.describe.training import KINDS, NEGATIVES, POSITIVES
from generator.holdout.holdout import Holdout
from generator.holdout.request import design_of
from generator.language.complexity import LEVELS
from generator.language.grammar import TEMPLATES


@dataclass(frozen=True)
class Request:
    """The requested texts of a benchmark.

    `protocols` are names from the registry, or None for all that the world allows; with `strict`,
    describing fails if a
    named protocol gets no item. `options` are keyword options of protocols, by name. `levels`,
    `complexity` (least and
    greatest N) and `counts` (exact numbers by O, A, R) select the cells of graded captions.
    `training` are the kinds of
    training captions; None means only captions of `statistics` if these are given, else the default
    of the design.
    `negatives` and `positives` are the kinds of texts that training captions get. `template` is
    used for all texts;
    None draws one per item. With `exposed_negatives` training negatives may show held-out bindings.
    With
    `equal_familiarity` foils are as familiar as their captions. With `known_words` foils name only
    values and
    categories of training or of their caption. Items whose id is in `without` are left out.
    """

    protocols: tuple[str, ...] | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    levels: tuple[str, ...] = tuple(LEVELS)
    complexity: tuple[int, int] = (1, 12)
    counts: Mapping[str, int] = field(default_factory=dict)
    training: tuple[str, ...] | None = None
    negatives: tuple[str, ...] = NEGATIVES
    positives: tuple[str, ...] = POSITIVES
    statistics: Statistics | None = None
    template: str | None = None
    exposed_negatives: bool = False
    equal_familiarity: bool = True
    known_words: bool = False
    seed: int = 0
    without: frozenset[str] = frozenset()
    strict: bool = True


def first_request(holdout: Holdout, exposed_negatives: bool = False) -> Request:
    """The texts of a benchmark that is made with its world, or with a new holdout."""
    design = design_of(holdout)
    texts = design.first_texts(holdout)
    return Request(
        texts.protocols,
        {name: find_protocol(name).first_options(holdout) for name in texts.protocols},
        template=texts.template,
        exposed_negatives=exposed_negatives,
        strict=False,
    )


def check_exposed(holdouts: Iterable[Holdout]) -> None:
    """Raises UserError if one of the benchmarks has no training negatives: labels and worlds
    without training have none."""
    if any(each.is_empty or design_of(each).label_captions for each in holdouts):
        raise UserError(
            "--exposed-negatives is about training negatives, which such a benchmark lacks; leave "
            "it out."
        )


def check_request(request: Request, declared_templates: Iterable[str] = ()) -> None:
    """Raises UserError for protocols, templates or kinds of training texts that do not exist or
    would give no text.

    `declared_templates`: names of the templates of the world's family, which are known in addition
    to the grammar's.
    """
    for name in request.protocols or ():
        find_protocol(name)
    for asked, known, what in (
        (request.training or (), KINDS, "kind of training captions"),
        (request.negatives, NEGATIVES, "kind of training negatives"),
        (request.positives, POSITIVES, "kind of training positives"),
    ):
        for name in asked:
            if name not in known:
                raise UserError(f"Unknown {what} '{name}'; {did_you_mean(name, list(known))}")
    captions = request.training or (() if request.statistics else KINDS)
    if request.negatives == ("neg",) and "graded" not in captions:
        raise UserError(
            "Expected graded captions with --negative neg, since only they may deny something, got "
            "none; add --train graded."
        )
    templates = [*TEMPLATES, *declared_templates]
    if request.template is not None and request.template not in templates:
        raise UserError(
            f"Unknown template '{request.template}'; {did_you_mean(request.template, templates)}"
        )


def requested_protocols(request: Request) -> list[str]:
    """The names of the requested protocols, in the order of the registry."""
    return [
        name for name in protocol_names() if request.protocols is None or name in request.protocols
    ]


_FOLDER = "scenes/presets/texts"
_GIVEN = ("self", "captioner", "cells")
"""Parameters of a protocol that are not options."""


class TextPreset(Declared):
    """A preset of texts: values for the options of `gen describe` with these names, and `options`:
    keyword options of protocols, by the protocol's name."""

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
    """Read the preset of that name, or the TOML file at that path. Raises UserError if it is
    missing or has a mistake."""
    path = resource(_FOLDER) / f"{name}.toml" if name in text_preset_names() else Path(name)
    if path.suffix != ".toml":
        raise UserError(
            f"Unknown preset '{name}'; {did_you_mean(name, text_preset_names())} A file of your "
            f"own ends in .toml."
        )
    try:
        preset = TextPreset.model_validate(read_toml(path, "preset"))
    except ValidationError as error:
        raise UserError(f"The preset {path}: {sentence_of(dict(error.errors()[0]))}") from None
    for protocol, options in preset.options.items():
        check_options(protocol, options)
    return preset


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Raises UserError for an option that the protocol `name` lacks, or for a value that the option
    does not allow."""
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
                f"The option {option} of '{name}': {error.errors()[0]['msg'].lower()}, got "
                f"{value!r}."
            ) from None
