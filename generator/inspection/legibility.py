"""What a small network could name on images of the shipped families: `scenes/legibility.csv` (bench/legibility.py)."""

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
    """How well objects of a name were named on images of a family: `objects` of them at each size and quality.

    `family` has the attribute kind `tested` as its paint. `kind`: an attribute kind, or the category of the objects.
    `percent`: of the objects, those that were named rightly, by "SIDE QUALITY" (SETTINGS).
    """

    family: str
    tested: str
    kind: str
    name: str
    objects: int
    percent: dict[str, float]

    def at(self, side: int) -> float:
        """The least percent at a size, of all qualities."""
        return min(self.percent[f"{side} {quality}"] for quality in QUALITIES)

    @property
    def enough(self) -> int | None:
        """The least size, pixels a side, from which on the name is legible; None where none is large enough."""
        small = [side for side in SIDES if self.at(side) < LEGIBLE]
        return next((side for side in SIDES if side > max(small, default=0)), None)


@cache
def measured() -> tuple[Legibility, ...]:
    """What was measured, in the order of the file."""
    return tuple(
        Legibility(**{name: row[name] for name in _ABOUT}, percent={each: row[each] for each in SETTINGS})
        for row in read_csv(TABLE, COLUMNS).to_pylist()
    )


def illegible(vocabulary: Vocabulary) -> Iterator[Legibility]:
    """What a family has from a shipped one, on the same stage, and what is not legible there at every size."""
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
    """What decides how large and how bright everything is in an image, but for the places."""
    stage = vocabulary.model_dump(include={"camera", "lamps", "sky", "placement", "floor", "assets"})
    return stage, sorted(vocabulary.scales)
