"""Contamination: whether training of a model included held-out combinations or scored images of a
benchmark."""

from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

from evaluator.provenance.captions import normalised, singular
from evaluator.provenance.exposure import Exposure, is_of_stand_in, scene_names
from generator.dataset.reader import Benchmark, Images

CONTAMINATED, CLEAN, UNKNOWN, FITTED = (
    "contaminated",
    "clean",
    "unknown",
    "fitted on the run's texts",
)
_BINDINGS, _TRIPLES, _ATOMS, _IMAGES = (
    "held-out bindings",
    "held-out relation triples",
    "held-out values and objects",
    "scored images",
)
MARK = "CONTAMINATED"
_STAND_IN = "stand-in"


@dataclass(frozen=True)
class Overlap:
    """How many held-out or scored things of one sort were in training: n of `of`. what: the sort,
    in the plural."""

    what: str
    n: int
    of: int


class Trained(Protocol):
    """What is known of a model's training. exposure: what training showed, None if unknown.
    fits_texts: whether the run fits the model on its own texts. info: `trained_on` describes the
    training."""

    info: dict[str, Any]
    exposure: Exposure | None
    fits_texts: bool


def training_of(
    model: Trained, world: Images, benchmark: Benchmark, images: Collection[str]
) -> dict[str, Any]:
    """The record of a model's training for run.json: `status`, `overlaps`, a sentence `said`, and
    `stand_in`, whether the model stems from a stand-in of this project for a published model.

    The status is `contaminated`, `clean`, `unknown`, or `fitted on the run's texts`. images: the
    scored scene_ids.
    """
    if model.fits_texts:
        said = "This baseline was not trained before the run: it is fitted on the texts of the run."
        found = _record(FITTED, [], said)
    elif model.exposure is None:
        found = unknown_training()
    else:
        found = _exposed(model.exposure, find_overlaps(model.exposure, world, benchmark, images))
    return {**found, "stand_in": is_of_stand_in(model.info.get("trained_on", {}))}


def _exposed(exposure: Exposure, found: list[Overlap]) -> dict[str, Any]:
    """The record for a model with a known exposure."""
    overlaps = [each for each in found if each.of]
    if any(each.n for each in overlaps):
        return _record(CONTAMINATED, overlaps, f"{MARK}: {_listed(overlaps)} were in training.")
    if not exposure.described:
        return _record(UNKNOWN, overlaps, _said_of_captions(overlaps))
    parts = " and ".join(f"none of the {each.of:,} {each.what}" for each in overlaps)
    if not exposure.complete:
        before = "The earlier training of this model is unknown: it may have seen them."
        return _record(
            UNKNOWN, overlaps, f"{parts[:1].upper()}{parts[1:]} were in its training here. {before}"
        )
    return _record(CLEAN, overlaps, f"{parts[:1].upper()}{parts[1:]} were in training.")


def unknown_training() -> dict[str, Any]:
    """The record for a model whose training is unknown."""
    return _record(
        UNKNOWN,
        [],
        "The training data of this model is unknown: it may have seen the held-out combinations, "
        "or these images.",
    )


def find_overlaps(
    exposure: Exposure, world: Images, benchmark: Benchmark, images: Collection[str]
) -> list[Overlap]:
    """Count the held-out bindings, triples and atoms that training showed or named, and the scored
    images it had.

    Captions that were made elsewhere name a binding in words. They are not read for triples, which
    then count 0 of 0.
    """
    held = benchmark.holdout or {}
    kind = held.get("kind")
    bindings = {(value, thing) for value, thing in held.get("bindings", ())}
    for dose in held.get("doses", ()):
        # Training shows these on purpose, a counted number of times (docs/splits.md, Doses).
        bindings -= {(value, thing) for value, thing in dose["bindings"]}
    triples = {tuple(triple) for triple in held.get("triples", ())}
    related = len(triples & exposure.triples)
    absent = [("value", value) for value in held.get("absent_values", ())]
    absent += [("object", thing) for thing in held.get("absent_objects", ())]
    shown = {(value, thing) for each, value, thing in exposure.objects if each == kind}
    named = {(value, noun) for each, value, noun in exposure.objects if each is None}
    seen = sum(each in shown or _named(" ".join(each), named) for each in bindings)
    atoms = {("value", value) for value, _ in shown | named}
    atoms |= {("object", thing) for _, _, thing in exposure.objects if thing}
    atoms |= {
        ("object", thing) for which, thing in absent if which == "object" and _named(thing, named)
    }
    names = scene_names(world, images)
    return [
        Overlap(_BINDINGS, seen, len(bindings)),
        Overlap(_TRIPLES, related, len(triples) if exposure.described or related else 0),
        Overlap(_ATOMS, len(atoms.intersection(absent)), len(absent)),
        Overlap(
            _IMAGES,
            sum(not exposure.scenes.isdisjoint(each) for each in names.values()),
            len(names),
        ),
    ]


