"""Checks that a benchmark declares how it differs from a clean one."""

from collections.abc import Iterator

from generator.judge.benchmark import Benchmark
from generator.judge.class_lists import shared_arrangements
from generator.judge.findings import Finding, finding
from generator.judge.held_out import CLASSES


def undeclared_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Arrangements in two class lists, exposed negatives and unequal familiarity that the manifest does not declare."""
    manifest, declared = benchmark.manifest, benchmark.manifest.get("declared_leaks", [])
    for one, other, _ in shared_arrangements(benchmark.held_out):
        if not {one, other} & {*declared}:
            yield finding(
                "undeclared leak", f"one arrangement is in two lists: {one}; the manifest does not declare it"
            )
    if manifest.get("exposed_negatives") and not declared:
        yield finding(
            "undeclared leak", "training negatives may name what is held out; the manifest does not declare it"
        )
    if manifest.get("equal_familiarity") is False and benchmark.held_out.design != CLASSES and not declared:
        yield finding("undeclared leak", "familiarity may be unequal; the manifest does not declare it")
