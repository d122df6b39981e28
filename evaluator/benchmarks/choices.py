"""Questions with several captions of an image, of which one is true: What'sUp (Kamath et al. 2023), ARO's word orders
(Yuksekgonul et al. 2023) and NegBench (Alhamoud et al. 2025)."""

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
    """The questions of a file, or of the files of a folder; the kind is the file, or `correct_answer_template`.

    A row has `caption_options`, the true caption first (What'sUp's photographs, ARO's orders), or `caption_0`,
    `caption_1` … and the number of the true one in `correct_answer` (NegBench), or is a list of the number of an image
    of COCO or Visual Genome, the true and the false caption (What'sUp's questions on these). Raises UserError for rows
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
    """The names that the image of a row may have. COCO's numbers have twelve digits."""
    name, corpus = record.text("image" if record.has("image") else "image_path"), record.file.stem.split("_")[0]
    if not name.isdigit():
        return (name,)
    file = f"{name.zfill(12) if corpus == 'coco' else name}.jpg"
    return (*(f"{folder}/{file}" for folder in _FOLDERS.get(corpus, ())), file)


def _captions(record: Record) -> tuple[str, list[str]]:
    """The true caption of a row, and the false ones, each once."""
    if record.has(_OPTIONS):
        options, right = record.values[_OPTIONS], 0
    elif record.has(_ANSWER):
        options = [record.text(name) for name in takewhile(record.has, (f"caption_{k}" for k in count()))]
        right = record.number(_ANSWER)
    else:
        options, right = [record.text(name) for name in _LISTED[1:]], 0
    if not (isinstance(options, list) and all(isinstance(each, str) and each for each in options)):
        raise UserError(f"{record.place} has {options!r:.80} as its '{_OPTIONS}'; expected a list of texts.")
    if not (0 <= right < len(options) and len(set(options)) > 1):
        raise UserError(
            f"{record.place} has {len(set(options))} different captions and the answer {right}; expected two captions "
            f"or more, of which one has that number from 0."
        )
    return options[right], [each for each in dict.fromkeys(options) if each != options[right]]
