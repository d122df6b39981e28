"""Turns the items of a benchmark into questions in words.

An option of a question is a candidate, an image with a text. It is identified by its row in the
benchmark's table of candidates.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, NamedTuple

import pyarrow.compute as pc

from generator.base.streams import Stream
from generator.dataset.reader import Benchmark

CHOICE, IMAGES, MATCHING, YES_NO = "choice", "images", "matching", "yes-no"
MOST = 5
"""The most options of a choice."""
Form = Literal["choice", "yes-no"]
PAIRS = "pairs"
_TRUE = ("c", "p")
"""Slots of true captions that are compared with the foils of slot n."""


@dataclass(frozen=True)
class Question:
    """A question about an item: which of several options is true, or whether a single option is
    true.

    form: CHOICE (captions of an image), IMAGES (images of a caption), MATCHING (which of two
        captions belongs to which
    of two images) or YES_NO. options: rows of candidates in the order shown; for MATCHING the first
    image with the
    first caption and with the second. true: the row of the true option, None for YES_NO. order:
    number of this cyclic
    order, from 0.
    """

    item: str
    form: str
    options: tuple[int, ...]
    true: int | None = None
    order: int = 0


_ID = re.compile(
    r"(?P<item>.+)\.(?P<number>\d{1,6})of(?P<whole>\d{1,6})\.(?P<options>\d{1,9}((-\d{1,9})*|\+\d{1,9}))\.(?P<of>\w{8})"
)
_BETWEEN_ASSIGNMENTS = "+"
"""Joins the two rows in the id of a question about MATCHING, which else looks like a choice of a
caption."""


def question_id(question: Question, number: int, whole: int, benchmark: Benchmark) -> str:
    """The id of the `number`-th of `whole` questions about an item: ITEM.1of4.ROWS.BENCHMARK, with
    the rows of its options in the order shown and the first 8 characters of the benchmark's digest;
    ROWS is 35+34 for MATCHING."""
    options = (_BETWEEN_ASSIGNMENTS if question.form == MATCHING else "-").join(
        map(str, question.options)
    )
    return f"{question.item}.{number}of{whole}.{options}.{benchmark.digest[:8]}"


class Named(NamedTuple):
    """The parts of a question's id. benchmark: the first 8 characters of its digest. matching:
    whether the form is MATCHING."""

    item: str
    number: int
    whole: int
    options: tuple[int, ...]
    benchmark: str
    matching: bool


def read_id(name: str) -> Named | None:
    """Parse a question's id; returns None for any other text.

    >>> read_id("binary-000017-0.1of2.35-34.0a1b2c3d").options
    (35, 34)
    """
    found = _ID.fullmatch(name)
    if found is None:
        return None
    matching = _BETWEEN_ASSIGNMENTS in found["options"]
    options = tuple(map(int, found["options"].split(_BETWEEN_ASSIGNMENTS if matching else "-")))
    return Named(
        found["item"], int(found["number"]), int(found["whole"]), options, found["of"], matching
    )


class Candidates:
    """All candidates of a benchmark by their row: lists of the item, scene, slot, kind, truth and
    words of each."""

    def __init__(self, benchmark: Benchmark):
        columns = benchmark.candidates.select(
            ["item_id", "scene_id", "text_id", "slot", "kind", "truth"]
        ).to_pydict()
        self.item, self.scene, self.slot = columns["item_id"], columns["scene_id"], columns["slot"]
        self.kind, self.truth = [kind or "" for kind in columns["kind"]], columns["truth"]
        self.text = [benchmark.text_of[text] for text in columns["text_id"]]
        self._scenes_of: dict[str, list[str]] = {}

    def scenes_of(self, item: str) -> list[str]:
        """The scenes of an item's candidates, in order, each once."""
        if not self._scenes_of:
            for name, scene in dict.fromkeys(zip(self.item, self.scene, strict=True)):
                self._scenes_of.setdefault(name, []).append(scene)
        return self._scenes_of[item]

    def images_of(self, question: Question) -> list[str]:
        """The scenes whose images a question shows, in this order."""
        scenes = [self.scene[row] for row in question.options]
        if question.form == IMAGES:
            return scenes
        if question.form == MATCHING:
            return [
                scenes[0],
                *(scene for scene in self.scenes_of(question.item) if scene != scenes[0]),
            ]
        return scenes[:1]


