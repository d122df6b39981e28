"""Edits that several faults make: of a text, a record, or the vocabulary."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.generator.judge.planted import Planted, Row

PHRASES = {
    "left": "to the left of",
    "right": "to the right of",
    "front": "in front of",
    "behind": "behind",
}
CONVERSES = {"left": "right", "right": "left", "front": "behind", "behind": "front"}


def with_articles(text: str) -> str:
    """The text with "an" before vowels."""
    return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)


def triple_caption(
    triple: list[str],
    names: Mapping[str, str] | None = None,
    phrases: Mapping[str, str] = PHRASES,
) -> str:
    """The caption of a triple. `names` gives other names of objects, such as synonyms."""
    subject, relation, object_ = triple
    names = names or {subject: subject, object_: object_}
    return f"a {names[subject]} that is {phrases[relation]} a {names[object_]}"


@contextmanager
def edited_record(row: Row) -> Iterator[dict[str, Any]]:
    """The record of a scene, to be changed."""
    scene = json.loads(row["scene"])
    yield scene
    row["scene"] = json.dumps(scene, sort_keys=True, separators=(",", ":"))


def set_object(row: Row, place: int, category: str, **values: str) -> None:
    """Change an object of a scene, in its record and in the table."""
    with edited_record(row) as scene:
        for obj in (scene["objects"][place], row["objects"][place]):
            obj["category"] = category
            obj["attributes"] = {**dict(obj["attributes"]), **values}
    row["objects"][place]["attributes"] = list(row["objects"][place]["attributes"].items())


def edit_vocabulary(data: Planted, pattern: str, replacement: str) -> None:
    """Replace what matches a pattern, in the file and in the request of the world."""
    path = data.root / "world/vocabulary.toml"
    before = path.read_text()
    text = re.sub(pattern, lambda match: match.expand(replacement), before, count=1)
    assert text != before
    path.write_text(text)
    data.world["request"]["vocabulary"] = text
