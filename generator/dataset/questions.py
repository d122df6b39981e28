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
"""The forms of questions: which of several captions belongs to an image; which of two images to a
caption; which of two captions to which of two images; whether a caption belongs to an image."""
SAME_SCENE, QUARTER_TURNS, TAKEN_FROM = "same-scene", "quarter-turns", "taken-from"
"""Forms of questions about the views of a world (protocol `views`): which of two images shows the
scene of a first one; how far the camera moved from the first image to the second; on which side of
an object it stood for the second."""
VIEW_FORMS = (SAME_SCENE, QUARTER_TURNS, TAKEN_FROM)
VIEWS = "views"
"""The protocol of these questions. They are only asked in words, and never with yes or no."""
FIRST_IMAGE = "first"
"""The slot of the first image of such a question."""
MOST = 5
"""The most options of a choice."""
Form = Literal["choice", "yes-no"]
TWO_IMAGES = ("pairs", "frames")
"""Protocols whose items may have two images."""
WITHOUT_RIGHT_ANSWER = ("frames", "assumed")
"""The protocol and kind of items whose options are all right for somebody. `score ask` asks them;
tools and rewards, which need a right answer, do not."""
_TRUE_SLOTS = ("c", "p")
"""Slots of true captions that are compared with the foils of slot n."""


@dataclass(frozen=True)
class Question:
    """A question about an item: which of several options is true, or whether a single option is
    true."""

    item: str
    """item_id of the item."""
    form: str
    """CHOICE, IMAGES, MATCHING, YES_NO or one of VIEW_FORMS."""
    options: tuple[int, ...]
    """Rows of candidates in the order shown; for MATCHING the first image with the first caption,
    and with the second."""
    true: int | None = None
    """Row of the true option; None for YES_NO."""
    order: int = 0
    """Number of this cyclic order of the options, from 0."""


# Numbers have few digits: an id comes from the log of another tool, and may be anything.
_ID = re.compile(
    r"(?P<item>.+)\.(?P<number>\d{1,6})of(?P<whole>\d{1,6})\.(?P<options>\d{1,9}((-\d{1,9})*|\+\d{1,9}))\.(?P<of>\w{8})"
)
_BETWEEN_ASSIGNMENTS = "+"
"""Joins the two rows in the id of a question about MATCHING, which else looks like a choice of a
caption."""


def question_id(question: Question, *, number: int, whole: int, benchmark: Benchmark) -> str:
    """Compose the id of a question: ITEM.1of4.ROWS.BENCHMARK.

    Args:
        question: The question.
        number: Its number among the questions about its item, from 1.
        whole: How many questions about the item there are.
        benchmark: The benchmark of the item.

    Returns:
        The id. ROWS are the rows of the options in the order shown, such as 35-34, or 35+34 for
        MATCHING; BENCHMARK is the beginning of the benchmark's digest, 8 characters.
    """
    separator = _BETWEEN_ASSIGNMENTS if question.form == MATCHING else "-"
    options = separator.join(map(str, question.options))
    return f"{question.item}.{number}of{whole}.{options}.{benchmark.digest[:8]}"


class QuestionId(NamedTuple):
    """The parts of a question's id."""

    item: str
    """item_id of the item."""
    number: int
    """Number of the question among those about its item, from 1."""
    whole: int
    """How many questions about the item there are."""
    options: tuple[int, ...]
    """Rows of the options, in the order shown."""
    benchmark: str
    """The first 8 characters of the benchmark's digest."""
    matching: bool
    """Whether the form is MATCHING."""


def parse_question_id(text: str) -> QuestionId | None:
    """Parse a question's id.

    Args:
        text: What may be an id, such as a name in the log of another tool.

    Returns:
        Its parts; None for any other text.

    Example:
        >>> parse_question_id("binary-000017-0.1of2.35-34.0a1b2c3d").options
        (35, 34)
    """
    match = _ID.fullmatch(text)
    if match is None:
        return None
    is_matching = _BETWEEN_ASSIGNMENTS in match["options"]
    rows = match["options"].split(_BETWEEN_ASSIGNMENTS if is_matching else "-")
    return QuestionId(
        item=match["item"],
        number=int(match["number"]),
        whole=int(match["whole"]),
        options=tuple(map(int, rows)),
        benchmark=match["of"],
        matching=is_matching,
    )


