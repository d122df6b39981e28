"""Texts, candidates and items: what protocols write, and what becomes the rows of a benchmark."""

from dataclasses import dataclass

from generator.language.form import Form
from generator.language.grammar import Wording


@dataclass(frozen=True)
class Text:
    """A form and how it is said: a template, and synonyms that replace the usual words."""

    form: Form
    template: str
    wording: Wording = ()


@dataclass(frozen=True)
class Candidate:
    """A text as a candidate of an item.

    `slot` is its role in the protocol: c for a caption, n for a foil (docs/dataset.md lists all). A false candidate has
    a `kind` of negative, what was `changed`, and `of` which text. With `of_twin` the candidate is judged against the
    image of the scene's twin.
    """

    text: Text
    slot: str
    truth: bool
    kind: str | None = None
    changed: tuple[str, ...] = ()
    of: Text | None = None
    of_twin: bool = False


@dataclass(frozen=True)
class Item:
    """One question to a model about a scene, or one training example."""

    protocol: str
    kind: str
    skill: str | None
    candidates: tuple[Candidate, ...]
    pool: str | None = None
