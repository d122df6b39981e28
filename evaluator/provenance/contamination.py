"""Contamination: whether training of a model included held-out combinations or scored images of a
benchmark."""

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from evaluator.provenance.captions import normalised, singular
from evaluator.provenance.exposure import Exposure, is_of_stand_in, scene_names
from generator.dataset.reader import Benchmark, Images

CONTAMINATED = "contaminated"
CLEAN = "clean"
UNKNOWN = "unknown"
FITTED = "fitted on the run's texts"
"""The statuses of a model's training with respect to a benchmark."""
_BINDINGS = "held-out bindings"
_TRIPLES = "held-out relation triples"
_ATOMS = "held-out values and objects"
_IMAGES = "scored images"
MARK = "CONTAMINATED"
_STAND_IN = "stand-in"
Results = TypeVar("Results", bound=dict[str, Any])
"""The contents of run.json or results.json."""


@dataclass(frozen=True)
class Overlap:
    """How much of what a benchmark holds out or scores was in training."""

    what: str
    """The sort of what is counted, in the plural, such as "held-out bindings"."""
    n: int
    """How many were in training."""
    of: int
    """How many the benchmark has."""


class Trained(Protocol):
    """What is known of a model's training."""

    info: dict[str, Any]
    """Its entry `trained_on` describes the training."""
    exposure: Exposure | None
    """What training showed; None if unknown."""
    fits_texts: bool
    """Whether the run fits the model on its own texts."""


def training_of(
    model: Trained, world: Images, *, benchmark: Benchmark, images: Collection[str]
) -> dict[str, Any]:
    """Make the record of a model's training for run.json.

    Args:
        model: The model.
        world: The images of the benchmark.
        benchmark: The benchmark that is scored.
        images: The scene_ids that are scored.

    Returns:
        `status` (`contaminated`, `clean`, `unknown`, or `fitted on the run's texts`), `overlaps`,
        `sentence`, which says the status in words, and `stand_in`, whether the model stems from a
        stand-in of this project for a published model.
    """
    if model.fits_texts:
        sentence = (
            "This baseline was not trained before the run: it is fitted on the texts of the run."
        )
        record = _record(FITTED, [], sentence)
    elif model.exposure is None:
        record = unknown_training()
    else:
        overlaps = find_overlaps(model.exposure, world, benchmark=benchmark, images=images)
        record = _exposed(model.exposure, overlaps)
    return {**record, "stand_in": is_of_stand_in(model.info.get("trained_on", {}))}


def _exposed(exposure: Exposure, overlaps: list[Overlap]) -> dict[str, Any]:
    """The record for a model with a known exposure."""
    # A benchmark without relation triples says nothing about them.
    overlaps = [overlap for overlap in overlaps if overlap.of]
    if any(overlap.n for overlap in overlaps):
        sentence = f"{MARK}: {_list_overlaps(overlaps)} were in training."
        return _record(CONTAMINATED, overlaps, sentence)
    if not exposure.described:
        return _record(UNKNOWN, overlaps, _describe_captions(overlaps))
    parts = " and ".join(f"none of the {overlap.of:,} {overlap.what}" for overlap in overlaps)
    parts = f"{parts[:1].upper()}{parts[1:]}"
    if not exposure.complete:
        before = "The earlier training of this model is unknown: it may have seen them."
        return _record(UNKNOWN, overlaps, f"{parts} were in its training here. {before}")
    return _record(CLEAN, overlaps, f"{parts} were in training.")


def unknown_training() -> dict[str, Any]:
    """The record for a model whose training is unknown."""
    return _record(
        UNKNOWN,
        [],
        "The training data of this model is unknown: it may have seen the held-out combinations, "
        "or these images.",
    )


def find_overlaps(
    exposure: Exposure, world: Images, *, benchmark: Benchmark, images: Collection[str]
) -> list[Overlap]:
    """Count what training showed or named of what a benchmark holds out, and of the scored images.

    Captions that were made elsewhere name a binding in words. They are not read for triples, which
    then count 0 of 0.

    Args:
        exposure: What training showed.
        world: The images of the benchmark.
        benchmark: The benchmark that is scored.
        images: The scene_ids that are scored.
    """
    holdout = benchmark.holdout or {}
    kind = holdout.get("kind")
    bindings = {(value, category) for value, category in holdout.get("bindings", ())}
    for dose in holdout.get("doses", ()):
        # Training shows these on purpose, a counted number of times (docs/splits.md, Doses).
        bindings -= {(value, category) for value, category in dose["bindings"]}
    triples = {tuple(triple) for triple in holdout.get("triples", ())}
    absent_atoms = [("value", value) for value in holdout.get("absent_values", ())]
    absent_atoms += [("object", category) for category in holdout.get("absent_objects", ())]

    trained_pairs = set()
    # Captions from elsewhere do not say of which kind an attribute is.
    captioned_pairs = set()
    trained_atoms = set()
    for trained_kind, value, category in exposure.objects:
        if trained_kind == kind:
            trained_pairs.add((value, category))
            trained_atoms.add(("value", value))
        if trained_kind is None:
            captioned_pairs.add((value, category))
            trained_atoms.add(("value", value))
        if category:
            trained_atoms.add(("object", category))
    for sort, name in absent_atoms:
        if sort == "object" and _is_named(name, captioned_pairs):
            trained_atoms.add((sort, name))

    n_bindings = 0
    for binding in bindings:
        n_bindings += binding in trained_pairs or _is_named(" ".join(binding), captioned_pairs)
    n_triples = len(triples & exposure.triples)
    triples_are_known = exposure.described or n_triples > 0
    n_images = 0
    names_of_scenes = scene_names(world, images)
    for names in names_of_scenes.values():
        n_images += not exposure.scenes.isdisjoint(names)
    return [
        Overlap(_BINDINGS, n_bindings, len(bindings)),
        Overlap(_TRIPLES, n_triples, len(triples) if triples_are_known else 0),
        Overlap(_ATOMS, len(trained_atoms.intersection(absent_atoms)), len(absent_atoms)),
        Overlap(_IMAGES, n_images, len(names_of_scenes)),
    ]


