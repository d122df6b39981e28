"""Reads COMPASS's compositional integration (anonymous, 2026): a JSON file for each image, captions
and negatives by number of atoms."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.benchmarks.files import json_rows
from evaluator.benchmarks.question import (
    ImageRef,
    Omissions,
    Origin,
    PublishedQuestion,
    QuestionLabels,
    TextDetails,
)
from evaluator.benchmarks.reading import YES
from generator.base.errors import UserError

_LEVELS = {"l2-OA": "OA", "l2-OR": "OR", "l3": "OAR"}
"""Folder → level: captions of objects with attributes, with relations, or with both."""
_ATOM_TYPES = ("object", "attribute", "relation")
"""What a decomposed caption may replace."""
_CAPTIONS, _NEGATIVES = "gt-caption", "compositional-integration"
NO_CAPTION = "it has no caption"
NO_COMPOSED = "it has no negative"
NO_DECOMPOSED = "it has no decomposed caption"
COMPLETE = "complete"
"""Label of questions: whether their n atoms have n negatives and n decomposed captions."""


def read_compass(path: Path) -> Iterator[PublishedQuestion]:
    """Yield the questions of the folder that has `gt-caption` and `compositional-integration`.

    A question is a caption with its negatives, and decomposed captions with their negatives. The
    number of objects, attributes and relations is the number of decomposed captions that replace
    one: "a red cube" with a false object and with a false attribute has one of each.

    Raises:
        UserError: The folders are missing, or a file has another form.
    """
    folders = {level: path / _NEGATIVES / level for level in _LEVELS}
    if not any((folder / "composed").is_dir() for folder in folders.values()):
        raise UserError(
            f"{path} has no questions: expected folders such as {_NEGATIVES}/l3/composed and "
            f"{_CAPTIONS}/l3 of COMPASS in it."
        )
    for level, folder in folders.items():
        for file in sorted((folder / "composed").glob("[!.]*.json")):
            captions = _read_by_atoms(path / _CAPTIONS / level / file.name)
            decomposed = _read_by_atoms(folder / "decomposed" / file.name)
            for atoms, negatives in _read_by_atoms(file).items():
                texts = _check_texts(negatives, f"for {atoms} atoms in {file}")
                entry = _Entry(file, level, atoms, captions.get(atoms), texts)
                parts = decomposed.get(atoms) or []
                if not isinstance(parts, list):
                    raise UserError(
                        f"Expected a list of decomposed captions for {atoms} atoms in "
                        f"{folder / 'decomposed' / file.name}, got {parts!r:.80}."
                    )
                yield _question(entry, parts)


@dataclass(frozen=True)
class _Entry:
    """A caption about an image, with its negatives: the one with that number of atoms."""

    file: Path
    """The file of the negatives; its name is the image's."""
    level: str
    """A key of _LEVELS."""
    atoms: str
    """The number of atoms, in digits."""
    caption: Any
    """The true caption; None if the file has none."""
    negatives: list[str]
    """The negatives of the caption."""


def _question(entry: _Entry, parts: list[Any]) -> PublishedQuestion:
    """The question of an entry and its decomposed captions."""
    place = f"Complexity {entry.atoms} of {entry.file}"

    # The caption and its negatives, then each decomposed caption in a slot of its own with its
    # negatives.
    rows: list[tuple[str, bool, Any]] = [("c", True, entry.caption)]
    rows += [("n", False, text) for text in entry.negatives]
    type_counts: Counter[str] = Counter()
    for number, part in enumerate(parts, 1):
        atom_type, true, negatives = _parse_part(part, place)
        type_counts[atom_type] += 1
        rows.append((f"d{number}", True, true))
        rows += [(f"d{number}", False, text) for text in negatives]
    if entry.caption is not None and not (isinstance(entry.caption, str) and entry.caption):
        raise UserError(f"{place} has the caption {entry.caption!r:.80}; expected a text.")
    slots, truth, texts = zip(*rows, strict=True)

    excluded = ""
    if entry.caption is None:
        excluded = NO_CAPTION
    elif not entry.negatives:
        excluded = NO_COMPOSED
    elif not parts:
        excluded = NO_DECOMPOSED
    # COMPASS asks N negatives of a caption of N atoms, and the published files also have captions
    # with fewer, which the filter `complete` leaves out.
    is_complete = len(entry.negatives) == len(parts) == int(entry.atoms)
    name = entry.file.stem
    objects, attributes, relations = (type_counts[atom_type] for atom_type in _ATOM_TYPES)
    return PublishedQuestion(
        item=f"{entry.level}/{name}/{entry.atoms}",
        images=(ImageRef((f"{name}.jpg", f"VG_100K/{name}.jpg", f"VG_100K_2/{name}.jpg")),),
        texts=texts,
        truth=(truth,),
        protocol="integration",
        origin=Origin(place, entry.file),
        labels=QuestionLabels(kind="composed", filterable={COMPLETE: YES if is_complete else "no"}),
        details=TextDetails(
            slots=slots, level=_LEVELS[entry.level], counts=(objects, attributes, relations)
        ),
        omissions=Omissions(excluded=excluded),
    )


def _parse_part(part: Any, place: str) -> tuple[str, str, list[str]]:
    """The type of atom that a decomposed caption replaces, the caption and its negatives."""
    if isinstance(part, dict) and part.get("replaced") in _ATOM_TYPES:
        # The caption is a key of the object, and its negatives are the value.
        captions = [caption for caption in part if caption != "replaced"]
        if len(captions) == 1:
            negatives = part[captions[0]]
            if isinstance(negatives, list) and negatives:
                return part["replaced"], captions[0], _check_texts(negatives, f"in {place}")
    raise UserError(
        f'{place} has {part!r:.80}; expected {{"caption": [negatives], "replaced": '
        f"{'|'.join(_ATOM_TYPES)}}}."
    )


def _check_texts(values: Any, where: str) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(text, str) and text for text in values):
        raise UserError(f"Expected a list of texts {where}, got {values!r:.80}.")
    return list(values)


def _read_by_atoms(file: Path) -> dict[str, Any]:
    """The entries of a file by number of atoms; empty if the file does not exist."""
    if not file.is_file():
        return {}
    entries = dict(json_rows(file))
    # The keys of a list would be its indices, which begin at 0.
    if not all(key.isascii() and key.isdigit() and int(key) > 0 for key in entries):
        raise UserError(
            f"Expected numbers of atoms as the keys of {file}, got {', '.join(entries):.80}."
        )
    return entries