class Candidates:
    """All candidates of a benchmark, as lists by their row: `item`, `scene`, `slot`, `kind` (empty
    for none), `truth` and `text` (its words)."""

    def __init__(self, benchmark: Benchmark):
        """Read the candidates.

        Args:
            benchmark: The benchmark.

        Raises:
            UserError: Its tables are damaged.
        """
        columns = benchmark.candidates.select(
            ["item_id", "scene_id", "text_id", "slot", "kind", "truth"]
        ).to_pydict()
        self.item: list[str] = columns["item_id"]
        self.scene: list[str] = columns["scene_id"]
        self.slot: list[str] = columns["slot"]
        self.kind: list[str] = [kind or "" for kind in columns["kind"]]
        self.truth: list[bool] = columns["truth"]
        self.text: list[str] = [benchmark.text_of[text_id] for text_id in columns["text_id"]]
        self._scenes_of: dict[str, list[str]] = {}
        items = benchmark.items.select(["item_id", "protocol", "kind"]).to_pydict()
        self._view_form_of: dict[str, str] = {}
        for item, protocol, kind in zip(*items.values(), strict=True):
            if protocol == VIEWS and kind in VIEW_FORMS:
                self._view_form_of[item] = kind

    def view_form_of(self, item: str) -> str | None:
        """The form of the questions about an item of the protocol `views`, of VIEW_FORMS; None for
        an item of another protocol."""
        return self._view_form_of.get(item)

    def scenes_of(self, item: str) -> list[str]:
        """List the scenes of an item's candidates.

        Args:
            item: item_id of the item.

        Returns:
            Their ids in the order of the table, each once.
        """
        # Made at the first question about two images: most benchmarks are asked without.
        if not self._scenes_of:
            for name, scene in dict.fromkeys(zip(self.item, self.scene, strict=True)):
                self._scenes_of.setdefault(name, []).append(scene)
        return self._scenes_of[item]

    def images_of(self, question: Question) -> list[str]:
        """List the scenes whose images a question shows.

        Args:
            question: The question.

        Returns:
            Their ids in the order in which they are shown: for IMAGES one for each option, for
            MATCHING two, else one.
        """
        scenes = [self.scene[row] for row in question.options]
        if question.form == IMAGES:
            return scenes
        if question.form in VIEW_FORMS:
            # The first image comes before the options of a question; it is none of them.
            first_image = self._first_image_of(question.options[0])
            return [first_image, *dict.fromkeys(scenes)]
        first = scenes[0]
        if question.form == MATCHING:
            others = [scene for scene in self.scenes_of(question.item) if scene != first]
            return [first, *others]
        return [first]

    def _first_image_of(self, option: int) -> str:
        """The scene of the first image of a question, given the row of an option."""
        item = self.item[option]
        # The candidates of an item are consecutive rows, the first image before the options.
        row = option
        while row > 0 and self.item[row - 1] == item:
            row -= 1
        assert self.slot[row] == FIRST_IMAGE
        return self.scene[row]


def make_questions(
    benchmark: Benchmark,
    rows: Candidates,
    *,
    protocols: Sequence[str],
    form: Form,
    orders: int | None = None,
) -> list[Question]:
    """Make the questions of the items of some protocols.

    A choice has a true caption and at most MOST - 1 false captions. If there are more, they are
    drawn evenly over their kinds. This draw and the first order are seeded by the item's name.
    Items with a pool have no questions.

    Args:
        benchmark: The benchmark.
        rows: Its candidates.
        protocols: Names of the protocols.
        form: "choice" for questions with options, or "yes-no" for one about each candidate.
        orders: Number of cyclic orders of its options in which a choice is asked; None for all. A
            question about MATCHING is asked with each image first, in these orders of its captions.

    Returns:
        The questions, by item in the order of the items table.
    """
    # A pool has too many candidates for a question in words.
    has_protocol = pc.field("protocol").isin(list(protocols))
    is_asked = has_protocol & pc.field("pool_id").is_null()
    items_in_words = benchmark.items.filter(is_asked)
    items = items_in_words.select(["item_id", "protocol"]).to_pydict()
    rows_of_item: dict[str, list[int]] = {item: [] for item in items["item_id"]}
    for row, item in enumerate(rows.item):
        if item in rows_of_item:
            rows_of_item[item].append(row)

    questions: list[Question] = []
    for (item, item_rows), protocol in zip(rows_of_item.items(), items["protocol"], strict=True):
        if protocol == VIEWS:
            # Such a question has several images, of which the form shows one.
            if form == YES_NO:
                continue
            option_sets = _option_sets_of_view(item, item_rows, rows)
        elif protocol in TWO_IMAGES and len({rows.scene[row] for row in item_rows}) > 1:
            option_sets = _option_sets_of_pair(item_rows, rows)
        else:
            option_sets = _option_sets_of_choices(item, item_rows, rows)
        if form == YES_NO:
            # A candidate that several choices contain is asked once.
            candidates = dict.fromkeys(row for _, options in option_sets for row in options)
            questions += [Question(item, YES_NO, (row,)) for row in candidates]
            continue
        for number, (kind, options) in enumerate(option_sets):
            # Seeded by the item's name, so that every tool asks the same questions.
            shuffled = Stream(item, "order", number).shuffled(options)
            n_orders = min(len(shuffled), orders or len(shuffled))
            for order in range(n_orders):
                in_order = (*shuffled[order:], *shuffled[:order])
                questions.append(Question(item, kind, in_order, true=options[0], order=order))
    return questions


