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

_OWN_TEXT_ONLY = ((True, False), (False, True))
"""The truths of two images with a text each, the only form of question with two images."""


@dataclass(frozen=True)
class Cell:
    """An image in a cell of a Parquet file."""

    file: Path
    """The Parquet file."""
    row: int
    """Row of the file, from 0."""
    column: str
    """Column of the file."""
    digest: str
    """SHA-256 of the encoded image, in hex digits."""


@dataclass(frozen=True)
class ImageRef:
    """An image that a question names, or the part of it inside a box."""

    names: tuple[str, ...] = ()
    """Names that the image's file may have, likeliest first; () for an image in a cell."""
    cell: Cell | None = None
    """The cell that holds the image; None for an image in a file of its own."""
    box: Box | None = None
    """The part of the image that the question is about; None for the whole image."""

    @property
    def whole_id(self) -> str:
        """The id of the image without its box."""
        # A cell has no name; by its digest, equal images of several rows are one.
        return self.cell.digest[:16] if self.cell else self.names[0]

    @property
    def id(self) -> str:
        """The id of the image, with its box if it has one.

        >>> ImageRef(("7.jpg",), box=(0, 10, 20, 30)).id
        '7.jpg@0,10,20,30'
        """
        if self.box is None:
            return self.whole_id
        edges = ",".join(map(str, self.box))
        return f"{self.whole_id}@{edges}"


@dataclass(frozen=True)
class Origin:
    """Where a question stands in the files of its benchmark."""

    place: str = ""
    """The place, as messages name it, such as "Row 3 of swap_att.json"."""
    file: Path = Path()
    """The file; the filter `first` counts by it."""


@dataclass(frozen=True)
class QuestionLabels:
    """The groups that results and filters put a question in."""

    kind: str = ""
    """Results have rows for each kind."""
    split: str = ""
    """Results have rows for each split; "" for a benchmark without splits."""
    skill: str = ""
    """Results have rows for each skill within a kind."""
    cluster: str | None = None
    """Equal for questions that are not independent. None: equal for the same first image."""
    filterable: Mapping[str, str] = field(default_factory=dict)
    """Value of each label that `--filter` can test, by the label's name."""


@dataclass(frozen=True)
class TextDetails:
    """What is known of the texts of a question, besides which are true."""

    slots: tuple[str, ...] = ()
    """Slot of each text. (): `c` for true texts and `n` for false texts."""
    error_kinds: tuple[str, ...] = ()
    """Kind of error of each text, "" for a true text; () if the kinds are unknown."""
    level: str = ""
    """Level of the caption in the slot `c`, such as OA for objects and attributes."""
    counts: tuple[int | None, int | None, int | None] = (None, None, None)
    """Number of objects, attributes and relations in the caption in the slot `c`; None: unknown."""


@dataclass(frozen=True)
class Omissions:
    """What a reader leaves out of a question, or counts elsewhere."""

    excluded: str = ""
    """Why the whole question cannot be asked; "" if it can."""
    dropped_texts: tuple[str, ...] = ()
    """A reason for each text of the file that is not a text of the question."""
    is_duplicate: bool = False
    """Whether its texts repeat those of other questions, which an audit of texts counts instead."""


