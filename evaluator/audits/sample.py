"""Samples the questions of a benchmark that an audit reads, by seed: of each kind, and of each
level."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from evaluator.protocols.items import COUNTS
from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark

_ITEMS = ["item_id", "cluster_id", "protocol", "kind", "skill", "split"]
_CANDIDATES = ["item_id", "text_id", "kind", "slot", "scene_id", "of", "truth"]
_TEXTS = ["text_id", "text", "level", *COUNTS]
_KIND = ["protocol", "kind", "skill"]
_FEWEST = 2  # with one negative, none is the hardest
TRAIN = "train"
"""The protocol of training texts, and the split of the scenes that they describe."""


class Kind(NamedTuple):
    """A kind of question: items of one protocol, kind and skill, negatives of one kind, true texts
    of one role."""

    protocol: str
    kind: str
    skill: str | None = None
    negatives: str | None = None
    """The kind of the negatives, if it differs from the kind of the item."""
    role: str = "c"
    """Slot of the true text without its number: c caption, d decomposed caption, p hard positive.
    Training positives also have their kind, such as p-converse."""

    def __str__(self) -> str:
        more = [self.negatives, self.skill, None if self.role == "c" else self.role]
        return "/".join([self.protocol, self.kind, *(part for part in more if part)])


@dataclass(frozen=True)
class Question:
    """A true text and its negatives; `drawn` is the index of the negative drawn for the blind
    test."""

    item_id: str
    cluster: str
    caption: str
    negatives: tuple[str, ...]
    atoms: int | None
    """Number of objects, attributes and relations of the caption; None if the benchmark does not
    count them."""
    drawn: int = 0

    @property
    def negative(self) -> str:
        """The false text drawn for the blind test."""
        return self.negatives[self.drawn]

    @property
    def texts(self) -> tuple[str, ...]:
        """The true text, then the false texts."""
        return (self.caption, *self.negatives)


@dataclass(frozen=True)
class Sample:
    """The questions drawn of one kind, at most one of each item. available: number of items to draw
    from. level: of all captions; "" for any level."""

    kind: Kind
    available: int
    questions: list[Question]
    level: str = ""


def draw_samples(
    benchmark: Benchmark, protocols: Sequence[str], items: int, seed: int
) -> list[Sample]:
    """Draw at most `items` items of every kind; training items only if `protocols` names them.
    Kinds are in alphabetical order.

    Raises UserError when the benchmark lacks a protocol, or when no evaluation item has a false
    text.
    """
    asked = _Asked(benchmark, protocols)
    false = asked.candidates[~asked.candidates["truth"]].rename(columns={"kind": "negatives"})
    false = false[["item", "negatives"]].drop_duplicates().join(asked.items[_KIND], on="item")
    samples = []
    for group, available, rows in asked.draw(false, [*_KIND, "negatives"], items, seed):
        protocol, kind, skill, negatives = group
        drawn = Stream(seed, "questions", *group)
        questions: dict[str, list[Question]] = defaultdict(list)
        for item, candidates in rows.items():
            for role, found in _questions(candidates, negatives).items():
                caption, against = found[drawn.below(len(found))]
                questions[role].append(
                    asked.question(item, caption, against, drawn.below(len(against)))
                )
        own = None if negatives == kind else negatives or None
        samples += [
            Sample(Kind(protocol, kind, skill or None, own, role), available, of_role)
            for role, of_role in questions.items()
        ]
    if not samples:
        where = f" in {', '.join(protocols)}" if protocols else ""
        raise UserError(
            f"The benchmark {benchmark.name} has no evaluation item with a false text to "
            f"audit{where}."
        )
    return sorted(samples, key=lambda sample: tuple(map(str, sample.kind)))


def draw_levels(
    benchmark: Benchmark, protocols: Sequence[str], items: int, seed: int
) -> list[Sample]:
    """Draw at most `items` evaluation items of every kind and level, among captions with several
    negatives, and keep all negatives (COMPASS, tables 4 and 5). Kinds and levels are in
    alphabetical order."""
    asked = _Asked(benchmark, protocols)
    of_caption = asked.candidates[asked.candidates["truth"] & (asked.candidates["slot"] == "c")]
    captions = of_caption.join(
        asked.texts["level"].dropna(), on="text_id", how="inner"
    ).drop_duplicates("item")
    negatives = asked.candidates[~asked.candidates["truth"] & (asked.candidates["slot"] == "n")][
        "item"
    ].value_counts()
    several = captions[captions["item"].isin(negatives.index[negatives >= _FEWEST])]
    members = several[["item", "level"]].join(asked.items[_KIND], on="item")
    samples = []
    for (protocol, kind, skill, level), available, rows in asked.draw(
        members, [*_KIND, "level"], items, seed
    ):
        questions = []
        for item, candidates in rows.items():
            caption = next(row for row in candidates if row.truth and row.slot == "c")
            against = [row for row in candidates if not row.truth and row.slot == "n"]
            questions.append(asked.question(item, caption, against))
        samples.append(Sample(Kind(protocol, kind, skill or None), available, questions, level))
    return samples


def every_question(benchmark: Benchmark, protocols: Sequence[str]) -> Iterator[Question]:
    """Yields each caption, composed or decomposed, once for each kind of its negatives. Skips hard
    positives."""
    asked = _Asked(benchmark, protocols)
    for item, rows in asked.rows(asked.candidates["item"].unique()).items():
        captions = [row for row in rows if not (row.truth and row.slot == "p")]
        for kind in dict.fromkeys(row.kind for row in captions if not row.truth):
            for caption, against in chain.from_iterable(_questions(captions, kind).values()):
                yield asked.question(item, caption, against)


class _Asked:
    """The evaluation items of a benchmark and their candidates. `item`: an item's row number.
    Missing names are ""."""

    def __init__(self, benchmark: Benchmark, protocols: Sequence[str]):
        self.items = _evaluation_items(benchmark, protocols)
        self._names = self.items[["item_id", "cluster_id"]].to_numpy()
        candidates = benchmark.candidates.select(_CANDIDATES).to_pandas().fillna("")
        candidates["item"] = pd.Index(self.items["item_id"]).get_indexer(candidates["item_id"])
        self.candidates = candidates[candidates["item"] >= 0]
        self.texts = benchmark.texts.select(_TEXTS).to_pandas().set_index("text_id")

    def draw(
        self, members: pd.DataFrame, by: list[str], number: int, seed: int
    ) -> Iterator[tuple[tuple[str, ...], int, dict[int, list[Any]]]]:
        """Group `members` by the columns `by`; yields each group's names, its number of items, and
        the candidates of at most `number` items, drawn by seed."""
        for key, found in members.groupby(by)["item"]:
            group = tuple(map(str, key))
            items = np.sort(found.to_numpy())
            if len(items) > number:
                items = np.array(Stream(seed, "items", *group).sample(items.tolist(), number))
            yield group, len(found), self.rows(items)

    def rows(self, items: Iterable[int]) -> dict[int, list[Any]]:
        """Maps each item, in order, to its candidates with the columns of their texts."""
        found = self.candidates[self.candidates["item"].isin(items)].join(self.texts, on="text_id")
        rows: dict[int, list[Any]] = defaultdict(list)
        row: Any
        for row in found.itertuples():
            rows[row.item].append(row)
        return dict(sorted(rows.items()))

    def question(self, item: int, caption: Any, against: Sequence[Any], drawn: int = 0) -> Question:
        """The question of an item: its candidate `caption` against its candidates `against`."""
        name, cluster = self._names[item]
        counts = [getattr(caption, count) for count in COUNTS]
        atoms = None if any(map(pd.isna, counts)) else int(sum(counts))
        return Question(
            name, cluster or name, caption.text, tuple(row.text for row in against), atoms, drawn
        )


def _evaluation_items(benchmark: Benchmark, protocols: Sequence[str]) -> pd.DataFrame:
    """The items of `protocols`, by default of all but `train`. Raises UserError for a missing
    protocol.

    Skips items of the split `train` that belong to other protocols; imported benchmarks have such
    items.
    """
    items = benchmark.items.select(_ITEMS).to_pandas().fillna("")
    items = items[(items["protocol"] == TRAIN) | (items["split"] != TRAIN)]
    known = sorted(filter(None, items["protocol"].unique()))
    for protocol in protocols:
        if protocol not in known:
            near = did_you_mean(protocol, known) if known else "it has no evaluation items."
            raise UserError(
                f"The benchmark {benchmark.name} has no items of the protocol '{protocol}'; {near}"
            )
    wanted = protocols or [name for name in known if name != TRAIN]
    return items[items["protocol"].isin(wanted)].reset_index(drop=True)


def _questions(rows: list[Any], negatives: str) -> dict[str, list[tuple[Any, list[Any]]]]:
    """The true texts of an item, each with its negatives of the kind `negatives`, by role of the
    true text.

    Compares texts of the same image. In a slot with true and false texts (d1, d2, …), compare
    within the slot. Otherwise compare with the negatives made from the true text; if there are none
    (a hard positive), with all.
    """
    found: dict[str, list[tuple[Any, list[Any]]]] = defaultdict(list)
    for scene in dict.fromkeys(row.scene_id for row in rows):
        here = [row for row in rows if row.scene_id == scene]
        mixed = {row.slot for row in here if row.truth} & {
            row.slot for row in here if not row.truth
        }
        for true in (row for row in here if row.truth):
            own = true.slot if true.slot in mixed else None
            false = [
                r for r in here if not r.truth and (r.slot == own if own else r.slot not in mixed)
            ]
            made = [r for r in false if r.of == true.text_id] or false
            against = [r for r in made if r.kind == negatives]
            if against:
                slot = true.slot.rstrip("0123456789") or "c"
                found[f"{slot}-{true.kind}" if true.kind else slot].append((true, against))
    return found
