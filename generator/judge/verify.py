"""Verify a dataset from its files alone and write certificates.

A check takes a Benchmark and yields what it finds wrong; to add one, add it to CHECKS. Nothing here imports the code
that plans, splits or writes captions (a contract in pyproject.toml).
"""

import gc
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.base.files import read_json, write_json
from generator.base.paths import check_benchmark_name, check_own_files
from generator.base.progress import SILENT, Progress
from generator.base.store import fetch, publish
from generator.dataset.reader import Dataset
from generator.dataset.records import BENCHMARK_TABLES, BenchmarkManifest, HoldoutRecord
from generator.judge.benchmark import Benchmark
from generator.judge.certificate import Examine, Images, Reproduce, Reproduced, certificate
from generator.judge.class_lists import class_findings
from generator.judge.familiarity import symmetry_findings
from generator.judge.files import file_faults, readable_table
from generator.judge.findings import DAMAGE, Finding, Findings, finding, guarded
from generator.judge.leaks import leak_findings, undeclared_findings
from generator.judge.membership import (
    image_findings,
    item_findings,
    split_findings,
    training_findings,
    world_findings,
)
from generator.judge.pools import pool_findings
from generator.judge.truth import text_findings, truth_findings
from generator.judge.world import World

logger = logging.getLogger(__name__)

CHECKS: tuple[Callable[[Benchmark], Iterator[Finding]], ...] = (
    world_findings,  # the world is the one that the benchmark names
    text_findings,  # every text has one reading
    split_findings,  # scenes are in the splits that the holdout gives them
    image_findings,  # an image shows one scene
    class_findings,  # class lists (design gzsl): labels are of the list of their split
    item_findings,  # items are in their scenes' split and have a true text
    training_findings,  # training data are those of split train, by every reading
    leak_findings,  # training neither shows nor names what is held out
    undeclared_findings,  # deviations from a clean benchmark are declared
    truth_findings,  # true texts are true, false texts are false
    symmetry_findings,  # true and false texts of an item are equally familiar
    pool_findings,  # pools list all their true texts
)


def verify_dataset(
    root: Path,
    name: str | None,
    progress: Progress = SILENT,
    examine: Examine | None = None,
    reproduce: Reproduce | None = None,
) -> dict[str, dict[str, Any]]:
    """Verify the benchmark `name`, or all of them, and write each certificate to its benchmark's verify.json.

    `examine`: looks at images; None stays at the level of records. `reproduce`: makes everything but images again;
    None leaves it to the judge alone. Returns the certificates by benchmark name (certificate.py); where the folder
    cannot be written, they are returned all the same. Raises UserError if there is no dataset, no finished world or
    no benchmark, and if a file of it is a link, a pipe or a device.
    """
    check_own_files(root)
    fetch(root)
    world_folder = root / "world"
    if not world_folder.is_dir():
        raise UserError(f"{root} is no dataset: it has no folder 'world'; give a folder made by `gen render`.")
    if not (world_folder / "manifest.json").exists():
        raise UserError(f"{world_folder} is unfinished; run the same `gen render` command again to finish it.")
    names = [name] if name else sorted(path.parent.name for path in root.glob("benchmarks/[!.]*/manifest.json"))
    if not names:
        raise UserError(f"{root} has no benchmark yet; make one with `gen split {root} --holdout 3x3`.")
    certificates = {}
    with _uncollected():
        world = World(world_folder, progress)
        images = examine(root, _splits(world, names, root)) if examine else Images()
        for each in names:
            if not (root / "benchmarks" / check_benchmark_name(each) / "manifest.json").exists():
                Dataset.open(root).benchmark(each)
        again = reproduce(root, names) if reproduce else {}
        for each in names:
            folder = root / "benchmarks" / each
            certificates[each] = _judge(world, folder, images, again.get(each, Reproduced()))
            if _write(folder / "verify.json", certificates[each]):
                publish(root)
    return certificates


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector of cycles: the meanings of a million texts have none, and it would walk them often."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _write(path: Path, data: dict[str, Any]) -> bool:
    """Write a certificate; False, with a warning, where the folder cannot be written: the verdict counts without it."""
    try:
        write_json(path, data)
    except OSError as error:
        logger.warning(f"The certificate is not written to {path} ({error.strerror}); the verdict is the same.")
        return False
    return True


def _splits(world: World, names: list[str], root: Path) -> dict[str, tuple[str, ...]]:
    """The split of every readable scene in each of the benchmarks, empty where it is in none."""
    of: list[dict[str, str]] = []
    for name in names:
        path, unread = root / "benchmarks" / check_benchmark_name(name) / "splits.parquet", Findings()
        table = readable_table(path, BENCHMARK_TABLES["splits"], unread.append)
        columns = (table[column].to_pylist() for column in ("scene_id", "split")) if table is not None else ([], [])
        of.append(dict(zip(*columns, strict=True)))
    return {scene_id: tuple(each.get(scene_id) or "" for each in of) for scene_id in world.shown}


def _judge(world: World, folder: Path, images: Images, again: Reproduced) -> dict[str, Any]:
    manifest = read_json(folder / "manifest.json", BenchmarkManifest)
    findings = Findings()
    findings.add(world.findings)
    findings.add(images.findings)
    findings.add(again.findings)
    findings.add(file_faults(folder, manifest.get("sums"), images=False, progress=world.progress))
    tables = {
        name: readable_table(folder / f"{name}.parquet", schema, findings.append)
        for name, schema in BENCHMARK_TABLES.items()
    }
    whole = {name: table for name, table in tables.items() if table is not None}
    if not (folder / "holdout.json").exists():
        findings.append(finding("missing holdout", "without holdout.json neither leaks nor familiarity can be judged"))
    elif len(whole) == len(tables):
        holdout = read_json(folder / "holdout.json", HoldoutRecord)
        try:
            benchmark = Benchmark(world, whole, manifest, holdout)
        except DAMAGE as error:
            findings.append(finding("unjudged", f"the benchmark cannot be judged: {error!r}"))
            return certificate(findings, manifest, whole, world.digest, images, again)
        for check in CHECKS:
            findings.add(guarded(check(benchmark), check.__name__.replace("_findings", "")))
    return certificate(findings, manifest, whole, world.digest, images, again)
