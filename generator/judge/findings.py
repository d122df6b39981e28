"""What a check finds wrong, and the collection of all findings of a judgement."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

_LISTED = 20  # findings of one fault that are listed one by one

Finding = dict[str, str]
"""`fault`: the kind of fault. `what`: which rows or files show it."""


def finding(fault: str, what: str) -> Finding:
    """A finding from its kind of fault and a sentence that names the rows or files."""
    return {"fault": fault, "what": what}


class Findings:
    """Counts findings by fault (`counts`) and keeps the first twenty of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._first: dict[str, list[Finding]] = defaultdict(list)

    def append(self, found: Finding) -> None:
        """Add one finding."""
        self.counts[found["fault"]] += 1
        if self.counts[found["fault"]] <= _LISTED:
            self._first[found["fault"]].append(found)

    def add(self, findings: Iterable[Finding]) -> None:
        """Add several findings."""
        for found in findings:
            self.append(found)

    def listed(self) -> Iterator[Finding]:
        """The first findings of each fault, and one more that says how many were not listed."""
        for fault, n in sorted(self.counts.items()):
            yield from self._first[fault]
            if n > _LISTED:
                yield finding(fault, f"and {n - _LISTED} more")