@dataclass(frozen=True)
class PublishedQuestion:
    """Images, texts, and for each image which texts are true of it.

    One image with true and false texts is asked as `protocol`. Two images with two texts, text k
    true only of image k, are asked as `pairs`.
    """

    item: str
    """Id of the question, unique in its benchmark."""
    images: tuple[ImageRef, ...]
    """One or two images; () for a question about each image of a folder, or without images."""
    texts: tuple[str, ...]
    """The texts to compare."""
    truth: tuple[tuple[bool, ...], ...] = ()
    """For each image, whether each text is true of it. (): text k is true only of image k."""
    protocol: str = "binary"
    """The protocol that asks a question with one image."""
    image_folders: tuple[str, ...] = ()
    """Possible names of a folder whose images are asked about one by one, in place of `images`."""
    origin: Origin = Origin()
    """Where the question stands in the files, for messages."""
    labels: QuestionLabels = QuestionLabels()
    """The groups that the question belongs to."""
    details: TextDetails = TextDetails()
    """Slots, kinds of error and sizes of the texts."""
    omissions: Omissions = Omissions()
    """What is left out of the question."""

    @property
    def cluster(self) -> str:
        """The cluster, by default the first image without its box."""
        if self.labels.cluster is None:
            return self.images[0].whole_id
        return self.labels.cluster

    @property
    def slots(self) -> tuple[str, ...]:
        """The slot of each text; for two images, the index of the caption."""
        if len(self.images) > 1:
            return tuple(str(number) for number in range(len(self.texts)))
        if self.details.slots:
            return self.details.slots
        return tuple("c" if is_true else "n" for is_true in self.truths[0])

    @property
    def truths(self) -> tuple[tuple[bool, ...], ...]:
        """For each image, whether each text is true of it; for a folder, one entry that holds for
        all its images."""
        if self.truth:
            return self.truth
        # The images of a folder are asked about one by one.
        image_count = max(1, len(self.images))
        truths = []
        for image in range(image_count):
            truths.append(tuple(text == image for text in range(len(self.texts))))
        return tuple(truths)

    def about_image(self, path: str) -> "PublishedQuestion":
        """The same question about one image of its folder."""
        return replace(
            self,
            item=f"{self.item}/{Path(path).stem}",
            images=(ImageRef((path,)),),
            image_folders=(),
        )


def make_candidate_table(questions: Iterable[PublishedQuestion], source: Path) -> pa.Table:
    """Convert questions to a table with a row for each candidate, a pair of an image and a text.

    Args:
        questions: The questions of a benchmark.
        source: The file or folder that they were read from, for messages.

    Returns:
        The columns `evaluator.benchmarks.candidates.COLUMNS`, without `score`.

    Raises:
        UserError: There are no questions, or no protocol can ask one of them.

    >>> question = PublishedQuestion("1", (ImageRef(("dog.jpg",)),), ("a dog", "a cat"))
    >>> table = make_candidate_table([question], Path("pets"))
    >>> table.select(["image", "slot", "text"]).to_pylist()[1]
    {'image': 'dog.jpg', 'slot': 'n', 'text': 'a cat'}
    """
    rows: list[dict[str, Any]] = []
    for question in questions:
        rows += _candidate_rows(question, source)
    if not rows:
        raise UserError(f"{source} has no questions; give the files that its authors publish.")
    # Unknown counts alone would make a column of the type null.
    types = dict.fromkeys(COUNTS, pa.int64())
    columns = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        columns[name] = pa.array(values, types.get(name))
    return pa.table(columns)


def _candidate_rows(question: PublishedQuestion, source: Path) -> list[dict[str, Any]]:
    """The rows of a question's candidates, image by image."""
    _check_form(question, source)
    is_pair = question.truths == _OWN_TEXT_ONLY
    error_kinds = question.details.error_kinds or ("",) * len(question.texts)

    # Level and counts describe a caption: that in the slot `c`, or both captions of two images.
    counts = dict(zip(COUNTS, question.details.counts, strict=True))
    of_caption = {"level": question.details.level, **counts}
    of_other_text = {"level": "", **dict.fromkeys(COUNTS)}

    rows = []
    for image, truths in zip(question.images, question.truths, strict=True):
        texts = zip(question.texts, truths, question.slots, error_kinds, strict=True)
        for text, is_true, slot, error_kind in texts:
            row = {
                "item": question.item,
                "kind": question.labels.kind,
                "skill": question.labels.skill,
                "split": question.labels.split,
                "cluster": question.cluster,
                "protocol": "pairs" if is_pair else question.protocol,
                "image": image.id,
                "slot": slot,
                "truth": is_true,
                "text": text,
                "candidate_kind": error_kind,
            }
            is_caption = is_pair or slot == "c"
            rows.append(row | (of_caption if is_caption else of_other_text))
    return rows


def _check_form(question: PublishedQuestion, source: Path) -> None:
    """Raise UserError unless a protocol can ask the question."""
    if question.truths == _OWN_TEXT_ONLY:
        return
    if len(question.images) == 1 and set(question.truths[0]) == {True, False}:
        return
    raise UserError(
        f"Question {question.item} of {source} has {len(question.images)} images and "
        f"{len(question.texts)} texts with the truths {question.truths}; expected one image "
        f"with true and false texts, or two images with a text each."
    )
