"""Collects the findings of checks and makes a benchmark's certificate: its status, a sentence to
quote, and the extent of the checks."""

import logging
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from generator.base.errors import UserError
from generator.dataset.reader import Level
from generator.judge.held_out import ASYMMETRIC, DESIGNS

_NAMED_CELLS = 4  # cells without questions that a certificate's sentence names
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
    RuntimeError,
    pa.ArrowException,
    tarfile.TarError,
)
"""Exceptions that reading a file raises if its data do not fit its format."""

Finding = dict[str, str]
"""`fault`: the kind of fault. `what`: which rows or files show it."""


def finding(fault: str, what: str) -> Finding:
    """A finding from its kind of fault and a sentence that names the rows or files."""
    return {"fault": fault, "what": what}


def guarded(found: Iterable[Finding], what: str) -> Iterator[Finding]:
    """Yields the findings of a check. If damaged data stop the check, this is a finding too:
    nothing is proved.

    `what`: the name of the check, for that finding.
    """
    try:
        yield from found
    except DAMAGE as error:
        logger.debug(f"the check of {what} ended", exc_info=True)
        yield finding(
            "unjudged",
            f"{what} cannot be judged, since the data of a file do not fit its format: {error!r}",
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
        """The first findings of each fault, then a finding with the number of unlisted findings."""
        for fault, n in sorted(self.counts.items()):
            yield from self._first[fault]
            if n > _LISTED:
                yield finding(fault, f"and {n - _LISTED} more")


@dataclass(frozen=True)
class Images:
    """The result of checking the images of a world.

    `level`: how and how many were checked. `facts`: numbers for the certificate, by name.
    `sentence`: the comparisons
    made, for the certificate's sentence; empty at the level of records.
    """

    level: Level = Level.RECORDS
    findings: Sequence[Finding] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    sentence: str = ""


@dataclass(frozen=True)
class Reproduced:
    """The result of making a benchmark and its world again and comparing the bytes of their files.

    `done`: whether both were made again. `reason`: why they were not.
    """

    done: bool = False
    findings: Sequence[Finding] = ()
    reason: str = "it was not requested"


Examine = Callable[[Path, Mapping[str, tuple[str, ...]]], Images]
"""Checks images of the dataset in a folder. The mapping gives each scene's split in every
benchmark, by scene_id."""

Reproduce = Callable[[Path, Sequence[str]], Callable[[], Mapping[str, Reproduced]]]
"""Starts to make benchmarks of the dataset in a folder again, and their world. Returns a function
that waits for the results."""


def certificate(
    findings: Findings,
    manifest: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    world: str | None,
    images: Images,
    again: Reproduced,
    manifests: Sequence[str] = (),
) -> dict[str, Any]:
    """The certificate, ready for JSON: `status` (one of STATUSES), `level`, `reproduced`,
    `sentence`, `findings` ({fault, what}), `faults` (numbers by fault), `declared_leaks`,
    `empty_cells`, `counts`, `images` (the numbers of `Images.facts`), and the digests `world` and
    `benchmark`.

    `tables`: the readable tables. `world`: digest of the judged world. `manifests`: SHA-256 of the
    manifests of world
    and benchmark, whose claims no other digest covers.

    """
    declared = [str(leak) for leak in manifest.get("declared_leaks", [])]
    empty_cells = [str(cell) for cell in manifest.get("empty_cells", [])]
    faults = dict(sorted(findings.counts.items()))
    counts = {
        "scenes": tables["splits"]["split"].is_valid().to_pylist().count(True)
        if "splits" in tables
        else 0
    }
    counts |= {name: len(tables.get(name, [])) for name in ("texts", "items", "candidates")}
    status = "failed" if faults else "as declared" if declared else "clean"
    if faults:
        sentence = "failed: " + ", ".join(f"{n} x {fault}" for fault, n in faults.items()) + "."
    else:
        made = "made again byte for byte" if again.done else f"not made again, since {again.reason}"
        pixels = images.sentence or "no pixel was compared"
        proven = _proven(manifest, declared, counts)
        if empty_cells:
            proven += f"; {_cells_said(empty_cells)}"
        sentence = f"{status}: judged: {proven}; {made}; at the level of {images.level}: {pixels}."
    return {
        "status": status,
        "level": images.level,
        "reproduced": again.done and not again.findings,
        "sentence": sentence,
        "findings": list(findings.listed()),
        "faults": faults,
        "declared_leaks": declared,
        "empty_cells": empty_cells,
        "counts": counts,
        "images": images.facts,
        "world": world,
        "benchmark": manifest.get("sums"),
        "manifests": list(manifests),
    }


def _cells_said(cells: Sequence[str]) -> str:
    more = f" and {len(cells) - _NAMED_CELLS} more" if len(cells) > _NAMED_CELLS else ""
    return (
        f"{len(cells)} declared cells without questions ({', '.join(cells[:_NAMED_CELLS])}{more})"
    )


def _proven(manifest: Mapping[str, Any], declared: list[str], counts: Mapping[str, int]) -> str:
    leak = f"the declared leaks only ({'; '.join(declared)})" if declared else "no leak"
    exposed = (
        "training negatives may name what is held out, "
        if manifest.get("exposed_negatives")
        else ""
    )
    but = " but in asymmetric splits" if {*ASYMMETRIC} & {*manifest.get("scenes", ())} else ""
    symmetric = (
        "" if manifest.get("equal_familiarity") is False else f"familiarity symmetric{but}, "
    )
    strange = f"the design '{manifest.get('design')}' as its author describes it, "
    return (
        f"{counts['scenes']:,} scenes, {counts['texts']:,} texts and {counts['items']:,} items "
        f"have {leak}; every "
        "positive is true, every negative false, "
        f"{exposed}{symmetric}{'' if manifest.get('design') in (None, *DESIGNS) else strange}every "
        f"file whole"
    )
