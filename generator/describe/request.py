"""What texts a benchmark is asked to have, and the checks of that request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from generator.base.errors import UserError, did_you_mean
from generator.describe.protocols.registry import find_protocol, protocol_names
from generator.describe.training.negatives import NEGATIVES
from generator.describe.training.positives import POSITIVES
from generator.describe.training.statistics import Statistics
from generator.describe.training.texts import KINDS
from generator.holdout.holdout import Holdout
from generator.holdout.request import design_of
from generator.language.complexity import LEVELS
from generator.language.grammar import TEMPLATES


@dataclass(frozen=True)
class Request:
    """The texts that a benchmark shall have.

    `protocols` are names from the registry, or None for all that the world allows; with `strict`, describing fails if a
    named one gets no item. `options` are keyword options of protocols, by name. `levels`, `complexity` (least and
    greatest N) and `counts` (exact numbers by O, A, R) select the cells of graded captions. `training` are the kinds of
    training captions, or None for those of `statistics` alone where they are given, else for what the design trains on;
    `negatives` and `positives` are the kinds that they have. `template` is used for all texts, or None to draw one for
    each item. With `exposed_negatives` training negatives may show held-out bindings; with `equal_familiarity` foils are
    as familiar as their captions. Items whose id is in `without` are left out.
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
        exposed_negatives=exposed_negatives and not design.label_captions,  # labels have no negatives
        strict=False,
    )


def needs_equal_familiarity(request: Request, holdout: Holdout) -> bool:
    """Whether every foil must be as familiar as its caption."""
    return request.equal_familiarity and design_of(holdout).equal_familiarity(holdout)


def check_request(request: Request) -> None:
    """Raises UserError for protocols, templates or kinds of training texts that do not exist or give no text."""
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
            "Expected graded captions with --negative neg, since only they may deny something, got none; add --train graded."
        )
    if request.template is not None and request.template not in TEMPLATES:
        raise UserError(f"Unknown template '{request.template}'; {did_you_mean(request.template, list(TEMPLATES))}")


def requested_protocols(request: Request) -> list[str]:
    """The names of the requested protocols, in the order of the registry."""
    return [name for name in protocol_names() if request.protocols is None or name in request.protocols]
