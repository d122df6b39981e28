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
SETTINGS = tuple(f"{side} {quality}" for side, quality in product(SIDES, QUALITIES))
LEGIBLE = 95.0
TABLE = resource("scenes") / "legibility.csv"
_ABOUT = {**dict.fromkeys(("family", "tested", "kind", "name"), pa.string()), "objects": pa.int64()}
COLUMNS = {**_ABOUT, **dict.fromkeys(SETTINGS, pa.float64())}


@dataclass(frozen=True)
class Legibility:
    """How often a network recognised a name in images of a family, over `objects` objects at each
    size and quality.

    `tested`: the attribute kind that the family's objects are painted with. `kind`: the attribute
    kind of the name, or
    the vocabulary's category word. `percent`: percent of the objects named correctly, by "SIDE
    QUALITY" (SETTINGS).
    """

    family: str
    tested: str
    kind: str
    name: str
    objects: int
    percent: dict[str, float]

    def at(self, side: int) -> float:
        """The smallest percent of all qualities at a size."""
        return min(self.percent[f"{side} {quality}"] for quality in QUALITIES)

    @property
    def enough(self) -> int | None:
        """The smallest side, in pixels, from which on the name is legible; None if no measured side
        is enough."""
        small = [side for side in SIDES if self.at(side) < LEGIBLE]
        return next((side for side in SIDES if side > max(small, default=0)), None)


@cache
def measured() -> tuple[Legibility, ...]:
    """All rows of the table, in file order."""
    return tuple(
        Legibility(
            **{name: row[name] for name in _ABOUT}, percent={each: row[each] for each in SETTINGS}
        )
        for row in read_csv(TABLE, COLUMNS).to_pylist()
    )


def illegible(vocabulary: Vocabulary) -> Iterator[Legibility]:
    """The names that a family shares with a shipped family on the same stage and that are not
    legible at every size."""
    for each in measured():
        if each.tested != vocabulary.tested or each.enough == SIDES[0]:
            continue
        shipped = read_vocabulary(each.family)
        of_objects = each.kind == shipped.category
        told = [
            (family.objects if of_objects else family.attributes.get(each.kind, {})).get(each.name)
            for family in (vocabulary, shipped)
        ]
        if told[0] == told[1] is not None and stage_of(vocabulary) == stage_of(shipped):
            yield each


def stage_of(vocabulary: Vocabulary) -> tuple[Any, ...]:
    """The settings that decide how large and bright objects are in an image, without the
    environments."""
    stage = vocabulary.model_dump(
        include={"camera", "lamps", "sky", "placement", "floor", "assets"}
    )
    return stage, sorted(vocabulary.scales)
