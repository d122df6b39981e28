"""A judged benchmark: its tables, the meaning of its texts, and the truth of its candidates."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from generator.judge.decide import decide
from generator.judge.files import labels, places
from generator.judge.geometry import SceneGeometry
from generator.judge.held_out import HeldOut, Named
from generator.judge.lexicon import Lexicon, UnreadableError
from generator.judge.meaning import Meaning
from generator.judge.text_reader import read_text
from generator.judge.world import World

BATCH = 2000  # rows between two updates of the progress
TRAIN = "train"
"""The protocol whose items are training data, and the split of their scenes."""
TRUE, FALSE, UNDECIDED, UNREADABLE = 1, 0, -1, -2


@dataclass(frozen=True)
class Candidates:
    """The columns of candidates.parquet as arrays of one length.

    `item`, `text`: int64, rows of the items and texts tables. `scene`: int64, index into
    `scene_ids`. Each is -1 if
    there is no such row. `truth`: bool. `slot`: strings.
    """

    item: np.ndarray
    scene: np.ndarray
    text: np.ndarray
    truth: np.ndarray
    slot: np.ndarray


@dataclass
class Benchmark:
    """The tables of a benchmark and the results that follow from them, computed when first needed.

    Texts and items are named by their row in their tables, scenes by their index in `scene_ids`.
    """

    world: World
    tables: dict[str, pa.Table]
    manifest: dict[str, Any]
    holdout: dict[str, Any]

    @cached_property
    def lexicon(self) -> Lexicon:
        return Lexicon.of(self.world.vocabulary)

    @cached_property
    def held_out(self) -> HeldOut:
        return HeldOut.of(self.holdout, self.world.vocabulary)

    @cached_property
    def scene_ids(self) -> list[str]:
        return list(self.world.shown)

    @cached_property
    def shown(self) -> list[SceneGeometry]:
        return list(self.world.shown.values())

    @cached_property
    def split_of(self) -> dict[str, str | None]:
        splits = self.tables["splits"]
        return dict(zip(splits["scene_id"].to_pylist(), splits["split"].to_pylist(), strict=True))

    @cached_property
    def item_split(self) -> np.ndarray:
        """Split of each item."""
        return labels(self.tables["items"]["split"])

    @cached_property
    def protocols(self) -> np.ndarray:
        """Protocol of each item."""
        return labels(self.tables["items"]["protocol"])

    @cached_property
    def trains(self) -> np.ndarray:
        """bool per item: whether it is training data by its protocol or by its split."""
        return (self.protocols == TRAIN) | (self.item_split == TRAIN)

    @cached_property
    def candidates(self) -> Candidates:
        table = self.tables["candidates"]
        return Candidates(
            item=places(table["item_id"], self.tables["items"]["item_id"]),
            scene=places(table["scene_id"], pa.array(self.scene_ids, pa.string())),
            text=places(table["text_id"], self.tables["texts"]["text_id"]),
            truth=np.asarray(table["truth"].to_numpy(), dtype=bool),
            slot=labels(table["slot"]),
        )

    @cached_property
    def meanings(self) -> list[Meaning | None]:
        """The meaning of each text; None if it cannot be read."""
        texts = self.tables["texts"]["text"]
        rows = self.world.progress.each(values(texts), "texts", len(texts), BATCH)
        return [self._read(text) for text in rows]

    def _read(self, text: str) -> Meaning | None:
        try:
            return read_text(text, self.lexicon)
        except UnreadableError:
            return None

    @cached_property
    def named(self) -> list[Named | None]:
        """How much held-out content each text names; None if it cannot be read."""
        return [
            None if meaning is None else self.held_out.named(meaning) for meaning in self.meanings
        ]

    @cached_property
    def familiarity(self) -> np.ndarray:
        """int64 per text: equal for texts that name equally much held-out content; 0 for none, -1
        if unreadable."""
        numbers: dict[Named | None, int] = {None: -1, Named(): 0}
        for named in self.named:
            numbers.setdefault(named, len(numbers) - 1)
        return np.array([numbers[named] for named in self.named], np.int64)

    @cached_property
    def verdicts(self) -> np.ndarray:
        """int8 per candidate: TRUE, FALSE, UNDECIDED or UNREADABLE, by the recorded poses."""
        rows = self.candidates
        known = (rows.item >= 0) & (rows.scene >= 0) & (rows.text >= 0)
        width = max(len(self.meanings), 1)
        pairs, back = np.unique(rows.scene[known] * width + rows.text[known], return_inverse=True)
        verdicts = np.full(len(known), UNREADABLE, np.int8)
        decided = self.world.progress.each(
            self._decided(pairs.tolist(), width), "candidates", len(pairs), BATCH
        )
        # Without a count, since with one fromiter never asks for the end, and the bar would stop
        # before it.
        verdicts[known] = np.fromiter(decided, np.int8)[back]
        return verdicts

    def _decided(self, pairs: list[int], width: int) -> Iterator[int]:
        last = -1
        for pair in pairs:
            scene, text = divmod(pair, width)
            if scene != last and last >= 0:
                self.shown[last].forget()
            last, meaning = scene, self.meanings[text]
            yield UNREADABLE if meaning is None else _verdict(decide(meaning, self.shown[scene]))

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


def _verdict(truth: bool | None) -> int:
    return UNDECIDED if truth is None else TRUE if truth else FALSE


def values(column: pa.ChunkedArray) -> Iterator[Any]:
    """The values of a column one by one; converts some thousands at a time."""
    for chunk in column.chunks:
        for start in range(0, len(chunk), 8192):
            yield from chunk[start : start + 8192].to_pylist()