OptionSet = tuple[str, list[int]]
"""The form of a question, and the rows of its options, the true option first."""


def _option_sets_of_choices(
    item: str, item_rows: Sequence[int], rows: Candidates
) -> list[OptionSet]:
    """A choice for each slot with false captions, with the true caption of that slot; for slot n,
    one with c and one with p. A slot without a true caption takes c. Choices with several images
    are left out."""
    # The first true caption of a slot counts: confusion has its caption in both orders.
    true_row: dict[str, int] = {}
    slots_with_foils: list[str] = []
    for row in item_rows:
        if rows.truth[row]:
            true_row.setdefault(rows.slot[row], row)
        elif rows.slot[row] not in slots_with_foils:
            slots_with_foils.append(rows.slot[row])

    option_sets: list[OptionSet] = []
    for slot in slots_with_foils:
        false_rows = _draw_false_rows(item, slot, item_rows=item_rows, rows=rows)
        partners = _TRUE_SLOTS if slot == "n" else (slot,)
        true_rows = [true_row[partner] for partner in partners if partner in true_row]
        if not true_rows and "c" in true_row:
            true_rows = [true_row["c"]]
        for row in true_rows:
            options = [row, *sorted(false_rows)]
            # A choice is of captions of one image.
            if len({rows.scene[option] for option in options}) == 1:
                option_sets.append((CHOICE, options))
    return option_sets


def _option_sets_of_view(item: str, item_rows: Sequence[int], rows: Candidates) -> list[OptionSet]:
    """The question about the views of a world, whose options are all but the first image."""
    form = rows.view_form_of(item)
    options = [row for row in item_rows if rows.slot[row] != FIRST_IMAGE]
    options.sort(key=lambda row: not rows.truth[row])
    if form is None or sum(rows.truth[row] for row in options) != 1:
        return []
    return [(form, options)]


def _draw_false_rows(
    item: str, slot: str, *, item_rows: Sequence[int], rows: Candidates
) -> list[int]:
    """At most MOST - 1 false captions of a slot: the kinds take turns, each in random order."""
    rows_of_kind: dict[str, list[int]] = defaultdict(list)
    for row in item_rows:
        if not rows.truth[row] and rows.slot[row] == slot:
            rows_of_kind[rows.kind[row]].append(row)
    shuffled = [
        Stream(item, slot, kind).shuffled(rows_of_kind[kind]) for kind in sorted(rows_of_kind)
    ]
    # Kinds take turns, so that a frequent kind does not crowd out the others.
    false_rows: list[int] = []
    for turn in zip_longest(*shuffled):
        false_rows += [row for row in turn if row is not None]
    return false_rows[: MOST - 1]


def _option_sets_of_pair(item_rows: Sequence[int], rows: Candidates) -> list[OptionSet]:
    """The questions of two images and two captions: the true caption of each image, the true image
    of each caption, and which caption belongs to which image, with each of the images first."""
    # Each of the four candidates is an image with a caption: those of one scene are the captions of
    # an image, those in one slot the images of a caption.
    groupings = ((CHOICE, rows.scene), (IMAGES, rows.slot), (MATCHING, rows.scene))
    option_sets: list[OptionSet] = []
    true_slots = [rows.slot[row] for row in item_rows if rows.truth[row]]
    for form, names in groupings:
        if form == MATCHING and len({*true_slots}) < len(true_slots):
            # One caption belongs to both images, so there is nothing to match.
            continue
        for name in sorted({names[row] for row in item_rows}):
            options = [row for row in item_rows if names[row] == name]
            # Only a pair of a true and a false option makes a question.
            if sorted(rows.truth[row] for row in options) == [False, True]:
                options.sort(key=lambda row: not rows.truth[row])
                option_sets.append((form, options))
    return option_sets
