"""COMPASS's compositional integration (anonymous, 2026): a JSON file for each image, captions and
negatives by number of atoms."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluator.benchmarks.files import json_rows
from evaluator.benchmarks.question import Question, Shown
from evaluator.benchmarks.reading import YES
from generator.base.errors import UserError

_LEVELS = {"l2-OA": "OA", "l2-OR": "OR", "l3": "OAR"}
_TYPES = ("object", "attribute", "relation")
_CAPTIONS, _NEGATIVES = "gt-caption", "compositional-integration"
NO_CAPTION, NO_COMPOSED, NO_DECOMPOSED = (
    "it has no caption",
    "it has no negative",
    "it has no decomposed caption",
)
COMPLETE = "complete"
"""Label of questions: whether their n atoms have n negatives and n decomposed captions."""


def read_compass(path: Path) -> Iterator[Question]:
    """Yields the questions of the folder that has `gt-caption` and `compositional-integration`: a
    caption with its negatives, and decomposed captions with their negatives. The number of objects,
    attributes and relations is the number of decomposed captions that replace one.

    Raises UserError if the folders are missing, and for files of another form.
    """
    folders = [(level, path / _NEGATIVES / level / "composed") for level in _LEVELS]
    if not any(folder.is_dir() for _, folder in folders):
        raise UserError(
            f"{path} has no questions: expected folders such as {_NEGATIVES}/l3/composed and "
            f"{_CAPTIONS}/l3 of COMPASS in it."
        )
    for level, folder in folders:
        for file in sorted(folder.glob("[!.]*.json")):
            captions = _by_atoms(path / _CAPTIONS / level / file.name)
            decomposed = _by_atoms(path / _NEGATIVES / level / "decomposed" / file.name)
            for n, negatives in _by_atoms(file).items():
                yield _question(
                    file,
                    level,
                    n,
                    captions.get(n),
                    _texts(negatives, file, n),
                    decomposed.get(n) or [],
                )


def _question(
    file: Path, level: str, n: str, caption: Any, negatives: list[str], parts: Any
) -> Question:
    place = f"Complexity {n} of {file}"
    shown = Shown((f"{file.stem}.jpg", f"VG_100K/{file.stem}.jpg", f"VG_100K_2/{file.stem}.jpg"))
    told = [("c", True, caption), *(("n", False, text) for text in negatives)]
    types: Counter[str] = Counter()
    for number, part in enumerate(parts, 1):
        type_, true, false = _part(part, place)
        types[type_] += 1
        told += [(f"d{number}", True, true), *((f"d{number}", False, text) for text in false)]
    if caption is not None and not (isinstance(caption, str) and caption):
        raise UserError(f"{place} has the caption {caption!r:.80}; expected a text.")
    slots, truth, texts = zip(*told, strict=True)
    whole = len(negatives) == len(parts) == int(n)
    return Question(
        f"{level}/{file.stem}/{n}",
        (shown,),
        texts,
        (truth,),
        place,
        file,
        kind="composed",
        protocol="integration",
        slots=slots,
        level=_LEVELS[level],
        counts=(types[_TYPES[0]], types[_TYPES[1]], types[_TYPES[2]]),
        labels={COMPLETE: YES if whole else "no"},
        excluded=NO_CAPTION
        if caption is None
        else NO_COMPOSED
        if not negatives
        else NO_DECOMPOSED
        if not parts
        else "",
    )


def _part(part: Any, place: str) -> tuple[str, str, list[str]]:
    """The type of atom that a decomposed caption replaces, the caption and its negatives."""
    if isinstance(part, dict) and part.get("replaced") in _TYPES:
        texts = [(true, false) for true, false in part.items() if true != "replaced"]
        if len(texts) == 1 and isinstance(texts[0][1], list) and texts[0][1]:
            return part["replaced"], texts[0][0], _texts(texts[0][1], place, "")
    raise UserError(
        f'{place} has {part!r:.80}; expected {{"caption": [negatives], "replaced": '
        f"{'|'.join(_TYPES)}}}."
    )


def _texts(values: Any, file: Path | str, n: str) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(each, str) and each for each in values):
        raise UserError(
            f"Expected a list of texts {f'for {n} atoms ' if n else ''}in {file}, got "
            f"{values!r:.80}."
        )
    return list(values)


def _by_atoms(file: Path) -> dict[str, Any]:
    """The entries of a file by number of atoms; empty if the file does not exist."""
    found = dict(json_rows(file)) if file.is_file() else {}
    if not all(key.isascii() and key.isdigit() for key in found):
        raise UserError(
            f"Expected numbers of atoms as the keys of {file}, got {', '.join(found):.80}."
        )
    return found
