"""The findings of a judgement: how many of each fault, and the first of them by name."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from generator.judge.files import Finding, finding

_LISTED = 20  # findings of one fault that are named one by one


class Ledger:
    """Findings: the number of each fault, and the first twenty of it."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, list[Finding]] = defaultdict(list)

    def append(self, found: Finding) -> None:
        """Note a finding."""
        self.counts[found["fault"]] += 1
        if self.counts[found["fault"]] <= _LISTED:
            self.first[found["fault"]].append(found)

    def enter(self, findings: Iterable[Finding]) -> None:
        """Note findings."""
        for found in findings:
            self.append(found)

    def listed(self) -> Iterator[Finding]:
        """The first findings of each fault, and how many more there are."""
        for fault, n in sorted(self.counts.items()):
            yield from self.first[fault]
            if n > _LISTED:
                yield finding(fault, f"and {n - _LISTED} more")
