"""Reads a holdout from a holdout.json: that of a benchmark, or one that a user wrote by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_json
from generator.dataset.own_frames import other_triples
from generator.dataset.records import HoldoutRecord
from generator.holdout.blocks import (
    check_leaves_seen,
    check_own_frames,
    needs_asymmetric_splits,
)
from generator.holdout.designs import find_design
from generator.holdout.holdout import Holdout, check_fits, closed
from generator.vocabulary.schema import Vocabulary


def is_holdout_file(spec: str) -> bool:
    """Return whether a value of `--holdout` is the path of a holdout.json."""
    return spec.strip().endswith(".json")


def read_holdout(path: Path, vocabulary: Vocabulary) -> Holdout:
    """Read a holdout.json.

    The file needs `kind`, `category` and at least one of `bindings`, `triples`, `absent_values` and
    `absent_objects`; everything else follows from these (docs/choose.md).

    Args:
        path: The file.
        vocabulary: The vocabulary that must have all of its names.

    Returns:
        The holdout, with the keys that the file leaves out.

    Raises:
        UserError: The file cannot be read, a key is wrong or missing, or a name is not in the
            vocabulary. The message names the key.
    """
    try:
        data = read_json(path, HoldoutRecord)
    except OSError as error:
        raise UserError(
            f"Cannot read --holdout {path}: {error.strerror}; give the path of a holdout.json."
        ) from None
    _check_keys(path, data)
    holdout = Holdout.from_dict(data)
    # Raises for an unknown design before anything rests on it.
    find_design(holdout.design)
    _check_names(path, holdout, vocabulary)
    # Class lists list every label, so nothing follows from them.
    return (
        holdout if holdout.classes else _completed(path, holdout, data=data, vocabulary=vocabulary)
    )


def _check_keys(path: Path, data: dict[str, Any]) -> None:
    """Raise UserError if a key is unknown or a required key is missing; `read_json` has checked the
    types."""
    known = list(HoldoutRecord.__annotations__)
    for key in data:
        if key not in known:
            raise UserError(f"--holdout {path}: unknown key '{key}'; {did_you_mean(key, known)}")
    for key, example in (("kind", "color"), ("category", "shape")):
        if key not in data:
            raise UserError(
                f"--holdout {path} is not a valid holdout.json: the key '{key}' is missing; add "
                f'for example "{key}": "{example}" (docs/choose.md).'
            )
    # Values and objects only name the block; bindings are what is held out.
    has_block = data.get("values") or data.get("objects")
    if has_block and not data.get("bindings") and not data.get("classes"):
        raise UserError(
            f"--holdout {path} is not a valid holdout.json: it has 'values' or 'objects' but the "
            f"key 'bindings' is missing; list what to hold out, such as "
            f'"bindings": [["gray", "cube"]].'
        )


def _check_names(path: Path, holdout: Holdout, vocabulary: Vocabulary) -> None:
    unknown = check_fits(holdout, vocabulary)
    if not unknown and holdout.category != vocabulary.category:
        unknown = [f"the category '{holdout.category}'"]
    if unknown:
        raise UserError(
            f"--holdout {path} names {', '.join(unknown)}, which the family '{vocabulary.name}' "
            f"does not have; give the family it was made for."
        )


def _completed(
    path: Path, holdout: Holdout, *, data: dict[str, Any], vocabulary: Vocabulary
) -> Holdout:
    """Return the holdout with the keys that follow from its bindings and triples, where the file
    leaves them out."""
    check_leaves_seen(str(path), holdout, vocabulary)
    holdout = replace(holdout, triples=closed([*holdout.triples], vocabulary, holdout.opposites))
    check_own_frames(str(path), holdout, vocabulary)
    if "values" not in data and "objects" not in data:
        holdout = replace(
            holdout,
            values=tuple(dict.fromkeys(value for value, _ in holdout.bindings)),
            objects=tuple(dict.fromkeys(object_name for _, object_name in holdout.bindings)),
        )
    if "asked" not in data:
        # The name of a benchmark is made of `asked`.
        bindings = (":".join(binding) for binding in holdout.bindings)
        triples = [
            f"{relation}: {subject}, {object_name}"
            for subject, relation, object_name in other_triples(holdout.triples)
        ]
        for ground, directions in holdout.own_frames.items():
            triples += [f"{direction}: {ground}" for direction in directions]
        holdout = replace(holdout, asked=(*bindings, *triples))
    if "asymmetric" not in data:
        holdout = replace(holdout, asymmetric=needs_asymmetric_splits(holdout))
    return holdout
