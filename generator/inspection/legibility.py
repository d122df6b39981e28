"""Reads `scenes/legibility.csv` (bench/legibility.py): how often a small network recognises names
in images by size."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import pyarrow as pa

from generator.base.registry import resource
from generator.base.tables import read_csv
from generator.vocabulary.schema import Vocabulary, read_vocabulary

SIDES, QUALITIES = (64, 128, 224), ("draft", "standard")
"""The measured sizes in pixels, and qualities."""
SETTINGS = tuple(f"{side} {quality}" for side, quality in product(SIDES, QUALITIES))
LEGIBLE = 95.0
"""Percent of objects named correctly from which on a name is legible."""
TABLE = resource("scenes") / "legibility.csv"
_ABOUT = {**dict.fromkeys(("family", "tested", "kind", "name"), pa.string()), "objects": pa.int64()}
COLUMNS = {**_ABOUT, **dict.fromkeys(SETTINGS, pa.float64())}


@dataclass(frozen=True)
class Legibility:
    """How often a network recognised a name in images of a family."""

    family: str
    """Name of the shipped family."""
    tested: str
    """The attribute kind that the family's objects are painted with."""
    kind: str
    """The attribute kind of the name, or the vocabulary's word for categories."""
    name: str
    """The value or the category."""
    objects: int
    """Number of objects at each size and quality."""
    percent: dict[str, float]
    """Percent of the objects that were named correctly, by "SIDE QUALITY" (SETTINGS)."""

    def percent_at(self, side: int) -> float:
        """The smallest percent of all qualities at a size."""
        return min(self.percent[f"{side} {quality}"] for quality in QUALITIES)

    @property
    def legible_from(self) -> int | None:
        """The smallest side, in pixels, from which on the name is legible; None if no measured side
        is enough."""
        illegible_sides = [side for side in SIDES if self.percent_at(side) < LEGIBLE]
        for side in SIDES:
            if side > max(illegible_sides, default=0):
                return side
        return None


@cache
def measured() -> tuple[Legibility, ...]:
    """All rows of the table, in file order."""
    rows = []
    for row in read_csv(TABLE, COLUMNS).to_pylist():
        percent = {setting: row[setting] for setting in SETTINGS}
        rows.append(Legibility(**{name: row[name] for name in _ABOUT}, percent=percent))
    return tuple(rows)


def illegible(vocabulary: Vocabulary) -> Iterator[Legibility]:
    """The names that a family shares with a shipped family on the same stage and that are not
    legible at every size."""
    for row in measured():
        if row.tested != vocabulary.tested or row.legible_from == SIDES[0]:
            continue
        shipped = read_vocabulary(row.family)
        own, theirs = (_declaration(family, row, shipped) for family in (vocabulary, shipped))
        if theirs is not None and own == theirs and stage_of(vocabulary) == stage_of(shipped):
            yield row


def _declaration(family: Vocabulary, row: Legibility, shipped: Vocabulary) -> Any:
    """What a family declares of the name of a row; None if it lacks the name."""
    if row.kind == shipped.category:
        return family.objects.get(row.name)
    return family.attributes.get(row.kind, {}).get(row.name)


def stage_of(vocabulary: Vocabulary) -> tuple[Any, ...]:
    """The settings that decide how large and bright objects are in an image, without the
    environments."""
    stage = vocabulary.model_dump(
        include={"camera", "lamps", "sky", "placement", "floor", "assets"}
    )
    return stage, sorted(vocabulary.scales)
