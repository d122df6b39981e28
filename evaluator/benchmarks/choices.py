"""Reads questions with one true and one or more false captions of an image: What'sUp (Kamath et al.
2023), ARO's word orders (Yuksekgonul et al. 2023) and NegBench (Alhamoud et al. 2025)."""

from collections.abc import Iterator
from itertools import count, takewhile
from pathlib import Path

from evaluator.benchmarks.files import Record, read_records
from evaluator.benchmarks.question import Question, Shown
from generator.base.errors import UserError

_FOLDERS = {"coco": ("val2017",), "vg": ("vg_images", "VG_100K", "VG_100K_2")}
_LISTED = ("image", "true_caption", "false_caption")
_OPTIONS, _ANSWER = "caption_options", "correct_answer"


def read_choices(path: Path) -> Iterator[Question]:
    """Yields the questions of a file or folder. The kind is the file's name, with
    `correct_answer_template` if given.

    A row has one of three forms. `caption_options`: true caption first (What'sUp's photographs,
    ARO's orders).
    `caption_0`, `caption_1` …, with the index of the true caption in `correct_answer` (NegBench). A
    list of image
    number, true caption and false caption (What'sUp's questions on COCO and Visual Genome). Raises
    UserError for rows
    of another form.
    """
    for record in read_records(path, _LISTED):
        true, false = _captions(record)
        template = record.values.get("correct_answer_template")
        yield Question(
            f"{record.file.stem}/{record.key}",
            (Shown(_names(record)),),
            (true, *false),
            place=record.place,
            file=record.file,
            kind=f"{record.file.stem} {template}" if template else record.file.stem,
        )


def _names(record: Record) -> tuple[str, ...]:
    """The file names that the image of a row may have. COCO's numbers are padded to twelve
    digits."""
    name, corpus = (
        record.text("image" if record.has("image") else "image_path"),
        record.file.stem.split("_")[0],
    )
    if not name.isdigit():
        return (name,)
    file = f"{name.zfill(12) if corpus == 'coco' else name}.jpg"
    return (*(f"{folder}/{file}" for folder in _FOLDERS.get(corpus, ())), file)


def _captions(record: Record) -> tuple[str, list[str]]:
    """The true caption of a row, and its false captions without duplicates."""
    if record.has(_OPTIONS):
        options, right = record.values[_OPTIONS], 0
    elif record.has(_ANSWER):
        options = [
            record.text(name) for name in takewhile(record.has, (f"caption_{k}" for k in count()))
        ]
        right = record.number(_ANSWER)
    else:
        options, right = [record.text(name) for name in _LISTED[1:]], 0
    if not (isinstance(options, list) and all(isinstance(each, str) and each for each in options)):
        raise UserError(
            f"{record.place} has {options!r:.80} as its '{_OPTIONS}'; expected a list of texts."
        )
    if not (0 <= right < len(options) and len(set(options)) > 1):
        raise UserError(
            f"{record.place} has {len(set(options))} different captions and the answer {right}; "
            f"expected at least two captions, and the index of the true caption, from 0."
        )
    return options[right], [each for each in dict.fromkeys(options) if each != options[right]]
