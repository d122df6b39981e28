"""R@1 by skill, against plain Python."""

import pytest

from tests.evaluator.protocols.plain import PlainItem, Value, check_rows
from tests.evaluator.synthetic import Row, find


def expected(q: PlainItem) -> dict[str, Value]:
    return {"R@1": q.recall()}


def test_every_row_is_the_definition_in_a_plain_loop(asked: list[PlainItem], results: Row) -> None:
    check_rows("skill", expected, [("skill", "level")], asked, results)


def test_cells_add_up_to_rows(results: Row) -> None:
    for skill in ("object", "attribute", "relation"):
        for split in ("val", "seen", "partial", "unseen"):
            row = find(results, "skill", split, skill=skill, level="OAR")
            cells = [c for c in results["cells"] if (c["skill"], c["split"], c["level"]) == (skill, split, "OAR")]
            assert sum(cell["items"] for cell in cells) == row["items"]
            assert sum(c["items"] * (c["value"] or 0) for c in cells) == pytest.approx(
                row["items"] * row["value"], abs=1e-3
            )
            assert {(c["n_objects"], c["n_attributes"], c["n_relations"]) for c in cells} <= {
                (a, b, c) for a in (1, 2, 3) for b in (1, 2, 3) for c in (1, 2, 3)
            }
