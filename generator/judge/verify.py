"""`gen verify`: proves a dataset from its files alone, and writes a certificate.

Imports nothing of the code that plans, splits or writes captions; a test keeps it so.
"""

from collections import Counter
from pathlib import Path
from typing import Any

from generator.dataset.errors import UserError
from generator.dataset.files import read_json, write_json
from generator.dataset.reader import Dataset
from generator.dataset.schema import BENCHMARK_TABLES
from generator.judge.case import Case, World
from generator.judge.checks import CHECKS
from generator.judge.files import Finding, Row, file_faults, finding, readable_table

_LISTED = 20  # findings of one fault that are named one by one


def verify_dataset(root: Path, name: str | None) -> dict[str, dict[str, Any]]:
    """Certificates by benchmark name, each also written to its benchmark's verify.json.

    A certificate has `status` (clean, as declared or failed), `sentence`, `findings` ({fault, what}), and the digests
    of what was judged. Raises UserError when there is nothing to judge: no dataset, an unfinished one, no benchmark.
    """
    world_folder = root / "world"
    if not world_folder.is_dir():
        raise UserError(f"{root} is no dataset: it has no folder 'world'; give a folder made by `gen render`.")
    if not (world_folder / "manifest.json").exists():
        raise UserError(f"{world_folder} is unfinished; run the same `gen render` command again to finish it.")
    names = [name] if name else sorted(path.parent.name for path in root.glob("benchmarks/[!.]*/manifest.json"))
    if not names:
        raise UserError(f"{root} has no benchmark yet; make one with `gen split {root} --holdout 3x3`.")
    world = World(world_folder)
    certificates = {}
    for each in names:
        folder = root / "benchmarks" / each
        if not (folder / "manifest.json").exists():
            Dataset.open(root).benchmark(each)
        certificates[each] = _judge(world, folder)
        write_json(folder / "verify.json", certificates[each])
    return certificates


def _judge(world: World, folder: Path) -> dict[str, Any]:
    manifest = read_json(folder / "manifest.json")
    findings = world.findings + list(file_faults(folder, manifest.get("sums"), images=False))
    tables = {name: readable_table(folder / f"{name}.parquet", findings) for name in BENCHMARK_TABLES}
    whole = {name: rows for name, rows in tables.items() if rows is not None}
    if not (folder / "holdout.json").exists():
        findings.append(finding("missing holdout", "without holdout.json neither leaks nor familiarity can be judged"))
    elif len(whole) == len(tables):
        case = Case(world, whole, manifest, read_json(folder / "holdout.json"))
        for check in CHECKS:
            findings += check(case)
    return _certificate(findings, manifest, whole, world)


def _certificate(
    findings: list[Finding], manifest: dict[str, Any], tables: dict[str, list[Row]], world: World
) -> dict[str, Any]:
    declared = manifest.get("declared_leaks", [])
    status = "failed" if findings else "as declared" if declared else "clean"
    counts = {"scenes": len(world.scenes)} | {
        name: len(tables.get(name, [])) for name in ("texts", "items", "candidates")
    }
    faults = Counter(found["fault"] for found in findings)
    if findings:
        sentence = "failed: " + ", ".join(f"{n} x {fault}" for fault, n in sorted(faults.items())) + "."
    else:
        leak = f"the declared leaks only ({'; '.join(declared)})" if declared else "no leak"
        sentence = (
            f"{status}: {counts['scenes']:,} scenes, {counts['texts']:,} texts and {counts['items']:,} items have {leak}; every "
            f"positive is true, every negative false, familiarity symmetric, every file whole."
        )
    shown: list[Finding] = []
    for fault, n in sorted(faults.items()):
        shown += [found for found in findings if found["fault"] == fault][:_LISTED]
        if n > _LISTED:
            shown.append(finding(fault, f"and {n - _LISTED} more"))
    return {
        "status": status,
        "sentence": sentence,
        "findings": shown,
        "faults": dict(faults),
        "declared_leaks": declared,
        "counts": counts,
        "world": world.digest,
        "benchmark": manifest.get("sums"),
    }
