"""Samples the questions of a benchmark that an audit reads, by seed: of each kind, and of each
level."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from evaluator.protocols.items import COUNTS
from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark
from generator.dataset.records import TRAIN

_ITEMS = ["item_id", "cluster_id", "protocol", "kind", "skill", "split"]
_CANDIDATES = ["item_id", "text_id", "kind", "slot", "scene_id", "of", "truth"]
_TEXTS = ["text_id", "text", "level", *COUNTS]
"""The columns that an audit reads of each table of a benchmark."""
_KIND = ["protocol", "kind", "skill"]
"""The columns of items that make a kind."""
_FEWEST_NEGATIVES = 2
"""The fewest negatives of a caption of `draw_levels`: with one, none is the hardest."""
CAPTION, NEGATIVE, POSITIVE = "c", "n", "p"
"""Slots of candidates: captions, their negatives, and hard positives."""


class Kind(NamedTuple):
    """A kind of question: items of one protocol, kind and skill, negatives of one kind, true texts
    of one role."""

    protocol: str
    """The protocol of the items."""
    kind: str
    """The kind of the items."""
    skill: str | None = None
    """The skill of the items; None if they have none."""
    negatives: str | None = None
    """The kind of the negatives; None if it is the kind of the item."""
    role: str = CAPTION
    """Slot of the true text without its number: c caption, d decomposed caption, p hard positive.
    Training positives also have their kind, such as p-converse."""

    def __str__(self) -> str:
        names = [self.protocol, self.kind]
        names += [name for name in (self.negatives, self.skill) if name]
        if self.role != CAPTION:
            names.append(self.role)
        return "/".join(names)


@dataclass(frozen=True)
class AuditQuestion:
    """A true text and its negatives."""

    item_id: str
    """The id of the item."""
    cluster: str
    """The cluster of the item; its id if it has none."""
    caption: str
    """The true text."""
    negatives: tuple[str, ...]
    """The false texts; at least one."""
    atoms: int | None
    """Number of objects, attributes and relations of the caption; None if the benchmark does not
    count them."""
    drawn_negative: int = 0
    """The index of the negative that was drawn for the blind test."""

    @property
    def negative(self) -> str:
        """The false text drawn for the blind test."""
        return self.negatives[self.drawn_negative]

    @property
    def texts(self) -> tuple[str, ...]:
        """The true text, then the false texts."""
        return (self.caption, *self.negatives)


@dataclass(frozen=True)
class KindSample:
    """The questions drawn of one kind, at most one of each item."""

    kind: Kind
    """The kind."""
    available: int
    """The number of items to draw from."""
    questions: list[AuditQuestion]
    """The questions."""
    level: str = ""
    """The level of all captions; "" for any level."""


def draw_samples(
    benchmark: Benchmark, protocols: Sequence[str], *, most_items: int, seed: int
) -> list[KindSample]:
    """Draw items of every kind, and of each item one true text of every role.

    Args:
        benchmark: The benchmark.
        protocols: The protocols to draw from; empty: all but train.
        most_items: The most items of a kind.
        seed: The seed of items, true texts and negatives.

    Returns:
        The samples; kinds are in alphabetical order.

    Raises:
        UserError: The benchmark lacks a protocol, or no evaluation item has a false text.
    """
    table = _AuditItems(benchmark, protocols)
    # An item is in a group for each kind of its negatives.
    false_candidates = table.candidates[~table.candidates["truth"]]
    negatives = false_candidates.rename(columns={"kind": "negatives"})
    members = negatives[["item", "negatives"]].drop_duplicates()
    members = members.join(table.items[_KIND], on="item")
    samples = []
    groups = table.draw(members, [*_KIND, "negatives"], most_items=most_items, seed=seed)
    for group in groups:
        protocol, kind, skill, negative_kind = group.names
        # A stream by names: another protocol or kind does not change the draws of this one.
        draws = Stream(seed, "questions", *group.names)
        questions: dict[str, list[AuditQuestion]] = defaultdict(list)
        for item, candidates in group.candidates.items():
            for role, pairs in _pair_texts(candidates, negative_kind).items():
                caption, against = pairs[draws.below(len(pairs))]
                place = draws.below(len(against))
                questions[role].append(table.question(item, caption, against, place))
        # Negatives without a kind of their own have the kind of the item.
        own_kind = None if negative_kind == kind else negative_kind or None
        for role, of_role in questions.items():
            sample_kind = Kind(protocol, kind, skill or None, own_kind, role)
            samples.append(KindSample(sample_kind, group.available, of_role))
    if not samples:
        where = f" in {', '.join(protocols)}" if protocols else ""
        raise UserError(
            f"The benchmark {benchmark.name} has no evaluation item with a false text to "
            f"audit{where}."
        )
    return sorted(samples, key=lambda sample: tuple(map(str, sample.kind)))


def draw_levels(
    benchmark: Benchmark, protocols: Sequence[str], *, most_items: int, seed: int
) -> list[KindSample]:
    """Draw items of every kind and level, with all negatives (COMPASS, tables 4 and 5).

    Args:
        benchmark: The benchmark.
        protocols: The protocols to draw from; empty: all but train.
        most_items: The most items of a kind and level.
        seed: The seed of the items.

    Returns:
        The samples, of captions with several negatives; kinds and levels are in alphabetical order.

    Raises:
        UserError: The benchmark lacks a protocol.
    """
    table = _AuditItems(benchmark, protocols)
    candidates = table.candidates

    # Captions with a level, one of each item.
    captions = candidates[candidates["truth"] & (candidates["slot"] == CAPTION)]
    levels = table.texts["level"].dropna()
    captions = captions.join(levels, on="text_id", how="inner").drop_duplicates("item")

    # Those of items with several negatives.
    negatives = candidates[~candidates["truth"] & (candidates["slot"] == NEGATIVE)]
    frequency = negatives["item"].value_counts()
    items = frequency.index[frequency >= _FEWEST_NEGATIVES]
    several = captions[captions["item"].isin(items)]
    members = several[["item", "level"]].join(table.items[_KIND], on="item")
    samples = []
    for group in table.draw(members, [*_KIND, "level"], most_items=most_items, seed=seed):
        questions = []
        for item, rows in group.candidates.items():
            caption = next(row for row in rows if row.truth and row.slot == CAPTION)
            against = [row for row in rows if not row.truth and row.slot == NEGATIVE]
            questions.append(table.question(item, caption, against))
        protocol, kind, skill, level = group.names
        sample_kind = Kind(protocol, kind, skill or None)
        samples.append(KindSample(sample_kind, group.available, questions, level))
    return samples


def every_question(benchmark: Benchmark, protocols: Sequence[str]) -> Iterator[AuditQuestion]:
    """Iterate over each caption, composed or decomposed, once for each kind of its negatives.

    Args:
        benchmark: The benchmark.
        protocols: The protocols to read; empty: all but train.

    Yields:
        The questions. Hard positives are left out.

    Raises:
        UserError: The benchmark lacks a protocol.
    """
    table = _AuditItems(benchmark, protocols)
    all_items = table.candidates["item"].unique()
    for item, candidates in table.candidates_of(all_items).items():
        rows = [row for row in candidates if not (row.truth and row.slot == POSITIVE)]
        kinds_of_negatives = dict.fromkeys(row.kind for row in rows if not row.truth)
        for kind in kinds_of_negatives:
            for pairs in _pair_texts(rows, kind).values():
                for caption, against in pairs:
                    yield table.question(item, caption, against)


class _Group(NamedTuple):
    """Items that share some labels, of which a number is drawn."""

    names: tuple[str, ...]
    """The labels."""
    available: int
    """The number of items with these labels."""
    candidates: dict[int, list[Any]]
    """The candidates of each drawn item."""


class _AuditItems:
    """The evaluation items of a benchmark and their candidates. `item` is an item's row number.
    Missing names are ""."""

    def __init__(self, benchmark: Benchmark, protocols: Sequence[str]):
        self.items = _evaluation_items(benchmark, protocols)
        self._names = self.items[["item_id", "cluster_id"]].to_numpy()
        candidates = benchmark.candidates.select(_CANDIDATES).to_pandas().fillna("")
        candidates["item"] = pd.Index(self.items["item_id"]).get_indexer(candidates["item_id"])
        self.candidates = candidates[candidates["item"] >= 0]
        self.texts = benchmark.texts.select(_TEXTS).to_pandas().set_index("text_id")

    def draw(
        self, members: pd.DataFrame, columns: list[str], *, most_items: int, seed: int
    ) -> Iterator[_Group]:
        """Yield the groups of `members` by `columns`, each with at most `most_items` items, drawn
        by seed."""
        for key, rows in members.groupby(columns)["item"]:
            names = tuple(map(str, key))
            # Sorted before the draw, which is then the same whatever the order of the tables.
            items = np.sort(rows.to_numpy())
            if len(items) > most_items:
                draws = Stream(seed, "items", *names)
                items = np.array(draws.sample(items.tolist(), most_items))
            yield _Group(names, len(rows), self.candidates_of(items))

    def candidates_of(self, items: Iterable[int]) -> dict[int, list[Any]]:
        """{item: its candidates with the columns of their texts}, in the order of the items."""
        is_of_items = self.candidates["item"].isin(items)
        rows = self.candidates[is_of_items].join(self.texts, on="text_id")
        candidates: dict[int, list[Any]] = defaultdict(list)
        row: Any
        for row in rows.itertuples():
            candidates[row.item].append(row)
        return dict(sorted(candidates.items()))

    def question(
        self, item: int, caption: Any, against: Sequence[Any], drawn_negative: int = 0
    ) -> AuditQuestion:
        """The question of an item: its candidate `caption` against its candidates `against`."""
        item_id, cluster = self._names[item]
        counts = [getattr(caption, count) for count in COUNTS]
        has_counts = not any(map(pd.isna, counts))
        return AuditQuestion(
            item_id=item_id,
            cluster=cluster or item_id,
            caption=caption.text,
            negatives=tuple(row.text for row in against),
            atoms=int(sum(counts)) if has_counts else None,
            drawn_negative=drawn_negative,
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
    audited = protocols or [name for name in known if name != TRAIN]
    return items[items["protocol"].isin(audited)].reset_index(drop=True)


def _pair_texts(rows: list[Any], negative_kind: str) -> dict[str, list[tuple[Any, list[Any]]]]:
    """The true texts of an item, each with its negatives of one kind, by role of the true text.

    Compares texts of the same image. In a slot with true and false texts (d1, d2, …), compare
    within the slot. Otherwise compare with the negatives made from the true text; if there are none
    (a hard positive), with all.
    """
    pairs: dict[str, list[tuple[Any, list[Any]]]] = defaultdict(list)
    scenes = dict.fromkeys(row.scene_id for row in rows)
    for scene in scenes:
        of_scene = [row for row in rows if row.scene_id == scene]
        true_texts = [row for row in of_scene if row.truth]
        false_texts = [row for row in of_scene if not row.truth]
        mixed_slots = {row.slot for row in true_texts} & {row.slot for row in false_texts}
        for true in true_texts:
            if true.slot and true.slot in mixed_slots:
                false = [row for row in false_texts if row.slot == true.slot]
            else:
                false = [row for row in false_texts if row.slot not in mixed_slots]
            own_false = [row for row in false if row.of == true.text_id]
            against = [row for row in own_false or false if row.kind == negative_kind]
            if against:
                # The captions of a pair have the slots 0 and 1.
                slot = true.slot.rstrip("0123456789") or CAPTION
                role = f"{slot}-{true.kind}" if true.kind else slot
                pairs[role].append((true, against))
    return pairs
