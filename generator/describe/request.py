"""Requests for the texts of a benchmark, and the checks of a request."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from generator.base.declarations import Declared, sentence_of
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_toml
from generator.base.registry import resource
from generator.describe.protocols import find_protocol, protocol_names
from generator.describe.statistics import CaptionStatistics
from generator.describe.training import KINDS, NEGATIVES, POSITIVES
from generator.holdout.holdout import Holdout
from generator.holdout.request import design_of
from generator.language.complexity import LEVELS
from generator.language.templates import TEMPLATES
from generator.vocabulary.schema import Vocabulary


@dataclass(frozen=True)
class TextRequest:
    """The requested texts of a benchmark."""

    protocols: tuple[str, ...] | None = None
    """Names from the registry; None for all that the world allows."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Keyword options of protocols, by the protocol's name."""
    levels: tuple[str, ...] = tuple(LEVELS)
    """The levels of graded captions."""
    complexity: tuple[int, int] = (1, 12)
    """Least and greatest N (number of atoms) of graded captions."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Exact numbers of objects (O), attributes (A) and relations (R) in graded captions; a letter
    that is missing is free."""
    training: tuple[str, ...] | None = None
    """The kinds of training captions; None for only those of `statistics` if these are given, else
    the default of the design."""
    negatives: tuple[str, ...] = NEGATIVES
    """The kinds of negatives that training captions get."""
    positives: tuple[str, ...] = POSITIVES
    """The kinds of positives that training captions get."""
    statistics: CaptionStatistics | None = None
    """Statistics of the training captions; None for no such captions."""
    template: str | None = None
    """The template of all texts; None draws one per item."""
    exposed_negatives: bool = False
    """Whether training negatives may show held-out bindings."""
    equal_familiarity: bool = True
    """Whether foils are as familiar as their captions."""
    known_words: bool = False
    """Whether foils name only values and categories of training or of their caption."""
    seed: int = 0
    """Seed of the texts."""
    without: frozenset[str] = frozenset()
    """Ids of items to leave out."""
    strict: bool = True
    """Whether describing fails if a named protocol gets no item."""


LADDER_TEXTS = TextRequest(("steps",), template="a-and-a")
"""The texts of a world of ladders. One template for all of them, since a template that can say two
objects but not nine would change with the length of captions."""


def first_request(
    holdout: Holdout, exposed_negatives: bool = False, vocabulary: Vocabulary | None = None
) -> TextRequest:
    """Choose the texts of a benchmark that is made with its world, or with a new holdout.

    Args:
        holdout: What training never shows.
        exposed_negatives: Whether training negatives may name it.
        vocabulary: Of the world; a family with relations of both frames also gets `frames`.

    Returns:
        The request.
    """
    texts = design_of(holdout).first_texts(holdout)
    protocols = texts.protocols
    if vocabulary is not None and vocabulary.axes_of_both_frames and "pairs" in protocols:
        protocols = (*protocols, "frames")
    return TextRequest(
        protocols,
        {name: find_protocol(name).first_options(holdout) for name in protocols},
        template=texts.template,
        exposed_negatives=exposed_negatives,
        strict=False,
    )


def check_exposed(holdouts: Iterable[Holdout]) -> None:
    """Check that each benchmark has training negatives.

    Raises:
        UserError: one has none: labels and worlds without training have no negatives.
    """
    for holdout in holdouts:
        if holdout.is_empty or design_of(holdout).label_captions:
            raise UserError(
                "--exposed-negatives is about training negatives, which such a benchmark lacks; "
                "leave it out."
            )


def check_request(request: TextRequest, declared_templates: Iterable[str] = ()) -> None:
    """Check that the protocols, templates and kinds of training texts exist and give texts.

    Args:
        request: the request.
        declared_templates: names of the templates of the world's family, which are known in
            addition to the grammar's.

    Raises:
        UserError: a name is unknown, or no training caption may have the requested negatives.
    """
    for name in request.protocols or ():
        find_protocol(name)
    _check_names(request.training or (), KINDS, "kind of training captions")
    _check_names(request.negatives, NEGATIVES, "kind of training negatives")
    _check_names(request.positives, POSITIVES, "kind of training positives")

    captions = request.training or (() if request.statistics else KINDS)
    if request.negatives == ("neg",) and "graded" not in captions:
        raise UserError(
            "Expected graded captions with --negative neg, since only they may deny something, got "
            "none; add --train graded."
        )
    if request.template is not None:
        _check_names((request.template,), (*TEMPLATES, *declared_templates), "template")


def _check_names(names: Iterable[str], known: Sequence[str], what: str) -> None:
    """Raise UserError if a name is not known; `what` says what it is a name of."""
    for name in names:
        if name not in known:
            raise UserError(f"Unknown {what} '{name}'; {did_you_mean(name, list(known))}")


def requested_protocols(request: TextRequest) -> list[str]:
    """The names of the requested protocols, in the order of the registry."""
    if request.protocols is None:
        return list(protocol_names())
    return [name for name in protocol_names() if name in request.protocols]


_PRESETS_FOLDER = "scenes/presets/texts"
_NOT_OPTIONS = ("self", "captioner", "cells")
"""Parameters of a protocol that are not options."""


class TextPreset(Declared):
    """A preset of texts: values of the options of `gen describe` with the same names."""

    about: str
    """What the preset writes and whose paper it follows; `gen list` prints its first sentence."""
    protocols: Annotated[tuple[str, ...], Field(min_length=1)]
    """The protocols to write items for; at least one."""
    levels: tuple[str, ...] = tuple(LEVELS)
    """What graded captions name, such as "OA"; by default all levels."""
    complexity: str = "1..12"
    """The number of atoms of a graded caption: a number or a range."""
    template: str | None = None
    """None draws a template per item."""
    equal_familiarity: bool = True
    """Whether foils are as familiar as their captions (not --any-familiarity)."""
    options: Mapping[str, dict[str, Any]] = Field(default_factory=dict)
    """Keyword options of protocols, by the protocol's name."""


def text_preset_names() -> list[str]:
    """Names of the presets of texts that are shipped."""
    return sorted(path.stem for path in resource(_PRESETS_FOLDER).glob("*.toml"))


def read_text_preset(name: str) -> TextPreset:
    """Read the preset of that name, or the TOML file at that path.

    Raises:
        UserError: it is missing or has a mistake.
    """
    path = Path(name)
    if name in text_preset_names():
        path = resource(_PRESETS_FOLDER) / f"{name}.toml"
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
    """Check keyword options of a protocol by the annotations of its constructor.

    Args:
        name: the name of the protocol.
        options: the options.

    Raises:
        UserError: the protocol lacks an option, or a value has another type.
    """
    parameters = inspect.signature(find_protocol(name)).parameters
    known = {}
    for option, parameter in parameters.items():
        if option not in _NOT_OPTIONS:
            known[option] = parameter.annotation
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
