"""A question of a published benchmark: its images, its texts, and which texts are true of which
images."""

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
    """An image in a cell of a Parquet file: its row, from 0, its column, and the SHA-256 of its
    bytes."""

    file: Path
    row: int
    column: str
    digest: str


@dataclass(frozen=True)
class Shown:
    """An image that a question names. cell: in a Parquet file. names: else, names that its file may
    have, likeliest first. box: the part that is shown."""

    names: tuple[str, ...] = ()
    cell: Cell | None = None
    box: Box | None = None

    @property
    def whole(self) -> str:
        """The id of the image without its box."""
        return self.cell.digest[:16] if self.cell else self.names[0]

    @property
    def id(self) -> str:
        """The id of the image, with its box if it has one."""
        return self.whole + ("@" + ",".join(map(str, self.box)) if self.box else "")


@dataclass(frozen=True)
class Question:
    """Images, texts, and for each image which texts are true of it.

    One image with true and false texts is asked as `protocol`; two images with two texts, text k
    true only of image k, as `pairs`. item: an id. truth: for each image, whether each text is true;
    empty: text k is true only of image k. place, file: the source, for messages. cluster: equal for
    questions that are not independent; None: equal for the same first image. kind, skill: results
    have rows for each.

    slots: the slot of each text; empty: `c` for true texts, `n` for false texts. candidate_kinds:
        the kind of error of
    each text. level, counts: of the caption `c`; counts of its objects, attributes and relations,
    None if unknown.
    again: its texts duplicate texts of other questions, which an audit of texts counts instead.

    labels: values that filters test. excluded: why it cannot be asked, "" if it can. lacking: a
        reason for each text of
    the file that was dropped. folders: possible names of an image folder; the question is asked of
    each of its images,
    in place of `images`.
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
        """The slot of each text; for two images, the index of the caption."""
        if len(self.images) > 1:
            return tuple(map(str, range(len(self.texts))))
        return self.slots or tuple("c" if true else "n" for true in self.truths[0])

    @property
    def truths(self) -> tuple[tuple[bool, ...], ...]:
        """For each image, whether each text is true of it; for a folder, one entry for all its
        images."""
        own = range(max(1, len(self.images)))
        return self.truth or tuple(
            tuple(text == image for text in range(len(self.texts))) for image in own
        )

    def of(self, image: str) -> "Question":
        """The question, asked of one image of its folder."""
        return replace(
            self, item=f"{self.item}/{Path(image).stem}", images=(Shown((image,)),), folders=()
        )


def candidates_of(questions: Iterable[Question], source: Path) -> pa.Table:
    """Convert questions to a table with a row for each candidate
    (evaluator.benchmarks.candidates.COLUMNS, no scores).

    Raises UserError if there are no questions, or for a question that no protocol can ask.
    """
    rows = [row for question in questions for row in _rows(question, source)]
    if not rows:
        raise UserError(f"{source} has no questions; give the files that its authors publish.")
    types = dict.fromkeys(COUNTS, pa.int64())
    return pa.table(
        {name: pa.array([row[name] for row in rows], types.get(name)) for name in rows[0]}
    )


def _rows(question: Question, source: Path) -> list[dict[str, Any]]:
    """The rows of a question's candidates. Only the caption `c`, or both captions of two images,
    get level and counts."""
    pairs = question.truths == ((True, False), (False, True))
    if not pairs and not (len(question.images) == 1 and {True, False} == set(question.truths[0])):
        raise UserError(
            f"Question {question.item} of {source} has {len(question.images)} images and "
            f"{len(question.texts)} texts with the truths {question.truths}; expected one image "
            f"with true and false texts, or two images with a text each."
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
        for text, true, slot, kind in zip(
            question.texts, truths, question.slot_of, kinds, strict=True
        )
    ]
