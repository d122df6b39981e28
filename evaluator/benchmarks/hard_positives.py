"""Reads the Hard Positives sets (Kamath et al. 2024): each file of captions and negatives has a
second file with the hard positives, row by row."""

from collections.abc import Iterator
from pathlib import Path

from evaluator.benchmarks.files import BOX, Record, box_of, files_under, records_of
from evaluator.benchmarks.question import Question, Shown
from generator.base.errors import UserError

_SETS = {
    "vl_checklist_attributes": ("replace", "attribute"),
    "vl_checklist_relations": ("replace", "relation"),
    "vl_checklist_objects": ("replace", "object"),
    "visual_genome_attribution": ("swap", "attribute"),
}
"""File name → kind and skill of its questions."""
_SWAPPED, _FOLDER = ".swapped", "swapped_data"


def read_hard_positives(path: Path) -> Iterator[Question]:
    """Yields the questions of a file or folder. The hard positives of data/X.json are in
    swapped_data/X.json, or in X.swapped.json beside it.

    Raises UserError if they are missing, or if the two files differ in images or negatives.
    """
    for file in files_under(path, (".json",)):
        if file.stem.endswith(_SWAPPED) or file.parent.name == _FOLDER:
            continue
        twin = _twin(file)
        originals, positives = list(records_of(file)), list(records_of(twin))
        if len(originals) != len(positives):
            raise UserError(
                f"{file} has {len(originals):,} rows and {twin} {len(positives):,}; give two files "
                f"of one version."
            )
        kind, skill = _SETS.get(file.stem, (file.stem, ""))
        for original, positive in zip(originals, positives, strict=True):
            yield _question(original, positive, kind, skill)


def _twin(file: Path) -> Path:
    places = (
        file.parent.parent / _FOLDER / file.name,
        file.parent / _FOLDER / file.name,
        file.with_name(f"{file.stem}{_SWAPPED}.json"),
    )
    for place in places:
        if place.is_file():
            return place
    raise UserError(f"{file} has no hard positives: expected them in {places[0]} or {places[2]}.")


def _question(original: Record, positive: Record, kind: str, skill: str) -> Question:
    for name in ("image_path", "false_caption"):
        if original.text(name) != positive.text(name):
            raise UserError(
                f"{original.place} has the {name} '{original.text(name)}', row {positive.key} of "
                f"{positive.file} '{positive.text(name)}'; give two files of one version."
            )
    shown = Shown((original.text("image_path"),), box=box_of(original, BOX))
    texts = (
        original.text("true_caption"),
        original.text("false_caption"),
        positive.text("true_caption"),
    )
    return Question(
        f"{original.file.stem}/{original.key}",
        (shown,),
        texts,
        ((True, False, True),),
        original.place,
        original.file,
        kind=kind,
        skill=skill,
        protocol="hard_positives",
        slots=("c", "n", "p"),
    )
