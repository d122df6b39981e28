"""Questions of a benchmark of others: which texts are true of which images."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.benchmarks.pictures import Pictures
from evaluator.protocols.items import COUNTS
from generator.base.errors import UserError


@dataclass(frozen=True)
class Question:
    """Images by id, texts, and for each image which texts are true of it.

    One image with true and false texts is asked as `binary`; two images with two texts, text k true of image k alone, as
    `pairs`. cluster: equal for questions that are not independent, "" for those of one image. kind, skill: groups of questions
    that get rows of their own. item: an id.

    protocol: another one for questions of one image. slots: the slot of each text; without them true texts are `c`, false
    ones `n`. candidate_kinds: for each text the kind of error that it is. level, counts: those of the caption `c`; counts of
    its objects, attributes and relations, None where they are unknown. again: whether its texts are those of other questions of its
    images once more, so that an audit of texts counts them there.
    """

    item: str
    images: tuple[str, ...]
    texts: tuple[str, ...]
    truth: tuple[tuple[bool, ...], ...]
    cluster: str = ""
    kind: str = ""
    split: str = ""
    skill: str = ""
    protocol: str = "binary"
    slots: tuple[str, ...] = ()
    candidate_kinds: tuple[str, ...] = ()
    level: str = ""
    counts: tuple[int | None, int | None, int | None] = (None, None, None)
    again: bool = False

    @property
    def slot_of(self) -> tuple[str, ...]:
        """The slot of each text; of two images the numbers of the captions."""
        if len(self.images) > 1:
            return tuple(map(str, range(len(self.texts))))
        return self.slots or tuple("c" if true else "n" for true in self.truth[0])


@dataclass(frozen=True)
class External:
    """A benchmark of others. table: one row a candidate (evaluator.benchmarks.score_tables.candidates.COLUMNS, without scores). about: what
    results say of how it was read (evaluator.benchmarks.reading)."""

    table: pa.Table
    pictures: Pictures
    about: Mapping[str, Any] = field(default_factory=dict)


def candidates_of(questions: Iterable[Question], source: Path) -> pa.Table:
    """Questions as a table with one row a candidate. Raises UserError for a question that no protocol asks."""
    rows = [row for question in questions for row in _rows(question, source)]
    if not rows:
        raise UserError(f"{source} has no questions; give the files that its authors publish.")
    names = (
        "item", "protocol", "kind", "skill", "split", "cluster", "image", "slot", "truth", "candidate_kind", "text", "level", *COUNTS,
    )  # fmt: skip
    return pa.table({name: pa.array([row[name] for row in rows], _type(name)) for name in names})


def _type(name: str) -> pa.DataType | None:
    return pa.int64() if name in COUNTS else None


def _rows(question: Question, source: Path) -> list[dict[str, Any]]:
    common = {name: getattr(question, name) for name in ("item", "kind", "skill", "split", "cluster")}
    described = {"level": question.level, **dict(zip(COUNTS, question.counts, strict=True))}
    of_others = {"level": "", **dict.fromkeys(COUNTS)}
    kinds = question.candidate_kinds or ("",) * len(question.texts)
    slots = question.slot_of
    if len(question.images) == 1 and {True, False} == set(question.truth[0]):
        (image,), (truth,), protocol = question.images, question.truth, question.protocol
        return [
            {
                **common, "protocol": protocol, "image": image, "slot": slot, "truth": true, "text": text, "candidate_kind": kind,
                **(described if slot == "c" else of_others),
            }
            for text, true, slot, kind in zip(question.texts, truth, slots, kinds, strict=True)
        ]  # fmt: skip
    if question.truth == ((True, False), (False, True)):
        return [
            {
                **common, "protocol": "pairs", "image": image, "slot": slot, "truth": true, "text": text, "candidate_kind": kind,
                **described,
            }
            for image, truths in zip(question.images, question.truth, strict=True)
            for text, true, slot, kind in zip(question.texts, truths, slots, kinds, strict=True)
        ]  # fmt: skip
    raise UserError(
        f"Question {question.item} of {source} has {len(question.images)} images and {len(question.texts)} texts with the truths "
        f"{question.truth}; expected one image with true and false texts, or two images with a text each."
    )
