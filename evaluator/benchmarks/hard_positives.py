"""Reads the Hard Positives sets (Kamath et al. 2024): each file of captions and negatives has a
second file with the hard positives, row by row."""

from collections.abc import Iterator
from pathlib import Path

from evaluator.benchmarks.files import BOX_COLUMNS, Record, box_of, files_under, records_of
from evaluator.benchmarks.question import (
    ImageRef,
    PublishedQuestion,
    QuestionLabels,
    TextDetails,
)
from generator.base.errors import UserError

_LABELS_OF_FILE = {
    "vl_checklist_attributes": ("replace", "attribute"),
    "vl_checklist_relations": ("replace", "relation"),
    "vl_checklist_objects": ("replace", "object"),
    "visual_genome_attribution": ("swap", "attribute"),
}
"""File name → kind and skill of its questions."""
_SWAPPED_SUFFIX, _SWAPPED_FOLDER = ".swapped", "swapped_data"


def read_hard_positives(path: Path) -> Iterator[PublishedQuestion]:
    """Yield the questions of a file or folder. The hard positives of data/X.json are in
    swapped_data/X.json, or in X.swapped.json beside it.

    Raises:
        UserError: They are missing, or the two files differ in images or negatives.
    """
    for file in files_under(path, (".json",)):
        # The second file of a pair, which is read with its first.
        if file.stem.endswith(_SWAPPED_SUFFIX) or file.parent.name == _SWAPPED_FOLDER:
            continue
        positives_file = _find_positives(file)
        originals = list(records_of(file))
        positives = list(records_of(positives_file))
        if len(originals) != len(positives):
            raise UserError(
                f"{file} has {len(originals):,} rows and {positives_file} {len(positives):,}; give "
                f"two files of one version."
            )
        kind, skill = _LABELS_OF_FILE.get(file.stem, (file.stem, ""))
        labels = QuestionLabels(kind=kind, skill=skill)
        for original, positive in zip(originals, positives, strict=True):
            yield _question(original, positive, labels)


def _find_positives(file: Path) -> Path:
    """The file of the hard positives of a file."""
    candidates = (
        file.parent.parent / _SWAPPED_FOLDER / file.name,
        file.parent / _SWAPPED_FOLDER / file.name,
        file.with_name(f"{file.stem}{_SWAPPED_SUFFIX}.json"),
    )
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise UserError(
        f"{file} has no hard positives: expected them in {candidates[0]} or {candidates[2]}."
    )


def _question(original: Record, positive: Record, labels: QuestionLabels) -> PublishedQuestion:
    # Rows of both files belong together by their place alone, so what both repeat must agree.
    for name in ("image_path", "false_caption"):
        if original.text(name) != positive.text(name):
            raise UserError(
                f"{original.place} has the {name} '{original.text(name)}', row {positive.key} of "
                f"{positive.file} '{positive.text(name)}'; give two files of one version."
            )
    return PublishedQuestion(
        item=f"{original.file.stem}/{original.key}",
        images=(ImageRef((original.text("image_path"),), box=box_of(original, BOX_COLUMNS)),),
        texts=(
            original.text("true_caption"),
            original.text("false_caption"),
            positive.text("true_caption"),
        ),
        truth=((True, False, True),),
        protocol="hard_positives",
        origin=original.origin,
        labels=labels,
        details=TextDetails(slots=("c", "n", "p")),
    )