def _named(binding: str, named: Collection[tuple[str | None, str | None]]) -> bool:
    """Whether noun phrases name a binding or a multi-word object: each word before the last must be
    an attribute of the last."""
    *attributes, noun = normalised(binding.replace("_", " ")).split()
    return bool(attributes) and all(
        (attribute, singular(noun)) in named for attribute in attributes
    )


def _said_of_captions(overlaps: list[Overlap]) -> str:
    """The sentence for a corpus whose captions name nothing held out and whose files include no
    scored image."""
    of = {each.what: f"{each.of:,} {each.what}" for each in overlaps}
    found = [
        f"no noun phrase of the captions names any of the {of[what]}"
        for what in (_BINDINGS, _ATOMS)
        if what in of
    ]
    found += [f"none of the {of[_IMAGES]} is among the files"] if _IMAGES in of else []
    known = f"In its training here, {' and '.join(found)}. " if found else ""
    return (
        f"{known}The content of its images and its earlier training are unknown: it may have seen "
        f"them."
    )


def mark_of(results: Mapping[str, Any]) -> str:
    """The warning for every table of contaminated results; "" for other results."""
    training = results.get("training") or unknown_training()
    return str(training["said"]) if training["status"] == CONTAMINATED else ""


def warning_of(results: Mapping[str, Any]) -> str:
    """The warnings for every table: contamination, and what texts alone reveal; "" for neither."""
    revealed = "; ".join(results.get("revealed") or ())
    said = f"{revealed[0].upper()}{revealed[1:]}." if revealed else ""
    return " ".join(filter(None, [mark_of(results), said]))


def is_stand_in(results: Mapping[str, Any]) -> bool:
    """Whether the results are of a stand-in for a published model (`score train pretrain`),
    whatever its name."""
    return bool((results.get("training") or {}).get("stand_in"))


def marked_today(record: dict[str, Any], info: Mapping[str, Any]) -> dict[str, Any]:
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
    marked = copy(record)  # a copy of a file's record still names the file where a key is missing
    marked["training"] = {**record["training"], "stand_in": is_of_stand_in(trained)}
    return marked


def marked(name: str, results: Mapping[str, Any]) -> str:
    """Append the marks of the results to a name, of the model or of one of its numbers.

    >>> marked("CLIP", {"training": {"status": "contaminated", "said": "…", "stand_in": True}})
    'CLIP (CONTAMINATED, stand-in)'
    """
    said = [MARK] * bool(mark_of(results)) + [_STAND_IN] * is_stand_in(results)
    return f"{name} ({', '.join(said)})" if said else name


def marks_said(results: Mapping[str, Any]) -> str:
    """The marks of the results as full sentences, shown with every number; "" without marks."""
    ours = "A small network of this project, a stand-in for a published model."
    return " ".join([*filter(None, [mark_of(results)]), *[ours] * is_stand_in(results)])


def training_said(results: dict[str, Any]) -> str:
    """The sentence about the training of the model that has these results."""
    return str((results.get("training") or unknown_training())["said"])


def _listed(overlaps: list[Overlap]) -> str:
    return " and ".join(f"{each.n:,} of {each.of:,} {each.what}" for each in overlaps if each.n)


def _record(status: str, overlaps: list[Overlap], said: str) -> dict[str, Any]:
    return {"status": status, "overlaps": [vars(each) for each in overlaps], "said": said}
