"""A question of a benchmark of others: which texts are true of which images, and where its file says so."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.protocols.items import COUNTS
from generator.base.errors import UserError

Box = tuple[int, int, int, int]
"""Left, upper, right and lower edge, in pixels."""


@dataclass(frozen=True)
class Cell:
    """An image in a cell of a Parquet file: its row, from 0, its column, and the SHA-256 of its bytes."""

    file: Path
    row: int
    column: str
    digest: str


@dataclass(frozen=True)
class Shown:
    """An image that a question names: a cell, or the names that its file may have, the likeliest first. box: the part
    that is shown."""

    names: tuple[str, ...] = ()
    cell: Cell | None = None
    box: Box | None = None

    @property
    def whole(self) -> str:
        """The id of the image without its box."""
        return self.cell.digest[:16] if self.cell else self.names[0]

    @property
    def id(self) -> str:
        """The id of what is shown."""
        return self.whole + ("@" + ",".join(map(str, self.box)) if self.box else "")


@dataclass(frozen=True)
class Question:
    """Images, texts, and for each image which texts are true of it.

    One image with true and false texts is asked as `binary`; two images with two texts, text k true of image k alone,
    as `pairs`. item: an id. truth: without it text k alone is true of image k. place, file: where
    the question stands, for messages. cluster: equal for questions that are not independent; None for those of the
    same first image. kind, skill: groups of questions that get rows of their own.

    protocol: another one for questions of one image. slots: the slot of each text; without them true texts are `c`,
    false ones `n`. candidate_kinds: for each text the kind of error that it is. level, counts: those of the caption
    `c`; counts of its objects, attributes and relations, None where they are unknown. again: whether its texts are
    those of other questions of its images once more, so that an audit of texts counts them there.

    labels: what filters choose by. excluded: why it cannot be asked, "" where it can. lacking: for each text of the
    file that it does not have, why. folders: names that a folder of images may have, each of which is asked the
    question in place of `images`.
    """

    item: str
    images: tuple[Shown, ...]
    texts: tuple[str, ...]
    truth: tuple[tuple[bool, ...], ...] = ()
    place: str = ""
    file: Path = Path()
    cluster: str | None = None
    kind: str = ""
    split: str = ""
    skill: str = ""
    protocol: str = "binary"
    slots: tuple[str, ...] = ()
    candidate_kinds: tuple[str, ...] = ()
    level: str = ""
    counts: tuple[int | None, int | None, int | None] = (None, None, None)
    again: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    excluded: str = ""
    lacking: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        """The cluster, or the first image without its box."""
        return self.images[0].whole if self.cluster is None else self.cluster

    @property
    def slot_of(self) -> tuple[str, ...]:
        """The slot of each text; of two images the numbers of the captions."""
        if len(self.images) > 1:
            return tuple(map(str, range(len(self.texts))))
        return self.slots or tuple("c" if true else "n" for true in self.truths[0])

    @property
    def truths(self) -> tuple[tuple[bool, ...], ...]:
        """For each image, of a folder for all, which texts are true of it."""
        own = range(max(1, len(self.images)))
        return self.truth or tuple(tuple(text == image for text in range(len(self.texts))) for image in own)

    def of(self, image: str) -> "Question":
        """The question of one image of its folder."""
        return replace(self, item=f"{self.item}/{Path(image).stem}", images=(Shown((image,)),), folders=())


def candidates_of(questions: Iterable[Question], source: Path) -> pa.Table:
    """Questions as a table with one row a candidate (evaluator.benchmarks.candidates.COLUMNS, without scores).

    Raises UserError for a question that no protocol asks.
    """
    rows = [row for question in questions for row in _rows(question, source)]
    if not rows:
        raise UserError(f"{source} has no questions; give the files that its authors publish.")
    types = dict.fromkeys(COUNTS, pa.int64())
    return pa.table({name: pa.array([row[name] for row in rows], types.get(name)) for name in rows[0]})


def _rows(question: Question, source: Path) -> list[dict[str, Any]]:
    """The candidates of a question. Level and counts stand with the caption `c`, or with both captions of two
    images."""
    pairs = question.truths == ((True, False), (False, True))
    if not pairs and not (len(question.images) == 1 and {True, False} == set(question.truths[0])):
        raise UserError(
            f"Question {question.item} of {source} has {len(question.images)} images and {len(question.texts)} texts "
            f"with the "
            f"truths {question.truths}; expected one image with true and false texts, or two images with a text each."
        )
    described = {"level": question.level, **dict(zip(COUNTS, question.counts, strict=True))}
    of_others = {"level": "", **dict.fromkeys(COUNTS)}
    kinds = question.candidate_kinds or ("",) * len(question.texts)
    return [
        {
            **{name: getattr(question, name) for name in ("item", "kind", "skill", "split")},
            "cluster": question.group,
            "protocol": "pairs" if pairs else question.protocol,
            "image": image.id,
            "slot": slot,
            "truth": true,
            "text": text,
            "candidate_kind": kind,
            **(described if pairs or slot == "c" else of_others),
        }
        for image, truths in zip(question.images, question.truths, strict=True)
        for text, true, slot, kind in zip(question.texts, truths, question.slot_of, kinds, strict=True)
    ]
