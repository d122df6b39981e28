"""Reads the questions of a published benchmark, applies filters, and counts the questions that were
left out, by reason."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evaluator.benchmarks.pictures import Finder, Picture
from evaluator.benchmarks.question import Question, Shown
from generator.base.errors import UserError, did_you_mean

READING = "reading"
"""The entry of a benchmark's manifest and of results. `averages`: whether its authors average over
categories. `filters`: values by name. `excluded`: number of questions and texts left out, by
reason. `versions`: a sentence for each file of another version.
"""
YES = "yes"
"""The value of a filter that is given without a value."""


def filters_said(filters: Mapping[str, str]) -> str:
    """Filters as users write them.

    >>> filters_said({"first": "1000", "present": "yes"})
    'first=1000, present'
    """
    return ", ".join(name if value == YES else f"{name}={value}" for name, value in filters.items())


def reading_said(reading: Mapping[str, Any]) -> list[str]:
    """Sentences on filters, on questions and texts left out, and on files of another version than
    published."""
    filters = filters_said(reading.get("filters", {}))
    excluded = "; ".join(f"{n:,}: {reason}" for reason, n in reading.get("excluded", {}).items())
    return [
        *([f"Filters: {filters}."] if filters else []),
        *([f"Left out: {excluded}."] if excluded else []),
        *reading.get("versions", []),
    ]


FIRST, PRESENT = "first", "present"
_GENERAL = (FIRST, PRESENT)
"""Filters that every benchmark with a `Layout` has."""


def parse_filters(texts: Sequence[str], own: Sequence[str], benchmark: str) -> dict[str, str]:
    """Parse filters NAME or NAME=VALUE to values by name, in a fixed order. FIRST: at most this
    many questions of each file. PRESENT: leave out questions whose images are missing. own: the
    benchmark's labels; a filter by label keeps the questions with that value.

    >>> parse_filters(["corpus=laion", "present"], ["corpus"], "crepe")
    {'present': 'yes', 'corpus': 'laion'}

    Raises UserError for an unknown name, a repeated name, and an invalid value.
    """
    given: dict[str, str] = {}
    known = [*_GENERAL, *own]
    for text in texts:
        name, equals, value = text.partition("=")
        if name not in known:
            raise UserError(f"Unknown filter '{name}' of {benchmark}: {did_you_mean(name, known)}")
        if name in given:
            raise UserError(f"The filter '{name}' is given twice; give it once.")
        if equals and not value:
            raise UserError(
                f"Expected a value after '{name}=', got none; write --filter {name}=VALUE."
            )
        given[name] = value or YES
    first = given.get(FIRST, "1")
    if not (first.isascii() and first.isdigit() and int(first)):
        raise UserError(
            f"Expected a number of questions from 1 up, got {FIRST}={first}; write for example "
            f"{FIRST}=1000."
        )
    if given.get(PRESENT, YES) != YES:
        raise UserError(f"Expected {PRESENT} without a value, got {PRESENT}={given[PRESENT]}.")
    if FIRST in given:
        given[FIRST] = str(int(first))
    return {name: given[name] for name in known if name in given}


NOT_THERE = "its image is not there"
BEYOND_FIRST = "it is not among the first of its file"


@dataclass(frozen=True)
class Layout:
    """How the authors of a benchmark publish it.

    read: yields the questions of a file or folder. labels: labels of questions that filters test.
        one: labels that must
    have a single value in a run; other values are another benchmark. averages: the authors average
    over categories.
    sizes: number of questions of published files, by name without suffix.
    """

    read: Callable[[Path], Iterator[Question]]
    labels: tuple[str, ...] = ()
    one: tuple[str, ...] = ()
    averages: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)


def read_questions(
    layout: Layout, path: Path, filters: Mapping[str, str], finder: Finder | None
) -> tuple[list[Question], dict[str, Picture], dict[str, Any]]:
    """The questions that pass `filters` (see `parse_filters`), their images by id, and the entry
    READING. Without a finder, images are not searched.

    Raises UserError for unreadable files, missing images, duplicate ids, filters that leave no
    question, and several values of a label in `layout.one` without a filter by it.
    """
    kept: dict[str, Question] = {}
    pictures: dict[str, Picture] = {}
    seen: set[str] = set()
    excluded: Counter[str] = Counter()
    sizes: Counter[Path] = Counter()
    of_file: Counter[Path] = Counter()
    values: dict[str, dict[str, None]] = defaultdict(dict)
    for question in _of_images(layout.read(path), finder):
        if question.item in seen:
            raise UserError(
                f"{path} has two questions with the id {question.item}; keep one of them."
            )
        seen.add(question.item)
        sizes[question.file] += 1
        for name, value in question.labels.items():
            values[name][value] = None
        reason = _left_out(question, filters, of_file[question.file])
        found, reason = ({}, reason) if reason else _found(question, filters, finder)
        excluded.update([reason] if reason else question.lacking)
        if not reason:
            of_file[question.file] += 1
            kept[question.item] = question
            pictures |= found
    if sizes and not kept:
        reasons = "; ".join(f"{n:,}: {reason}" for reason, n in excluded.items())
        labels = "; ".join(f"{name}: {', '.join(each)}" for name, each in values.items())
        raise UserError(
            f"None of the {sizes.total():,} questions of {path} is left ({reasons})"
            + (f"; its labels are {labels}." if labels else ".")
        )
    for name in layout.one:
        if len(values[name]) > 1 and name not in filters:
            raise UserError(
                f"{path} has questions for {len(values[name])} values of '{name}' "
                f"({', '.join(values[name])}), which "
                f"are different benchmarks; choose with --filter {name}={next(iter(values[name]))}."
            )
    versions = [
        f"{file.name} has {n:,} questions, the published file {layout.sizes[file.stem]:,}: it is "
        f"another version."
        for file, n in sizes.items()
        if n != layout.sizes.get(file.stem, n)
    ]
    about = {
        "averages": layout.averages,
        "filters": dict(filters),
        "excluded": dict(excluded),
        "versions": versions,
    }
    return list(kept.values()), pictures, about


def _of_images(questions: Iterable[Question], finder: Finder | None) -> Iterator[Question]:
    """Yields the questions; a question with folders once for each of their images."""
    for question in questions:
        images = finder.images_in(question.folders) if finder else []
        if images:
            yield from map(question.of, images)
        elif finder and question.folders:
            yield replace(
                question, images=(Shown(tuple(f"{name}/*.png" for name in question.folders)),)
            )
        else:
            yield question


def _left_out(question: Question, filters: Mapping[str, str], kept: int) -> str:
    """Why a question is left out, missing images aside; "" if it is not. kept: number of its file's
    questions so far. Raises UserError for one image twice, and as `_check_texts`."""
    if len({each.id for each in question.images}) < len(question.images):
        raise UserError(
            f"{question.place} has one image twice, expected {len(question.images)} different "
            f"images."
        )
    if question.excluded:
        return question.excluded
    _check_texts(question)
    for name, value in filters.items():
        if name not in _GENERAL and question.labels.get(name) != value:
            return f"its {name} is not {value}"
    return BEYOND_FIRST if FIRST in filters and kept >= int(filters[FIRST]) else ""


def _found(
    question: Question, filters: Mapping[str, str], finder: Finder | None
) -> tuple[dict[str, Picture], str]:
    """The images of a question by id, and "" or why it is left out. Without the filter PRESENT, a
    missing image raises UserError."""
    found: dict[str, Picture] = {}
    if finder is None:
        return found, ""
    for shown in question.images:
        picture = finder.find(shown)
        if picture is not None:
            found[shown.id] = picture
        elif PRESENT not in filters:
            raise UserError(
                f"{question.place} names the image {shown.names[0]}, which is not in "
                f"{finder.folder}; give the folder "
                f"of the images with --images, or leave such questions out with --filter present."
            )
        else:
            return {}, NOT_THERE
    return found, ""


def _check_texts(question: Question) -> None:
    """Raises UserError for a text that is not valid Unicode, which tables cannot hold."""
    try:
        "".join(question.texts).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise UserError(
            f"{question.place} has {half!r} in a text, half a character; correct the file."
        ) from None
