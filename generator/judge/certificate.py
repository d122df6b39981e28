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
from generator.dataset.certificate import Level
from generator.judge.held_out import ASYMMETRIC, DESIGNS, own_frames_in_words

_NAMED_CELLS = 4
"""Number of cells without questions that a certificate's sentence names."""
_LISTED = 20
"""Number of findings of one fault that a certificate lists one by one."""

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


def guarded(findings: Iterable[Finding], subject: str) -> Iterator[Finding]:
    """Yields the findings of a check. If damaged data stop the check, this is a finding too:
    nothing is proved.

    Args:
        findings: The check.
        subject: What it checks, for that finding.
    """
    try:
        yield from findings
    except DAMAGE as error:
        logger.debug(f"the check of {subject} ended", exc_info=True)
        yield finding(
            "unjudged",
            f"{subject} cannot be judged, since the data of a file do not fit its format: "
            f"{error!r}",
        )


class Findings:
    """Counts findings and keeps the first twenty of each fault."""

    counts: Counter[str]
    """Number of findings by fault."""

    def __init__(self) -> None:
        self.counts = Counter()
        self._first: dict[str, list[Finding]] = defaultdict(list)

    def append(self, new: Finding) -> None:
        """Add one finding."""
        fault = new["fault"]
        self.counts[fault] += 1
        # All are counted, but a damaged table may have a finding for each of a million rows.
        if self.counts[fault] <= _LISTED:
            self._first[fault].append(new)

    def add(self, findings: Iterable[Finding]) -> None:
        """Add several findings."""
        for new in findings:
            self.append(new)

    def listed(self) -> Iterator[Finding]:
        """The first findings of each fault, then a finding with the number of unlisted findings."""
        for fault, count in sorted(self.counts.items()):
            yield from self._first[fault]
            if count > _LISTED:
                yield finding(fault, f"and {count - _LISTED} more")


@dataclass(frozen=True)
class Images:
    """The result of checking the images of a world."""

    level: Level = Level.RECORDS
    """How many images were checked."""
    findings: Sequence[Finding] = ()
    """Images that differ from their records."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Numbers for the certificate, by name."""
    sentence: str = ""
    """The comparisons made, for the certificate's sentence; empty at the level of records."""


@dataclass(frozen=True)
class Reproduced:
    """The result of making a benchmark and its world again and comparing their files."""

    done: bool = False
    """Whether both were made again."""
    findings: Sequence[Finding] = ()
    """The differences."""
    reason: str = "it was not requested"
    """Why they were not made again; means nothing if they were."""


Examine = Callable[[Path, Mapping[str, tuple[str, ...]]], Images]
"""Checks images of the dataset in a folder. The mapping gives each scene's split in every
benchmark, by scene_id."""

Reproduce = Callable[[Path, Sequence[str]], Callable[[], Mapping[str, Reproduced]]]
"""Starts to make benchmarks of the dataset in a folder again, and their world. Returns a function
that waits for the results and returns them by name of the benchmark."""


def make_certificate(
    findings: Findings,
    manifest: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    *,
    world: str | None,
    images: Images,
    reproduced: Reproduced,
    manifests: Sequence[str] = (),
) -> dict[str, Any]:
    """The certificate of a benchmark, ready for JSON.

    Args:
        findings: All findings about the benchmark, its world and its images.
        manifest: The manifest of the benchmark.
        tables: Its readable tables.
        world: Digest of the judged world.
        images: What was checked of the images.
        reproduced: Whether everything else was made again.
        manifests: SHA-256 of the manifests of world and benchmark, which no other digest covers.

    Returns:
        `status` (one of STATUSES), `level`, `reproduced`, `sentence`, `findings` ({fault, what}),
        `faults` (numbers by fault), `declared_leaks`, `empty_cells`, `counts`, `images` (the
        numbers of `Images.facts`), and the digests `world`, `benchmark` and `manifests`.
    """
    # The manifest may come from a stranger, so its entries may be anything.
    declared = [str(leak) for leak in manifest.get("declared_leaks", [])]
    empty_cells = [str(cell) for cell in manifest.get("empty_cells", [])]
    faults = dict(sorted(findings.counts.items()))
    counts = _count_rows(tables)
    # A benchmark with faults proves nothing, so its sentence has no clause of what was judged.
    if faults:
        status = "failed"
        listed = ", ".join(f"{count} x {fault}" for fault, count in faults.items())
        details = f"{listed}."
    else:
        status = "as declared" if declared else "clean"
        proof = _describe_proof(manifest, declared, counts)
        if empty_cells:
            proof += f"; {_describe_cells(empty_cells)}"
        details = f"judged: {proof}; {_describe_checks(images, reproduced)}."
    return {
        "status": status,
        "level": images.level,
        # Made again with differences is not reproduced.
        "reproduced": reproduced.done and not reproduced.findings,
        "sentence": f"{status}: {details}",
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


def _count_rows(tables: Mapping[str, pa.Table]) -> dict[str, int]:
    """The number of scenes in a split, and of rows of the other tables; 0 for an unreadable
    table."""
    n_scenes = 0
    if "splits" in tables:
        n_scenes = tables["splits"]["split"].is_valid().to_pylist().count(True)
    counts = {"scenes": n_scenes}
    for name in ("texts", "items", "candidates"):
        counts[name] = len(tables.get(name, []))
    return counts


def _describe_checks(images: Images, reproduced: Reproduced) -> str:
    """Whether the files were made again, and how many images were checked, as two clauses."""
    if reproduced.done:
        remade = "made again byte for byte"
    else:
        remade = f"not made again, since {reproduced.reason}"
    compared = images.sentence or "no pixel was compared"
    return f"{remade}; at the level of {images.level}: {compared}"


def _describe_cells(empty_cells: Sequence[str]) -> str:
    named = ", ".join(empty_cells[:_NAMED_CELLS])
    if len(empty_cells) > _NAMED_CELLS:
        named += f" and {len(empty_cells) - _NAMED_CELLS} more"
    return f"{len(empty_cells)} declared cells without questions ({named})"


def _describe_proof(
    manifest: Mapping[str, Any], declared: list[str], counts: Mapping[str, int]
) -> str:
    """What the judge proves of a benchmark without faults, as a clause."""
    leaks = f"the declared leaks only ({'; '.join(declared)})" if declared else "no leak"
    clauses = [
        f"{counts['scenes']:,} scenes, {counts['texts']:,} texts and {counts['items']:,} items "
        f"have {leaks}; every positive is true, every negative false"
    ]
    own_frames = own_frames_in_words((manifest.get("holdout") or {}).get("triples", ()))
    if own_frames:
        clauses.append(f"training shows nothing and says nothing of {own_frames}")
    if manifest.get("exposed_negatives"):
        clauses.append("training negatives may name what is held out")
    # Only False declares otherwise: without the key, familiarity was judged.
    if manifest.get("equal_familiarity") is not False:
        has_asymmetric = not {*ASYMMETRIC}.isdisjoint(manifest.get("scenes", ()))
        clauses.append("familiarity symmetric" + " but in asymmetric splits" * has_asymmetric)
    design = manifest.get("design")
    # The judge knows the rules of the built-in designs only, and the sentence must not claim more.
    if design is not None and design not in DESIGNS:
        clauses.append(f"the design '{design}' as its author describes it")
    clauses.append("every file whole")
    return ", ".join(clauses)
