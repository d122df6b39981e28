"""What is judged: a world and a benchmark over it, and what their words and scenes say."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from generator.dataset.files import read_json
from generator.judge.files import Row, file_faults, finding, readable_table, readable_toml
from generator.judge.geometry import read_scene, record_faults
from generator.judge.words import Claim, Lexicon, UnreadableError, read_sentence


class World:
    """A world's files, judged once for all benchmarks over it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.digest = read_json(folder / "manifest.json").get("sums")
        self.findings = list(file_faults(folder, self.digest, images=True))
        self.vocabulary = readable_toml(folder / "vocabulary.toml")
        self.scenes: dict[str, Row] = {}
        if (table := readable_table(folder / "scenes.parquet", self.findings)) is not None:
            self.scenes = {row["scene_id"]: row for row in table if row["status"] == "ok"}
        for scene_id, row in self.scenes.items():
            self.findings += [
                finding("wrong record", f"scene {scene_id}: {fault}") for fault in record_faults(row, self.vocabulary)
            ]
        self.shown = {scene_id: read_scene(row["scene"]) for scene_id, row in self.scenes.items()}


@dataclass
class Case:
    """What is judged: a benchmark's tables, and what their words and scenes say."""

    world: World
    tables: dict[str, list[Row]]
    manifest: dict[str, Any]
    holdout: dict[str, Any]

    @cached_property
    def lexicon(self) -> Lexicon:
        return Lexicon.of(self.world.vocabulary)

    @cached_property
    def held_out(self) -> set[tuple[str, str, str]]:
        return {(self.holdout["kind"], value, thing) for value, thing in self.holdout["bindings"]}

    @cached_property
    def split_of(self) -> dict[str, str | None]:
        return {row["scene_id"]: row["split"] for row in self.tables["splits"]}

    @cached_property
    def item_of(self) -> dict[str, Row]:
        return {row["item_id"]: row for row in self.tables["items"]}

    @cached_property
    def text_of(self) -> dict[str, str]:
        return {row["text_id"]: row["text"] for row in self.tables["texts"]}

    @cached_property
    def claims(self) -> dict[str, list[Claim] | None]:
        """What each text says; None where it cannot be read."""
        return {row["text_id"]: _read_or_none(row["text"], self.lexicon) for row in self.tables["texts"]}

    def said_held_out(self, text_id: str) -> int:
        """Number of objects that a text gives a held-out binding."""
        return sum(
            any((kind, value, category) in self.held_out for kind, value in values)
            for category, values in self.claims[text_id] or []
        )

    def shown_held_out(self, scene_id: str) -> list[str]:
        """Held-out bindings that a scene shows."""
        return [
            f"{value} {category}"
            for category, values in self.world.shown[scene_id].objects
            for kind, value in values.items()
            if (kind, value, category) in self.held_out
        ]

    def cluster(self, scene_id: str) -> str:
        """The group of scenes with the same objects and tested values in any order or pairing."""
        objects = self.world.shown[scene_id].objects
        values = sorted(values[self.holdout["kind"]] for _, values in objects)
        return "+".join(values) + "|" + "+".join(sorted(category for category, _ in objects))


def _read_or_none(text: str, lexicon: Lexicon) -> list[Claim] | None:
    try:
        return read_sentence(text, lexicon)
    except UnreadableError:
        return None
