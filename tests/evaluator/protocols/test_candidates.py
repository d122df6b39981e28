"""Which items are unscored, and why."""

from pathlib import Path

import pytest

from evaluator.protocols.items import INCOMPLETE, MISSING, NOT_A_NUMBER, TRUNCATED
from evaluator.runs.folder import open_run
from evaluator.runs.measure import measure, measure_protocols
from tests.evaluator.protocols.conftest import CAPTION_AND_FOIL, run_of
from tests.evaluator.protocols.plain import PlainItem
from tests.evaluator.synthetic import Builder


def test_the_cases_are_many_and_every_reason_occurs(plain_items: list[PlainItem]) -> None:
    assert len(plain_items) >= 10_000
    assert {q.reason for q in plain_items} == {"", TRUNCATED, MISSING, NOT_A_NUMBER}


@pytest.mark.parametrize(
    ("protocol", "part"),
    [
        ("context", [("context", True, None), ("context", False, None)]),
        ("hard_positives", [("p", True, None)]),
        ("integration", [("d0", True, None), ("d0", False, None)]),
    ],
)
def test_an_item_that_lacks_a_part_of_its_protocol_is_unscored_and_rows_say_so(
    tmp_path: Path, protocol: str, part: list[tuple[str, bool, str | None]]
) -> None:
    builder = Builder(0, 1)
    for candidates in (
        CAPTION_AND_FOIL,
        CAPTION_AND_FOIL[:1],
        CAPTION_AND_FOIL[1:],
        CAPTION_AND_FOIL + part[:-1],
        CAPTION_AND_FOIL + part,
    ):
        builder.add(protocol, "swap", candidates)
    folder = run_of(builder, tmp_path)
    items = measure_protocols(open_run(folder))[protocol].items
    assert items.unscored.tolist() == [*[INCOMPLETE] * 4, ""]
    assert {row["unscored"] for row in measure(folder)["rows"]} == {4}


def test_the_same_texts_may_be_alike_in_one_item_and_not_matter_in_another(tmp_path: Path) -> None:
    builder = Builder(0, 1)
    for _ in range(2):
        builder.add("binary", "swap", CAPTION_AND_FOIL)
    # the caption of the second is read as that of the first; the foil of the first as its own
    # caption
    folder = run_of(builder, tmp_path, indistinct={"t0000002": "t0000000", "t0000001": "t0000000"})
    assert measure_protocols(open_run(folder))["binary"].items.unscored.tolist() == [TRUNCATED, ""]
