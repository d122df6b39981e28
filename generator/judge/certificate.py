"""The certificate of a benchmark: its status, the sentence to quote, and what was done to find it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa

from generator.judge.findings import Finding, Findings
from generator.judge.held_out import DESIGNS

STATUSES = ("clean", "as declared", "failed")


class Level(StrEnum):
    """Which images a certificate covers (docs/verify.md, Levels)."""

    RECORDS = "records"
    SAMPLED = "sampled images"
    ALL = "all images"


@dataclass(frozen=True)
class Images:
    """What a look at the images of a world found.

    `level`: how many were looked at. `facts`: numbers for the certificate, by name. `sentence`: what was compared,
    for its sentence; empty at the level of records.
    """

    level: Level = Level.RECORDS
    findings: Sequence[Finding] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    sentence: str = ""


@dataclass(frozen=True)
class Reproduced:
    """What came of making a benchmark and its world again, to compare the bytes of their files.

    `done`: whether both were made again. `reason`: why not.
    """

    done: bool = False
    findings: Sequence[Finding] = ()
    reason: str = "nobody asked for it"


Examine = Callable[[Path, Mapping[str, tuple[str, ...]]], Images]
"""Looks at images of the dataset in a folder. The scenes are given by id, each with its split in every benchmark."""

Reproduce = Callable[[Path, Sequence[str]], Mapping[str, Reproduced]]
"""Makes some benchmarks of the dataset in a folder again, and their world."""


def certificate(
    findings: Findings,
    manifest: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    world: str | None,
    images: Images,
    again: Reproduced,
) -> dict[str, Any]:
    """The certificate, ready for JSON: `status` (one of STATUSES), `level`, `reproduced`, `sentence`, `findings`
    ({fault, what}), `faults` (numbers by fault), `declared_leaks`, `counts`, `images` (what the look at images
    counted), and the digests `world` and `benchmark`.

    `tables`: those that could be read. `world`: digest of the world that was judged.

    """
    declared = [str(leak) for leak in manifest.get("declared_leaks", [])]
    faults = dict(sorted(findings.counts.items()))
    counts = {"scenes": tables["splits"]["split"].is_valid().to_pylist().count(True) if "splits" in tables else 0}
    counts |= {name: len(tables.get(name, [])) for name in ("texts", "items", "candidates")}
    status = "failed" if faults else "as declared" if declared else "clean"
    if faults:
        sentence = "failed: " + ", ".join(f"{n} x {fault}" for fault, n in faults.items()) + "."
    else:
        made = "made again byte for byte" if again.done else f"not made again, since {again.reason}"
        pixels = images.sentence or "no pixel was compared"
        proven = _proven(manifest, declared, counts)
        sentence = f"{status}: judged: {proven}; {made}; at the level of {images.level}: {pixels}."
    return {
        "status": status,
        "level": images.level,
        "reproduced": again.done and not again.findings,
        "sentence": sentence,
        "findings": list(findings.listed()),
        "faults": faults,
        "declared_leaks": declared,
        "counts": counts,
        "images": images.facts,
        "world": world,
        "benchmark": manifest.get("sums"),
    }


def _proven(manifest: Mapping[str, Any], declared: list[str], counts: Mapping[str, int]) -> str:
    leak = f"the declared leaks only ({'; '.join(declared)})" if declared else "no leak"
    exposed = "training negatives may name what is held out, " if manifest.get("exposed_negatives") else ""
    symmetric = "" if manifest.get("equal_familiarity") is False else "familiarity symmetric, "
    strange = f"the design '{manifest.get('design')}' in its author's words, "
    return (
        f"{counts['scenes']:,} scenes, {counts['texts']:,} texts and {counts['items']:,} items have {leak}; "
        "every positive is "
        f"true, every negative false, {exposed}{symmetric}"
        f"{'' if manifest.get('design') in (None, *DESIGNS) else strange}every file whole"
    )
