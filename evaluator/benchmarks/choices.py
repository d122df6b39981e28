"""Reads questions with one true and one or more false captions of an image: What'sUp (Kamath et al.
2023), ARO's word orders (Yuksekgonul et al. 2023) and NegBench (Alhamoud et al. 2025)."""

from collections.abc import Iterator
from pathlib import Path

from evaluator.benchmarks.files import Record, read_records
from evaluator.benchmarks.question import ImageRef, PublishedQuestion, QuestionLabels
from generator.base.errors import UserError

_IMAGE_FOLDERS = {"coco": ("val2017",), "vg": ("vg_images", "VG_100K", "VG_100K_2")}
"""Folders that may hold an image given by its number, by the first word of the file's name."""
_COCO_DIGITS = 12
"""COCO pads the number of an image to this many digits."""
_LISTED = ("image", "true_caption", "false_caption")
_OPTIONS, _ANSWER = "caption_options", "correct_answer"


def read_choices(path: Path) -> Iterator[PublishedQuestion]:
    """Yield the questions of a file or folder.

    A row has one of three forms:

    - `caption_options`, the true caption first (What'sUp's photographs, ARO's orders);
    - `caption_0`, `caption_1` …, and the index of the true caption in `correct_answer` (NegBench);
    - a list of image number, true caption and false caption (What'sUp's questions on COCO and
      Visual Genome).

    The kind of a question is the file's name, with `correct_answer_template` if the row has one.

    Raises:
        UserError: A row has another form.
    """
    for record in read_records(path, _LISTED):
        true, false = _read_captions(record)
        template = record.values.get("correct_answer_template")
        file_name = record.file.stem
        yield PublishedQuestion(
            item=f"{file_name}/{record.key}",
            images=(ImageRef(_image_names(record)),),
            texts=(true, *false),
            origin=record.origin,
            labels=QuestionLabels(kind=f"{file_name} {template}" if template else file_name),
        )


def _image_names(record: Record) -> tuple[str, ...]:
    """The file names that the image of a row may have."""
    name = record.text("image" if record.has("image") else "image_path")
    # A number stands for an image of the corpus that the file is named after, as in
    # coco_qa_one_obj.json of What'sUp.
    if not name.isdigit():
        return (name,)
    corpus = record.file.stem.split("_")[0]
    number = name.zfill(_COCO_DIGITS) if corpus == "coco" else name
    file = f"{number}.jpg"
    return (*(f"{folder}/{file}" for folder in _IMAGE_FOLDERS.get(corpus, ())), file)


def _read_captions(record: Record) -> tuple[str, list[str]]:
    """The true caption of a row, and its false captions without duplicates."""
    answer = 0
    if record.has(_OPTIONS):
        options = record.values[_OPTIONS]
    elif record.has(_ANSWER):
        options = _numbered_captions(record)
        answer = record.number(_ANSWER)
    else:
        options = [record.text(name) for name in _LISTED[1:]]
    is_list = isinstance(options, list)
    if not is_list or not all(isinstance(text, str) and text for text in options):
        raise UserError(
            f"{record.place} has {options!r:.80} as its '{_OPTIONS}'; expected a list of texts."
        )
    # A caption that is listed twice is one candidate, so that chance is one over their number.
    distinct = list(dict.fromkeys(options))
    if not (0 <= answer < len(options) and len(distinct) > 1):
        raise UserError(
            f"{record.place} has {len(distinct)} different captions and the answer {answer}; "
            f"expected at least two captions, and the index of the true caption, from 0."
        )
    true = options[answer]
    return true, [text for text in distinct if text != true]


def _numbered_captions(record: Record) -> list[str]:
    """The captions in the columns caption_0, caption_1 … up to the first empty one."""
    captions: list[str] = []
    name = "caption_0"
    while record.has(name):
        captions.append(record.text(name))
        name = f"caption_{len(captions)}"
    return captions
