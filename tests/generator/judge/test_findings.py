"""Findings are counted by fault and the first twenty of each are listed."""

from collections.abc import Iterator
from pathlib import Path

from generator.judge.findings import Finding, Findings, finding, guarded
from tests.generator.judge.datasets import edit, judged, said


def test_many_findings_are_counted_not_listed(copied: Path, benchmark: Path) -> None:
    edit(benchmark, "items", lambda rows: [row.update(held_out_positive=9) for row in rows])
    certificate = judged(copied)
    assert certificate["faults"]["wrong familiarity"] > 20
    assert len([f for f in certificate["findings"] if f["fault"] == "wrong familiarity"]) == 21
    assert "more" in said(certificate, "wrong familiarity")


def test_the_first_twenty_of_a_fault_are_listed() -> None:
    findings = Findings()
    findings.add(finding("b", str(n)) for n in range(23))
    findings.append(finding("a", "x"))
    assert findings.counts == {"b": 23, "a": 1}
    listed = [each["what"] for each in findings.listed()]
    assert listed == ["x", *map(str, range(20)), "and 3 more"]


def test_a_check_that_ends_over_the_files_is_a_finding_and_keeps_what_it_found() -> None:
    def check() -> Iterator[Finding]:
        yield finding("leak", "a")
        raise KeyError("category")

    assert list(guarded(check(), "pools")) == [
        finding("leak", "a"),
        finding(
            "unjudged",
            "pools cannot be judged, since a file holds other data than its format has: KeyError('category')",
        ),
    ]
