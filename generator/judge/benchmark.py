"""A judged benchmark: its tables, the meaning of its texts, and the truth of its candidates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from generator.judge.columns import labels, row_numbers, values
from generator.judge.decide import decide
from generator.judge.geometry import SceneGeometry
from generator.judge.held_out import HeldOut, HeldOutCounts
from generator.judge.lexicon import FRAMES, Lexicon, UnreadableError
from generator.judge.meaning import Meaning
from generator.judge.text_reader import read_text
from generator.judge.views import decide_view
from generator.judge.world import World

BATCH = 2000
"""Rows between two updates of the progress."""
TRAIN = "train"
"""The protocol whose items are training data, and the split of their scenes."""
FRAMES_PROTOCOL, ASSUMED = "frames", "assumed"
"""The protocol of frames of reference, and its kind of items whose captions name none."""
VIEWS_PROTOCOL, FIRST_IMAGE = "views", "first"
"""The protocol of questions about two images, and the slot of the first of them."""
TRUE, FALSE, UNDECIDED, UNREADABLE = 1, 0, -1, -2
"""Verdicts on a candidate."""


@dataclass(frozen=True)
class Candidates:
    """The columns of candidates.parquet as arrays of one length."""

    item: np.ndarray
    """int64: row of the items table; -1 if there is no such item."""
    scene: np.ndarray
    """int64: index into `Benchmark.scene_ids`; -1 if there is no such scene."""
    text: np.ndarray
    """int64: row of the texts table; -1 if there is no such text."""
    truth: np.ndarray
    """bool: whether the text is listed as true of the scene."""
    slot: np.ndarray
    """Strings: the role of the text in its item, such as c (caption) or n (negative)."""

    @cached_property
    def with_text(self) -> np.ndarray:
        """int64: the rows whose item and text exist."""
        return np.flatnonzero((self.item >= 0) & (self.text >= 0))

    @cached_property
    def complete(self) -> np.ndarray:
        """int64: the rows whose item, scene and text exist."""
        return np.flatnonzero((self.item >= 0) & (self.scene >= 0) & (self.text >= 0))


@dataclass
class Benchmark:
    """The tables of a benchmark and the results that follow from them, computed when first needed.

    Texts and items are named by their row in their tables, scenes by their index in `scene_ids`.
    """

    world: World
    """The world whose images its items are about."""
    tables: Mapping[str, pa.Table]
    """The judged columns of each table, by name of the table."""
    manifest: Mapping[str, Any]
    """Contents of manifest.json."""
    holdout: Mapping[str, Any]
    """Contents of holdout.json."""

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words of the world's family."""
        return Lexicon.from_toml(self.world.vocabulary)

    @cached_property
    def held_out(self) -> HeldOut:
        """What training must not show."""
        return HeldOut.from_record(self.holdout, self.world.vocabulary)

    @cached_property
    def scene_ids(self) -> list[str]:
        """The readable scenes of the world."""
        return list(self.world.scenes)

    @cached_property
    def scenes(self) -> list[SceneGeometry]:
        """The readable scenes of the world, in the order of `scene_ids`."""
        return list(self.world.scenes.values())

    @cached_property
    def split_of(self) -> dict[str, str | None]:
        """Split of each scene by scene_id; None for a scene in no split."""
        table = self.tables["splits"]
        scene_ids, splits = table["scene_id"].to_pylist(), table["split"].to_pylist()
        return dict(zip(scene_ids, splits, strict=True))

    def scenes_of(self, *splits: str) -> Iterator[tuple[str, SceneGeometry]]:
        """The readable scenes of some splits, with their scene_id."""
        for scene_id, split in self.split_of.items():
            if split in splits and scene_id in self.world.scenes:
                yield scene_id, self.world.scenes[scene_id]

    @cached_property
    def item_split(self) -> np.ndarray:
        """Split of each item."""
        return labels(self.tables["items"]["split"])

    @cached_property
    def protocols(self) -> np.ndarray:
        """Protocol of each item."""
        return labels(self.tables["items"]["protocol"])

    @cached_property
    def is_training(self) -> np.ndarray:
        """bool per item: whether it is training data by its protocol or by its split."""
        return (self.protocols == TRAIN) | (self.item_split == TRAIN)

    @cached_property
    def candidates(self) -> Candidates:
        """The rows of candidates.parquet."""
        table = self.tables["candidates"]
        return Candidates(
            item=row_numbers(table["item_id"], self.tables["items"]["item_id"]),
            scene=row_numbers(table["scene_id"], pa.array(self.scene_ids, pa.string())),
            text=row_numbers(table["text_id"], self.tables["texts"]["text_id"]),
            truth=np.asarray(table["truth"].to_numpy(), dtype=bool),
            slot=labels(table["slot"]),
        )

    @cached_property
    def bare_lexicons(self) -> dict[str, Lexicon]:
        """By frame, the words of the family's relations without what says a frame."""
        return {frame: Lexicon.from_toml(self.world.vocabulary, frame) for frame in FRAMES}

    @cached_property
    def is_assumed(self) -> np.ndarray:
        """bool per candidate: whether its item asks which frame a model assumes."""
        kinds = labels(self.tables["items"]["kind"])
        is_assumed_item = (self.protocols == FRAMES_PROTOCOL) & (kinds == ASSUMED)
        item = self.candidates.item
        # The last entry stands for an item that does not exist, whose row is -1.
        return np.append(is_assumed_item, False)[item]

    @cached_property
    def is_view(self) -> np.ndarray:
        """bool per candidate: whether its item asks about two images in words."""
        return np.append(self.protocols == VIEWS_PROTOCOL, False)[self.candidates.item]

    @cached_property
    def bare_texts(self) -> set[int]:
        """The rows of the texts that only items of the kind `assumed` have. No other text may leave
        its frame out."""
        return self._texts_only_of(self.is_assumed)

    @cached_property
    def view_texts(self) -> set[int]:
        """The rows of the texts that only items about two images have."""
        return self._texts_only_of(self.is_view)

    def _texts_only_of(self, mask: np.ndarray) -> set[int]:
        """The rows of the texts that no candidate outside a mask has, and no pool."""
        if not mask.any():
            return set()
        text = self.candidates.text
        elsewhere = {*text[~mask].tolist()}
        text_ids = self.tables["texts"]["text_id"]
        in_pools = row_numbers(self.tables["pools"]["text_id"], text_ids)
        elsewhere |= {*in_pools.tolist()}
        return {*text[mask].tolist()} - elsewhere

    @cached_property
    def meanings(self) -> list[Meaning | None]:
        """The meaning of each text; None if it cannot be read. A text of `bare_texts` has the
        viewer's meaning; `frame_findings` compares it with the object's."""
        texts = self.tables["texts"]["text"]
        rows = self.world.progress.follow(values(texts), "texts", total=len(texts), every=BATCH)
        meanings = []
        for row, text in enumerate(rows):
            lexicon = self.bare_lexicons["viewer"] if row in self.bare_texts else self.lexicon
            meanings.append(self.meaning_of(text, lexicon))
        return meanings

    def meaning_of(self, text: str, lexicon: Lexicon) -> Meaning | None:
        """The meaning of a text in the words of a lexicon; None if it cannot be read."""
        try:
            return read_text(text, lexicon)
        except UnreadableError:
            return None

    @cached_property
    def held_out_counts(self) -> list[HeldOutCounts | None]:
        """How much held-out content each text names; None if it cannot be read."""
        counts = []
        for meaning in self.meanings:
            counts.append(None if meaning is None else self.held_out.counts_named(meaning))
        return counts

    @cached_property
    def familiarity(self) -> np.ndarray:
        """int64 per text: equal for texts that name equally much held-out content; 0 for none, -1
        if unreadable."""
        number_of: dict[HeldOutCounts | None, int] = {None: -1, HeldOutCounts(): 0}
        for counts in self.held_out_counts:
            # Numbers instead of counts: a million texts are then compared as an array.
            number_of.setdefault(counts, len(number_of) - 1)
        return np.array([number_of[counts] for counts in self.held_out_counts], np.int64)

    @cached_property
    def verdicts(self) -> np.ndarray:
        """int8 per candidate: TRUE, FALSE, UNDECIDED or UNREADABLE, by the recorded poses."""
        rows = self.candidates
        known = rows.complete
        # Each pair of scene and text is decided once, scene by scene: numbers sort by scene.
        n_texts = max(len(self.meanings), 1)
        pair_of_row = rows.scene[known] * n_texts + rows.text[known]
        pairs, pair_index = np.unique(pair_of_row, return_inverse=True)
        decided = self.world.progress.follow(
            self._decide_pairs(pairs.tolist(), n_texts), "candidates", total=len(pairs), every=BATCH
        )
        # Without a count, since with one fromiter never asks for the end, and the bar would stop
        # before it.
        verdict_of_pair = np.fromiter(decided, np.int8)
        verdicts = np.full(len(rows.item), UNREADABLE, np.int8)
        verdicts[known] = verdict_of_pair[pair_index]
        # What is said of two images is decided by both, so not pair by pair of scene and text.
        self._decide_views(verdicts)
        return verdicts

    def _decide_views(self, verdicts: np.ndarray) -> None:
        """Set the verdicts of candidates about two images."""
        rows = self.candidates
        view_rows = rows.complete[self.is_view[rows.complete]].tolist()
        first_of_item = {}
        for row in view_rows:
            if rows.slot[row] == FIRST_IMAGE:
                first_of_item[rows.item[row]] = self.scenes[rows.scene[row]]
        for row in view_rows:
            # Without a first image there is nothing to compare: undecided, which is a finding.
            truth = None
            first = first_of_item.get(rows.item[row])
            if first is not None:
                text = self.text(rows.text[row])
                truth = decide_view(text, first, self.scenes[rows.scene[row]])
            verdicts[row] = {None: UNDECIDED, True: TRUE, False: FALSE}[truth]

    def _decide_pairs(self, pairs: list[int], n_texts: int) -> Iterator[int]:
        """The verdict of each pair `scene * n_texts + text`, sorted by scene."""
        previous_scene = -1
        for pair in pairs:
            scene, text = divmod(pair, n_texts)
            # The pairs are sorted by scene, so its cached relations are not needed any more.
            if previous_scene not in (-1, scene):
                self.scenes[previous_scene].forget()
            previous_scene = scene
            meaning = self.meanings[text]
            if meaning is None:
                yield UNREADABLE
                continue
            truth = decide(meaning, self.scenes[scene])
            if truth is None:
                yield UNDECIDED
            else:
                yield TRUE if truth else FALSE

    def text(self, row: int) -> str:
        """The words of a text."""
        return str(self.tables["texts"]["text"][row].as_py())

    def listed(self, row: int, column: str) -> Any:
        """The value of a row of the candidates table in a column."""
        return self.tables["candidates"][column][row].as_py()

    def scene_id(self, row: int) -> str:
        """The scene that a row of the candidates table names."""
        return str(self.listed(row, "scene_id"))

    def item_id(self, row: int) -> str:
        """The id of an item."""
        return str(self.tables["items"]["item_id"][row].as_py())
