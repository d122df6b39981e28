"""Reads the questions of a published benchmark, applies filters, and counts the questions that were
left out, by reason."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evaluator.benchmarks.pictures import ImageFinder, Picture
from evaluator.benchmarks.question import ImageRef, PublishedQuestion
from generator.base.errors import UserError, did_you_mean

READING = "reading"
"""The entry of a benchmark's manifest and of results. `averages`: whether its authors average over
categories. `filters`: values by name. `excluded`: number of questions and texts left out, by
reason. `versions`: a sentence for each file of another version.
"""
YES = "yes"
"""The value of a filter that is given without a value."""


def describe_filters(filters: Mapping[str, str]) -> str:
    """Filters as users write them.

    >>> describe_filters({"first": "1000", "present": "yes"})
    'first=1000, present'
    """
    return ", ".join(name if value == YES else f"{name}={value}" for name, value in filters.items())


def describe_reading(reading: Mapping[str, Any]) -> list[str]:
    """Sentences on filters, on questions and texts left out, and on files of another version than
    published.

    >>> describe_reading({"filters": {"first": "5"}, "excluded": {"it has no negative": 1200}})
    ['Filters: first=5.', 'Left out: 1,200: it has no negative.']
    """
    lines = []
    filters = reading.get("filters", {})
    if filters:
        lines.append(f"Filters: {describe_filters(filters)}.")
    excluded = reading.get("excluded", {})
    if excluded:
        lines.append(f"Left out: {_list_reasons(excluded)}.")
    lines += reading.get("versions", [])
    return lines


def _list_reasons(excluded: Mapping[str, int]) -> str:
    return "; ".join(f"{count:,}: {reason}" for reason, count in excluded.items())


FIRST, PRESENT = "first", "present"
_GENERAL_FILTERS = (FIRST, PRESENT)
"""Filters that every benchmark with a `Layout` has."""


def parse_filters(texts: Sequence[str], labels: Sequence[str], benchmark: str) -> dict[str, str]:
    """Parse filters NAME or NAME=VALUE.

    The filter FIRST keeps at most this many questions of each file. PRESENT leaves out questions
    whose images are missing. A label keeps the questions that have its value.

    Args:
        texts: The filters as users write them.
        labels: The labels by which the benchmark can be filtered.
        benchmark: The benchmark's name, for messages.

    Returns:
        Value by name, in a fixed order, so that equal filters give equal records.

    Raises:
        UserError: A name is unknown or repeated, or a value is invalid.

    >>> parse_filters(["corpus=laion", "present"], ["corpus"], "crepe")
    {'present': 'yes', 'corpus': 'laion'}
    """
    known = [*_GENERAL_FILTERS, *labels]
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if name not in known:
            raise UserError(f"Unknown filter '{name}' of {benchmark}: {did_you_mean(name, known)}")
        if name in values:
            raise UserError(f"The filter '{name}' is given twice; give it once.")
        if equals and not value:
            raise UserError(
                f"Expected a value after '{name}=', got none; write --filter {name}=VALUE."
            )
        values[name] = value or YES
    if FIRST in values:
        values[FIRST] = str(_parse_first(values[FIRST]))
    if values.get(PRESENT, YES) != YES:
        raise UserError(f"Expected {PRESENT} without a value, got {PRESENT}={values[PRESENT]}.")
    return {name: values[name] for name in known if name in values}


def _parse_first(text: str) -> int:
    # isascii, since isdigit also accepts digits such as ² that int() refuses.
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise UserError(
            f"Expected a number of questions from 1 up, got {FIRST}={text}; write for example "
            f"{FIRST}=1000."
        )
    return int(text)


NOT_THERE = "its image is not there"
BEYOND_FIRST = "it is not among the first of its file"


@dataclass(frozen=True)
class Layout:
    """How the authors of a benchmark publish it."""

    read: Callable[[Path], Iterator[PublishedQuestion]]
    """Yields the questions of a file or folder."""
    labels: tuple[str, ...] = ()
    """Labels of questions that `--filter` can test."""
    single_value_labels: tuple[str, ...] = ()
    """Labels that must have one value in a run, since other values are another benchmark."""
    averages: bool = False
    """Whether the authors average over categories, as results then do too."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Number of questions of published files, by name without suffix."""