def _is_named(words: str, captioned_pairs: Collection[tuple[str | None, str | None]]) -> bool:
    """Whether noun phrases name a binding, or an object of several words: each word before the last
    must be an attribute of the last."""
    *attributes, noun = normalised(words.replace("_", " ")).split()
    if not attributes:
        return False
    return all((attribute, singular(noun)) in captioned_pairs for attribute in attributes)


def _describe_captions(overlaps: list[Overlap]) -> str:
    """The sentence for a corpus whose captions name nothing held out and whose files include no
    scored image."""
    count_of = {overlap.what: f"{overlap.of:,} {overlap.what}" for overlap in overlaps}
    clauses = []
    for what in (_BINDINGS, _ATOMS):
        if what in count_of:
            clauses.append(f"no noun phrase of the captions names any of the {count_of[what]}")
    if _IMAGES in count_of:
        clauses.append(f"none of the {count_of[_IMAGES]} is among the files")
    here = f"In its training here, {' and '.join(clauses)}. " if clauses else ""
    return (
        f"{here}The content of its images and its earlier training are unknown: it may have seen "
        f"them."
    )


def mark_of(results: Mapping[str, Any]) -> str:
    """The warning for every table of contaminated results; "" for other results."""
    training = results.get("training") or unknown_training()
    return str(training["sentence"]) if training["status"] == CONTAMINATED else ""


def warning_of(results: Mapping[str, Any]) -> str:
    """The warnings for every table: contamination, and what texts alone reveal; "" for neither."""
    revealed = "; ".join(results.get("revealed") or ())
    sentence = f"{revealed[0].upper()}{revealed[1:]}." if revealed else ""
    return " ".join(filter(None, [mark_of(results), sentence]))


def is_stand_in(results: Mapping[str, Any]) -> bool:
    """Whether the results are of a stand-in for a published model (`score train pretrain`),
    whatever its name."""
    return bool((results.get("training") or {}).get("stand_in"))


def marked_today(record: Results, info: Mapping[str, Any]) -> Results:
    """The contents of run.json or results.json, with the mark of a stand-in by today's rule.

    Runs of before say of every model that was trained here that it is a stand-in. run.json has how
    the model was trained, which decides it.

    Args:
        record: The contents, with `training`.
        info: The entry `info` of run.json.
    """
    trained = info.get("trained_on")
    if not trained or not record.get("training"):
        return record
    # A copy of a file's record still names the file where a key is missing.
    renewed = copy(record)
    renewed["training"] = {**record["training"], "stand_in": is_of_stand_in(trained)}
    return renewed


def marked(name: str, results: Mapping[str, Any]) -> str:
    """Append the marks of the results to a name, of the model or of one of its numbers.

    >>> marked("CLIP", {"training": {"status": "contaminated", "sentence": "…", "stand_in": True}})
    'CLIP (CONTAMINATED, stand-in)'
    """
    marks = []
    if mark_of(results):
        marks.append(MARK)
    if is_stand_in(results):
        marks.append(_STAND_IN)
    return f"{name} ({', '.join(marks)})" if marks else name


def describe_marks(results: Mapping[str, Any]) -> str:
    """The marks of the results as full sentences, shown with every number; "" without marks."""
    sentences = []
    if mark_of(results):
        sentences.append(mark_of(results))
    if is_stand_in(results):
        sentences.append("A small network of this project, a stand-in for a published model.")
    return " ".join(sentences)


def describe_training(results: dict[str, Any]) -> str:
    """The sentence about the training of the model that has these results."""
    return str((results.get("training") or unknown_training())["sentence"])


def _list_overlaps(overlaps: list[Overlap]) -> str:
    parts = [f"{overlap.n:,} of {overlap.of:,} {overlap.what}" for overlap in overlaps if overlap.n]
    return " and ".join(parts)


def _record(status: str, overlaps: list[Overlap], sentence: str) -> dict[str, Any]:
    entries = [vars(overlap) for overlap in overlaps]
    return {"status": status, "overlaps": entries, "sentence": sentence}
