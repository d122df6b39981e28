"""A farm gives every part once, whatever its size, and reads no more ahead than it must."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.familiarity.corpora import PHRASES, Part
from evaluator.familiarity.farm import Farm
from evaluator.familiarity.reading import DEFAULT

PARTS = [Part(Path("x"), start, PHRASES, ["red car"] * (start + 1)) for start in range(9)]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_part_is_counted_once(workers: int) -> None:
    found = {part.start: table["perfect_count"].to_pylist() for part, table, _ in Farm(workers).count(PARTS, DEFAULT)}
    assert found == {start: [start + 1] for start in range(9)}


def test_few_parts_are_read_ahead() -> None:
    read: list[int] = []

    def parts() -> Iterator[Part]:
        for part in PARTS:
            read.append(part.start)
            yield part

    found = Farm(2).count(parts(), DEFAULT)
    next(found)
    assert len(read) == 5
    found.close()  # type: ignore[attr-defined]
