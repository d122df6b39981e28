"""What a check finds wrong, and the collection of all findings of a judgement."""

import logging
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

import pyarrow as pa

from generator.base.errors import UserError

_LISTED = 20  # findings of one fault that are listed one by one

logger = logging.getLogger(__name__)

DAMAGE = (
    UserError,
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    pa.ArrowException,
    tarfile.TarError,
)
"""What reading a file raises when it holds other data than its format has."""

Finding = dict[str, str]
"""`fault`: the kind of fault. `what`: which rows or files show it."""


def finding(fault: str, what: str) -> Finding:
    """A finding from its kind of fault and a sentence that names the rows or files."""
    return {"fault": fault, "what": what}


def guarded(found: Iterable[Finding], what: str) -> Iterator[Finding]:
    """What a check finds. A check that ends over what the files hold proves nothing, so that is a finding too.

    `what`: names what is checked.
    """
    try:
        yield from found
    except DAMAGE as error:
        logger.debug(f"the check of {what} ended", exc_info=True)
        yield finding(
            "unjudged", f"{what} cannot be judged, since a file holds other data than its format has: {error!r}"
        )


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
