"""Tables of audits: a column group for each, and none without audits."""

from evaluator.report.tables.audits import AuditTable, number, share
from evaluator.report.tables.csv_rows import csv_rows
from evaluator.report.tables.sources import Source

ABOUT = {"benchmark": "aro:x", "reference": "coco", "captions": "strict", "match": "lemmas"}
TABLE = AuditTable(
    "1", "Sizes", ["Split"], ("Count", "%"), [(["seen"], lambda audit: [number(audit["n"]), share(audit["n"], audit["of"])])]
)  # fmt: skip


def test_each_audit_has_its_columns() -> None:
    audits = [
        Source(("a",), audit={**ABOUT, "n": 1200, "of": 4800}),
        Source(("m",), missing="no run"),
        Source(("b",), audit={**ABOUT, "n": 0, "of": 0}),
    ]
    table = TABLE.make(audits)
    assert [(column.group, column.head) for column in table.columns] == [("a", "Count"), ("a", "%"), ("b", "Count"), ("b", "%")]  # fmt: skip
    assert [cell.text for cell in table.lines[0].cells] == ["1,200", "25.0", "0", ""]
    assert table.lines[0].cells[3].reason == "no sample is left"
    assert table.notes[0] == "a: aro:x against coco, captions read as strict, match by lemmas."
    assert [row["value"] for row in csv_rows(table)] == [1200, 0.25, 0, None]


def test_without_audits_there_are_no_lines() -> None:
    assert TABLE.make([Source(("m",), missing="no run")]).lines == []
