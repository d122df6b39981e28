"""What is judged: a world and a benchmark over it, and what their words and scenes say."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.dataset.files import read_json
from generator.dataset.progress import SILENT, Progress
from generator.dataset.schema import SCENES
from generator.judge.decide import decide
from generator.judge.files import file_faults, finding, image_faults, labels, places, readable_parts, readable_toml
from generator.judge.geometry import Shown, Terms, read_scene
from generator.judge.heldout import HeldOut, Named
from generator.judge.meaning import Said
from generator.judge.records import record_faults
from generator.judge.twins import Twins
from generator.judge.words import Lexicon, UnreadableError, read_sentence

BATCH = 2000  # rows between two updates of the progress
TRUE, FALSE, UNDECIDED, UNREADABLE = 1, 0, -1, -2


class World:
    """A world's files, judged once for all benchmarks over it. `shown` has the scenes that could be read, by id."""

    def __init__(self, folder: Path, progress: Progress = SILENT):
        self.folder, self.progress = folder, progress
        self.digest = read_json(folder / "manifest.json").get("sums")
        self.findings = list(file_faults(folder, self.digest, images=True, progress=progress))
        self.vocabulary = readable_toml(folder / "vocabulary.toml")
        self.terms = Terms.of(self.vocabulary)
        self.shown: dict[str, Shown] = {}
        twins = Twins()
        for part in readable_parts(folder / "scenes.parquet", SCENES, 2_000, self.findings):
            self.findings += twins.faults(part)
            self._read(part.filter(pc.equal(part["status"], "ok")))
        self.findings += image_faults(folder, self.shown)

    def _read(self, table: pa.Table) -> None:
        """Read some scenes and judge what their rows list."""
        ids, shown, kept = table["scene_id"].to_pylist(), [], []
        for row, (scene_id, record) in enumerate(zip(ids, table["scene"].to_pylist(), strict=True)):
            try:
                shown.append(read_scene(record, self.terms))
                kept.append(row)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                self.findings.append(finding("wrong record", f"scene {scene_id}: its record cannot be read: {error!r}"))
            else:
                if scene_id in self.shown:
                    self.findings.append(finding("wrong record", f"scene {scene_id} stands in scenes.parquet twice"))
                self.shown[scene_id] = shown[-1]
        for place, fault in record_faults(table.take(pa.array(kept, pa.int64())), shown, self.terms):
            self.findings.append(finding("wrong record", f"scene {ids[kept[place]]}: {fault}"))


@dataclass(frozen=True)
class Candidates:
    """The candidates by columns: rows of the items and texts tables, places of scenes (-1 for none), truth, slot."""

    item: np.ndarray
    scene: np.ndarray
    text: np.ndarray
    truth: np.ndarray
    slot: np.ndarray


@dataclass
class Case:
    """What is judged: a benchmark's tables, and what their words and scenes say.

    Texts are named by their row in the texts table, items by theirs, scenes by their place in `scene_ids`.
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
    def shown(self) -> list[Shown]:
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
    def claims(self) -> list[Said | None]:
        """What each text says; None where it cannot be read."""
        texts = self.tables["texts"]["text"]
        rows = self.world.progress.each(values(texts), "texts", len(texts), BATCH)
        return [self._read(text) for text in rows]

    def _read(self, text: str) -> Said | None:
        try:
            return read_sentence(text, self.lexicon)
        except UnreadableError:
            return None

    @cached_property
    def named(self) -> list[Named | None]:
        """What of what is held out each text names; None where it cannot be read."""
        return [None if said is None else self.held_out.named(said) for said in self.claims]

    @cached_property
    def familiarity(self) -> np.ndarray:
        """For each text a number that only texts share which name as much of each sort; 0 for nothing, -1 where it cannot be read."""
        numbers: dict[Named | None, int] = {None: -1, Named(): 0}
        for named in self.named:
            numbers.setdefault(named, len(numbers) - 1)
        return np.array([numbers[named] for named in self.named], np.int64)

    @cached_property
    def counted(self) -> np.ndarray:
        """Held-out bindings and triples together that each text names."""
        return np.array([0 if named is None else named.bindings + named.triples for named in self.named], np.int64)

    @cached_property
    def verdicts(self) -> np.ndarray:
        """What the poses say of each candidate: BATCH = 2000  # rows between two updates of the progress
        TRUE, FALSE, UNDECIDED or UNREADABLE. Each text is decided once a scene."""
        rows = self.candidates
        known = (rows.item >= 0) & (rows.scene >= 0) & (rows.text >= 0)
        width = max(len(self.claims), 1)
        pairs, back = np.unique(rows.scene[known] * width + rows.text[known], return_inverse=True)
        verdicts = np.full(len(known), UNREADABLE, np.int8)
        decided = self.world.progress.each(self._decided(pairs.tolist(), width), "candidates", len(pairs), BATCH)
        verdicts[known] = np.fromiter(decided, np.int8, len(pairs))[back]
        return verdicts

    def _decided(self, pairs: list[int], width: int) -> Iterator[int]:
        last = -1
        for pair in pairs:
            scene, text = divmod(pair, width)
            if scene != last and last >= 0:
                self.shown[last].forget()
            last, said = scene, self.claims[text]
            yield UNREADABLE if said is None else _verdict(decide(said, self.shown[scene]))

    def text(self, row: int) -> str:
        """The words of a text."""
        return str(self.tables["texts"]["text"][row].as_py())

    def listed(self, row: int, column: str) -> Any:
        """What a row of the candidates table has in a column."""
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
    """The values of a column one by one, some thousands in memory at a time."""
    for chunk in column.chunks:
        for start in range(0, len(chunk), 8192):
            yield from chunk[start : start + 8192].to_pylist()