def make_questions(
    benchmark: Benchmark,
    rows: Candidates,
    protocols: Sequence[str],
    form: Form,
    orders: int | None = None,
) -> list[Question]:
    """Returns the questions of the items of some protocols. orders: number of cyclic orders of its
    options in which a choice is asked; None for all. A question about MATCHING is asked with each
    image first, in these orders of its captions.

    A choice has a true caption and at most MOST - 1 false captions. If there are more, they are
    drawn evenly over their kinds. This draw and the first order are seeded by the item's name.
    Items with a pool have no questions.
    """
    wanted = pc.field("protocol").isin(list(protocols)) & pc.field("pool_id").is_null()
    chosen = benchmark.items.filter(wanted).select(["item_id", "protocol"]).to_pydict()
    of_item: dict[str, list[int]] = {item: [] for item in chosen["item_id"]}
    for row, item in enumerate(rows.item):
        if item in of_item:
            of_item[item].append(row)
    found = []
    for (item, own), protocol in zip(of_item.items(), chosen["protocol"], strict=True):
        groups = _pairs(own, rows) if protocol == PAIRS else _choices(item, own, rows)
        if form == YES_NO:
            found += [
                Question(item, YES_NO, (row,))
                for row in dict.fromkeys(r for _, each in groups for r in each)
            ]
            continue
        for number, (kind, options) in enumerate(groups):
            shown = Stream(item, "order", number).shuffled(options)
            for order in range(min(len(shown), orders or len(shown))):
                found.append(
                    Question(item, kind, (*shown[order:], *shown[:order]), options[0], order)
                )
    return found


Group = tuple[str, list[int]]
"""The form of a question, and the rows of its options, the true option first."""


def _choices(item: str, own: Sequence[int], rows: Candidates) -> list[Group]:
    """A choice for each slot with false captions, with the true caption of that slot; for slot n,
    one with c and one with p. A slot without a true caption takes c. Choices with several images
    are left out."""
    groups: list[Group] = []
    for slot in dict.fromkeys(rows.slot[row] for row in own if not rows.truth[row]):
        of_kind: dict[str, list[int]] = defaultdict(list)
        true: dict[str, int] = {}
        for row in own:
            if rows.truth[row]:
                true.setdefault(rows.slot[row], row)
            elif rows.slot[row] == slot:
                of_kind[rows.kind[row]].append(row)
        shuffled = (Stream(item, slot, kind).shuffled(of_kind[kind]) for kind in sorted(of_kind))
        false = [row for turn in zip_longest(*shuffled) for row in turn if row is not None][
            : MOST - 1
        ]
        asked = [true[each] for each in (_TRUE if slot == "n" else (slot,)) if each in true]
        groups += [
            (CHOICE, [row, *sorted(false)])
            for row in asked or [true[each] for each in "c" if each in true]
        ]
    return [group for group in groups if len({rows.scene[row] for row in group[1]}) == 1]


def _pairs(own: Sequence[int], rows: Candidates) -> list[Group]:
    """The questions of two images and two captions: the true caption of each image, the true image
    of each caption, and which caption belongs to which image, with each of the images first."""
    groups: list[Group] = []
    for form, names in ((CHOICE, rows.scene), (IMAGES, rows.slot), (MATCHING, rows.scene)):
        for name in sorted({names[row] for row in own}):
            of = [row for row in own if names[row] == name]
            if sorted(rows.truth[row] for row in of) == [False, True]:
                groups.append((form, sorted(of, key=lambda row: not rows.truth[row])))
    return groups