class _Selection:
    """The questions of a benchmark that pass its filters, and counts of all others."""

    def __init__(self, filters: Mapping[str, str], finder: ImageFinder | None):
        self._filters = filters
        self._finder = finder
        self.questions: list[PublishedQuestion] = []
        """The questions that pass."""
        self.pictures: dict[str, Picture] = {}
        """Their images, by id."""
        self.excluded: Counter[str] = Counter()
        """Number of questions and texts left out, by reason."""
        self.file_sizes: Counter[Path] = Counter()
        """Number of questions in each file, also those left out."""
        self.label_values: dict[str, dict[str, None]] = defaultdict(dict)
        """The values of each label, in the order of the files."""
        self._kept_of_file: Counter[Path] = Counter()
        self._items: set[str] = set()

    def add(self, question: PublishedQuestion, path: Path) -> None:
        """Keep a question, or count why it is left out."""
        # Scores and answers are kept by the id of the question.
        if question.item in self._items:
            raise UserError(
                f"{path} has two questions with the id {question.item}; keep one of them."
            )
        self._items.add(question.item)
        file = question.origin.file
        self.file_sizes[file] += 1
        for name, value in question.labels.filterable.items():
            self.label_values[name][value] = None

        # Images are looked for last: those of dropped questions need not exist.
        pictures: dict[str, Picture] = {}
        reason = _exclusion_reason(question, self._filters, self._kept_of_file[file])
        if not reason:
            pictures, reason = _find_pictures(question, self._filters, self._finder)
        if reason:
            self.excluded[reason] += 1
            return
        self.excluded.update(question.omissions.dropped_texts)
        self._kept_of_file[file] += 1
        self.questions.append(question)
        self.pictures |= pictures

    def check(self, layout: Layout, path: Path) -> None:
        """Raise UserError if no question is left, or if the questions are of several benchmarks."""
        if self.file_sizes and not self.questions:
            label_texts = [
                f"{name}: {', '.join(values)}" for name, values in self.label_values.items()
            ]
            labels = f"; its labels are {'; '.join(label_texts)}" if label_texts else ""
            raise UserError(
                f"None of the {self.file_sizes.total():,} questions of {path} is left "
                f"({_list_reasons(self.excluded)}){labels}."
            )
        for name in layout.single_value_labels:
            values = self.label_values[name]
            if len(values) > 1 and name not in self._filters:
                raise UserError(
                    f"{path} has questions for {len(values)} values of '{name}' "
                    f"({', '.join(values)}), which are different benchmarks; choose with --filter "
                    f"{name}={next(iter(values))}."
                )


def read_questions(
    layout: Layout, path: Path, *, filters: Mapping[str, str], finder: ImageFinder | None
) -> tuple[list[PublishedQuestion], dict[str, Picture], dict[str, Any]]:
    """Read the questions that pass filters, and find their images.

    Args:
        layout: The layout of the benchmark.
        path: One of its files, or their folder.
        filters: Values by name, as `parse_filters` returns them.
        finder: Finds the images. None: images are not looked for.

    Returns:
        The questions, their images by id ({} without a finder), and the entry READING.

    Raises:
        UserError: A file is unreadable, an image is missing, an id occurs twice, no question
            passes, or a label in `layout.single_value_labels` has several values and no filter.
    """
    selection = _Selection(filters, finder)
    for question in _with_images(layout.read(path), finder):
        selection.add(question, path)
    selection.check(layout, path)
    about = {
        "averages": layout.averages,
        "filters": dict(filters),
        "excluded": dict(selection.excluded),
        "versions": _describe_other_versions(selection.file_sizes, layout.sizes),
    }
    return selection.questions, selection.pictures, about


def _describe_other_versions(sizes: Mapping[Path, int], published: Mapping[str, int]) -> list[str]:
    """A sentence for each file that has another number of questions than its published version."""
    return [
        f"{file.name} has {size:,} questions, the published file {published[file.stem]:,}: it is "
        f"another version."
        for file, size in sizes.items()
        if size != published.get(file.stem, size)
    ]


def _with_images(
    questions: Iterable[PublishedQuestion], finder: ImageFinder | None
) -> Iterator[PublishedQuestion]:
    """Yield the questions; a question about a folder once for each of its images."""
    for question in questions:
        if finder is None or not question.image_folders:
            yield question
            continue
        paths = finder.images_in(question.image_folders)
        if not paths:
            # Names that no file has, so that the folder is reported as a missing image.
            names = tuple(f"{folder}/*.png" for folder in question.image_folders)
            yield replace(question, images=(ImageRef(names),))
        for path in paths:
            yield question.about_image(path)


def _exclusion_reason(
    question: PublishedQuestion, filters: Mapping[str, str], kept_of_file: int
) -> str:
    """Why a question is left out, missing images aside; "" if it is not.

    kept_of_file: number of questions of its file that passed so far. Raises UserError for a
    question with one image twice, and as `_check_unicode`.
    """
    distinct = {image.id for image in question.images}
    if len(distinct) < len(question.images):
        raise UserError(
            f"{question.origin.place} has one image twice, expected {len(question.images)} "
            f"different images."
        )
    if question.omissions.excluded:
        return question.omissions.excluded
    _check_unicode(question)
    for name, value in filters.items():
        if name not in _GENERAL_FILTERS and question.labels.filterable.get(name) != value:
            return f"its {name} is not {value}"
    # Last, so that the first N are counted among the questions that the other filters keep.
    if FIRST in filters and kept_of_file >= int(filters[FIRST]):
        return BEYOND_FIRST
    return ""


def _find_pictures(
    question: PublishedQuestion, filters: Mapping[str, str], finder: ImageFinder | None
) -> tuple[dict[str, Picture], str]:
    """The images of a question by id, and "" or why it is left out. Without the filter PRESENT, a
    missing image raises UserError."""
    pictures: dict[str, Picture] = {}
    if finder is None:
        return pictures, ""
    for image in question.images:
        picture = finder.find(image)
        if picture is not None:
            pictures[image.id] = picture
        elif PRESENT not in filters:
            raise UserError(
                f"{question.origin.place} names the image {image.names[0]}, which is not in "
                f"{finder.folder}; give the folder "
                f"of the images with --images, or leave such questions out with --filter present."
            )
        else:
            return {}, NOT_THERE
    return pictures, ""


def _check_unicode(question: PublishedQuestion) -> None:
    """Raise UserError for a text that is not valid Unicode, which tables cannot hold."""
    try:
        "".join(question.texts).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise UserError(
            f"{question.origin.place} has {half!r} in a text, half a character; correct the file."
        ) from None
