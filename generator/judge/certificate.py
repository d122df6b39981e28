"""The certificate of a benchmark: its status, the sentence to quote, and how deep the judge looked."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from generator.judge.findings import Findings
from generator.judge.held_out import DESIGNS
from generator.judge.levels import Images, Reproduced
from generator.judge.protocols import KNOWN

STATUSES = ("clean", "as declared", "failed")


def certificate(
    findings: Findings,
    manifest: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    world: str | None,
    images: Images,
    again: Reproduced,
) -> dict[str, Any]:
    """The certificate, ready for JSON: `status` (one of STATUSES), `level` (levels.Level), `reproduced`, `sentence`,
    `findings` ({fault, what}), `faults` (numbers by fault), `declared_leaks`, `unjudged_protocols`, `counts`, `images` (what the look
    at images counted), and the digests `world` and `benchmark`.

    `tables`: those that could be read. `world`: digest of the world that was judged.
    """
    declared = [str(leak) for leak in manifest.get("declared_leaks", [])]
    faults = dict(sorted(findings.counts.items()))
    counts = {"scenes": tables["splits"]["split"].is_valid().to_pylist().count(True) if "splits" in tables else 0}
    counts |= {name: len(tables.get(name, [])) for name in ("texts", "items", "candidates")}
    status = "failed" if faults else "as declared" if declared else "clean"
    unjudged = _unjudged(tables)
    if faults:
        sentence = "failed: " + ", ".join(f"{n} x {fault}" for fault, n in faults.items()) + "."
    else:
        proven = _proven(manifest, declared, counts, unjudged)
        made = "made again byte for byte" if again.done else f"not made again, since {again.reason}"
        pixels = images.sentence or "no pixel was compared"
        sentence = f"{status}: judged: {proven}; {made}; at the level of {images.level}: {pixels}."
    return {
        "status": status,
        "level": images.level,
        "reproduced": again.done and not again.findings,
        "sentence": sentence,
        "findings": list(findings.listed()),
        "faults": faults,
        "declared_leaks": declared,
        "unjudged_protocols": unjudged,
        "counts": counts,
        "images": images.facts,
        "world": world,
        "benchmark": manifest.get("sums"),
    }


def _proven(manifest: Mapping[str, Any], declared: list[str], counts: Mapping[str, int], unjudged: list[str]) -> str:
    leak = f"the declared leaks only ({'; '.join(declared)})" if declared else "no leak"
    exposed = "training negatives may name what is held out, " if manifest.get("exposed_negatives") else ""
    symmetric = "" if manifest.get("equal_familiarity") is False else "familiarity symmetric, "
    balanced = "counts and balance as declared, " if "balance" in manifest else ""
    strange = f"the form of items of {', '.join(unjudged)} not judged, " if unjudged else ""
    if manifest.get("design") not in (None, *DESIGNS):
        strange += f"the design '{manifest['design']}' in its author's words, "
    return (
        f"{counts['scenes']:,} scenes, {counts['texts']:,} texts and {counts['items']:,} items have {leak}; every positive is "
        f"true, every negative false, {exposed}{symmetric}{balanced}{strange}every file whole"
    )


def _unjudged(tables: Mapping[str, pa.Table]) -> list[str]:
    """The protocols of items that the judge does not know: their form is not judged."""
    if "items" not in tables:
        return []
    return sorted({str(each) for each in tables["items"]["protocol"].unique().to_pylist()} - KNOWN)
