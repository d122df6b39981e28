"""`TextOptions`: the options of new texts, declared once for `generator.api.describe` and
`describe_texts`, and the request that they stand for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.base.files import read_ids
from generator.describe.request import TextPreset, TextRequest, read_text_preset
from generator.describe.statistics import parse_statistics
from generator.language.complexity import parse_complexity, parse_counts


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """The options of new texts. None stands for the default, or for the value of the preset."""

    preset: str | None = None
    """Texts of a paper ("compass2026", "crepe2023", "hard-positives2024"), or a TOML file
    (docs/language.md). It sets protocols, levels, complexity and template."""
    protocols: Sequence[str] | None = None
    """The protocols to write items for; by default all that the world allows."""
    levels: Sequence[str] | None = None
    """What graded captions name: "L1" (objects), "OA" (objects and attributes), "OR" (objects and
    relations) or "OAR"; by default all."""
    complexity: str | None = None
    """The number of atoms of a graded caption, such as "3" or "1..12", the default."""
    counts: str | None = None
    """Exact numbers of objects, attributes and relations in graded captions, such as
    "O=3,A=5,R=2"."""
    training: Sequence[str] | None = None
    """Kinds of training captions: "plain", "relations", "graded", "synonyms"; by default all, and
    only labels for class lists."""
    negatives: Sequence[str] | None = None
    """Kinds of training negatives: "swap", "replace", "flip", "neg"; by default all."""
    positives: Sequence[str] | None = None
    """Kinds of training positives (captions in other words): "swap", "replace", "converse"; by
    default all."""
    captions: str | None = None
    """Statistics of training captions, such as "density=0.5,completeness=0.7,saliency=1.0". These
    captions replace the other kinds, unless `training` names some."""
    template: str | None = None
    """For all texts: one of the grammar, such as "there-is", or one that the family declares; by
    default drawn at random, the same for a caption and its foils."""
    exposed_negatives: bool = False
    """Whether training negatives may name held-out bindings."""
    any_familiarity: bool = False
    """Whether foils may be more or less familiar than their captions."""
    known_words: bool = False
    """Whether foils name only values and categories that training shows."""
    without: str | Path | None = None
    """A file with the ids of items to leave out, one a line."""
    seed: int = 0
    """Of the texts."""

    @property
    def default_suffix(self) -> str:
        """The end of the default name of a benchmark with these texts."""
        return "texts" if self.preset is None else Path(self.preset).stem


def text_request(options: TextOptions) -> TextRequest:
    """Turn the options of new texts into a request.

    Args:
        options: as the user gave them.

    Returns:
        The request, with the values of the preset. An option that is not given, or empty, keeps the
        request's default.

    Raises:
        UserError: a value cannot be read, or the preset sets an option that is given too.
    """
    request = TextRequest()
    if options.preset is not None:
        preset = _read_preset(options.preset, options)
        request = replace(request, options=preset.options)
        options = replace(
            options,
            protocols=preset.protocols,
            levels=preset.levels,
            complexity=preset.complexity,
            template=preset.template,
            any_familiarity=options.any_familiarity or not preset.equal_familiarity,
        )

    values = {
        "protocols": options.protocols,
        "levels": options.levels,
        "complexity": parse_complexity(options.complexity) if options.complexity else None,
        "counts": parse_counts(options.counts) if options.counts else None,
        "training": options.training,
        "negatives": options.negatives,
        "positives": options.positives,
        "statistics": parse_statistics(options.captions),
        "template": options.template,
        "without": read_ids(Path(options.without)) if options.without else None,
    }
    return replace(
        request,
        **_without_empty(values),
        exposed_negatives=options.exposed_negatives,
        equal_familiarity=not options.any_familiarity,
        known_words=options.known_words,
        seed=options.seed,
    )


def _read_preset(name: str, options: TextOptions) -> TextPreset:
    """Read a preset of texts. Raises UserError for an option that the preset sets itself."""
    preset = read_text_preset(name)
    set_by_preset = {
        "protocol": options.protocols,
        "level": options.levels,
        "complexity": options.complexity,
        "template": options.template,
    }
    for option, value in set_by_preset.items():
        if value is not None:
            raise UserError(f"--preset {name} sets --{option} itself; leave one of the two out.")
    return preset


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not empty, with tuples in place of lists."""
    changes = {}
    for name, value in values.items():
        if value:
            changes[name] = tuple(value) if isinstance(value, list) else value
    return changes
