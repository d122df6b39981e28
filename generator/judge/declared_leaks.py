"""Whether a benchmark declares whatever it does otherwise than a clean one."""

from collections.abc import Iterator

from generator.judge.case import Case
from generator.judge.class_lists import shared_arrangements
from generator.judge.files import Finding, finding
from generator.judge.heldout import CLASSES


def declared_findings(case: Case) -> Iterator[Finding]:
    """Arrangements in two lists, negatives that expose what is held out and unequal familiarity that no declared leak names."""
    manifest, declared = case.manifest, case.manifest.get("declared_leaks", [])
    for one, other, _ in shared_arrangements(case.held_out):
        if not {one, other} & {*declared}:
            yield finding(
                "undeclared leak", f"one arrangement is in two lists: {one}; the manifest does not declare it"
            )
    if manifest.get("exposed_negatives") and not declared:
        yield finding(
            "undeclared leak", "training negatives may name what is held out; the manifest does not declare it"
        )
    if manifest.get("equal_familiarity") is False and case.held_out.design != CLASSES and not declared:
        yield finding("undeclared leak", "familiarity may be unequal; the manifest does not declare it")
