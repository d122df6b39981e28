"""Reads the questions of a benchmark of others: those that filters keep, each id once; what was left out is counted by reason."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evaluator.benchmarks.asked import Asked, Shown
from evaluator.benchmarks.filters import Filters
from evaluator.benchmarks.finder import Finder
from evaluator.benchmarks.pictures import Picture
from evaluator.benchmarks.questions import Question
from generator.base.errors import UserError

NOT_THERE = "its image is not there"
BEYOND_FIRST = "it is not among the first of its file"


@dataclass(frozen=True)
class Layout:
    """How the authors of a benchmark publish it.

    read: gives the questions of a file or folder. labels: those of questions that filters choose by, with what they say. one: labels
    of which a run must have one value, since questions of several are not one benchmark. averages: the authors average over
    categories. sizes: the numbers of questions of published files by name without suffix.
    """

    read: Callable[[Path], Iterator[Asked]]
    labels: Mapping[str, str] = field(default_factory=dict)
    one: tuple[str, ...] = ()
    averages: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict)


class Reading:
    """Iterates once over the questions that are kept, each with its images by id; without a finder no image is looked for."""

    def __init__(self, layout: Layout, path: Path, filters: Filters, finder: Finder | None):
        self._layout, self._path, self._filters, self._finder = layout, path, filters, finder
        self._excluded: Counter[str] = Counter()
        self._sizes: Counter[Path] = Counter()
        self._values: dict[str, dict[str, None]] = defaultdict(dict)

    def __iter__(self) -> Iterator[tuple[Question, dict[str, Picture]]]:
        """Raises UserError for files that cannot be read, images that are missing, ids that occur twice, questions of which nothing
        is left, and several values of a label that must have one."""
        seen: set[str] = set()
        kept: Counter[Path] = Counter()
        for asked in self._asked():
            item = asked.question.item
            if item in seen:
                raise UserError(f"{self._path} has two questions with the id {item}; keep one of them.")
            seen.add(item)
            self._sizes[asked.file] += 1
            for name, value in asked.labels.items():
                self._values[name][value] = None
            pictures, reason = self._found(asked)
            if not reason and self._filters.first is not None and kept[asked.file] >= self._filters.first:
                reason = BEYOND_FIRST
            self._excluded.update([reason] if reason else asked.lacking)
            if not reason:
                kept[asked.file] += 1
                yield asked.question, pictures
        self._check(kept.total())

    @property
    def about(self) -> dict[str, Any]:
        """What results say: whether the authors average over categories, the filters, what was left out by reason, and which files
        are not as published."""
        return {
            "averages": self._layout.averages, "filters": self._filters.given, "excluded": dict(self._excluded),
            "versions": [
                f"{file.name} has {found:,} questions, the published one {self._layout.sizes[file.stem]:,}: it is another version."
                for file, found in self._sizes.items() if found != self._layout.sizes.get(file.stem, found)
            ],
        }  # fmt: skip

    def _asked(self) -> Iterator[Asked]:
        """The questions of the files, those of folders for each of their images."""
        for asked in self._layout.read(self._path):
            images = self._finder.images_in(asked.folders) if self._finder else []
            if images:
                yield from map(asked.of, images)
            elif self._finder and asked.folders:
                yield replace(asked, images=(Shown(tuple(f"{name}/*.png" for name in asked.folders)),))
            else:
                yield asked

    def _found(self, asked: Asked) -> tuple[dict[str, Picture], str]:
        """The images of a question by id, or why it is left out."""
        if len({each.id for each in asked.images}) < len(asked.images):
            raise UserError(f"{asked.place} has one image twice, expected {len(asked.images)}.")
        if asked.excluded:
            return {}, asked.excluded
        _check_texts(asked)
        for name, value in self._filters.labels.items():
            if asked.labels.get(name) != value:
                return {}, f"its {name} is not {value}"
        if self._finder is None:
            return {}, ""
        found = {each.id: self._finder.find(each) for each in asked.images}
        missing = [each for each in asked.images if found[each.id] is None]
        if missing and not self._filters.present:
            raise UserError(
                f"{asked.place} names the image {missing[0].names[0]}, which is not in {self._finder.folder}; give the folder of the "
                "images with --images, or leave such questions out with --filter present."
            )
        return {name: each for name, each in found.items() if each is not None}, NOT_THERE if missing else ""

    def _check(self, kept: int) -> None:
        if not self._sizes:
            return
        if not kept:
            reasons = "; ".join(f"{n:,}: {reason}" for reason, n in self._excluded.items())
            values = "; ".join(f"{name}: {', '.join(found)}" for name, found in self._values.items())
            raise UserError(
                f"None of the {self._sizes.total():,} questions of {self._path} is left ({reasons})"
                + (f"; its labels are {values}." if values else ".")
            )
        for name in self._layout.one:
            found = [self._filters.labels[name]] if name in self._filters.labels else list(self._values[name])
            if len(found) > 1:
                raise UserError(
                    f"{self._path} has questions for {len(found)} of '{name}' ({', '.join(found)}), which are no one benchmark; choose with "
                    f"--filter {name}={found[0]}."
                )


def _check_texts(asked: Asked) -> None:
    """Raises UserError for a text that no table can hold."""
    try:
        "".join(asked.question.texts).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise UserError(f"{asked.place} has {half!r} in a text, half of a character; mend it there.") from None
