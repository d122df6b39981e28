"""Verify a dataset from its files alone and write certificates.

A check takes a Benchmark and yields findings; to add a check, add it to CHECKS. Nothing here
imports the code that plans, splits or writes captions (a contract in pyproject.toml).
"""

import gc
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from generator.base.errors import UserError, reason_of
from generator.base.files import read_json, sha256, write_json
from generator.base.paths import check_benchmark_name, check_own_files
from generator.base.progress import SILENT, Progress
from generator.base.store import fetch, publish, shown
from generator.dataset.floor import declared_floor
from generator.dataset.reader import Dataset
from generator.dataset.records import BENCHMARK_TABLES, BenchmarkManifest, HoldoutRecord
from generator.dataset.truth import TRUTH_FILE, write_truths
from generator.judge.benchmark import Benchmark
from generator.judge.certificate import (
    DAMAGE,
    Examine,
    Finding,
    Findings,
    Images,
    Reproduce,
    Reproduced,
    certificate,
    finding,
    guarded,
)
from generator.judge.every_pair import decided_scenes
from generator.judge.files import file_faults, readable_table
from generator.judge.leaks import (
    asymmetry_findings,
    compound_findings,
    dose_findings,
    leak_findings,
    symmetry_findings,
    undeclared_findings,
    word_findings,
)
from generator.judge.membership import (
    cell_findings,
    class_findings,
    image_findings,
    item_findings,
    split_findings,
    training_findings,
    world_findings,
)
from generator.judge.rotation import read_turns, rotation_findings
from generator.judge.truth import pool_findings, text_findings, truth_findings
from generator.judge.world import World

logger = logging.getLogger(__name__)

CHECKS: tuple[Callable[[Benchmark], Iterator[Finding]], ...] = (
    world_findings,  # the world is the one that the benchmark names
    text_findings,  # every text has one reading
    split_findings,  # scenes are in the splits that the holdout gives them
    image_findings,  # an image shows one scene
    class_findings,  # class lists (design gzsl): scenes show labels of their split's list
    item_findings,  # items are in their scenes' split and have a true text
    cell_findings,  # no split lacks a question that others have, unless the manifest says so
    training_findings,  # protocol, split and scenes agree on the training data
    leak_findings,  # training neither shows nor names what is held out
    dose_findings,  # training shows bindings with a dose as often as it says
    undeclared_findings,  # deviations from a clean benchmark are declared
    truth_findings,  # true texts are true, false texts are false
    # captions of unseen compounds name only held-out ones, captions of seen ones only trained ones
    compound_findings,
    word_findings,  # foils name only words that training shows, if the manifest declares it
    symmetry_findings,  # true and false texts of an item are equally familiar
    # in asymmetric splits either the true or the false texts name held-out content
    asymmetry_findings,
    pool_findings,  # pools list all their true texts
)


def verify_dataset(
    root: Path,
    name: str | None,
    progress: Progress = SILENT,
    examine: Examine | None = None,
    reproduce: Reproduce | None = None,
) -> dict[str, dict[str, Any]]:
    """Verify the benchmark `name`, or all of them, and write each certificate to its benchmark's
    verify.json.

    `examine`: checks images; None stays at the level of records. `reproduce`: makes everything
    except images again;
    None skips this. Returns the certificates by benchmark name (certificate.py), even if the folder
    or its URL cannot
    be written. Raises UserError if there is not a dataset, no finished world or no benchmark, or if
    one of its files is a
    link, a pipe or a device.
    """
    check_own_files(root)
    fetch(root)
    world_folder = root / "world"
    if not world_folder.is_dir():
        raise UserError(
            f"{root} is not a dataset: it has no folder 'world'; give a folder made by `gen "
            f"render`."
        )
    if not (world_folder / "manifest.json").exists():
        raise UserError(
            f"{world_folder} is unfinished; run the same `gen render` command again to finish it."
        )
    names = (
        [name]
        if name
        else sorted(path.parent.name for path in root.glob("benchmarks/[!.]*/manifest.json"))
    )
    if not names:
        raise UserError(
            f"{root} has no benchmark yet; make one with `gen split {root} --holdout 3x3`."
        )
    for each in names:
        if not (root / "benchmarks" / check_benchmark_name(each) / "manifest.json").exists():
            Dataset.open(root).benchmark(each)
    certificates: dict[str, dict[str, Any]] = {}
    making: Callable[[], Mapping[str, Reproduced]] = reproduce(root, names) if reproduce else dict
    with _uncollected():
        world = World(world_folder, progress)
        opened = {each: _opened(world, root / "benchmarks" / each) for each in names}
        images = (
            examine(root, _splits(world, [one for _, _, _, one in opened.values()]))
            if examine
            else Images()
        )
        turns = read_turns(root)
        for each, (findings, _, _, benchmark) in opened.items():
            findings.add(world.findings)
            findings.add(images.findings)
            if benchmark:
                for check in CHECKS:
                    findings.add(guarded(check(benchmark), check.__name__.replace("_findings", "")))
                findings.add(guarded(rotation_findings(benchmark, each, turns), "the rotation"))
        floors = {
            each: _floor(root / "benchmarks" / each, manifest, findings)
            for each, (findings, manifest, *_) in opened.items()
        }
        with progress.track("making again", None):
            again = making()
        for each, (findings, manifest, tables, benchmark) in opened.items():
            made = again.get(each, Reproduced())
            findings.add(made.findings)
            manifests = [
                sha256(each_folder / "manifest.json")
                for each_folder in (world_folder, root / "benchmarks" / each)
            ]
            with_floor = {
                **manifest,
                "declared_leaks": [*manifest.get("declared_leaks", []), *floors[each]],
            }
            certificates[each] = certificate(
                findings, with_floor, tables, world.digest, images, made, manifests
            )
            _write(root, each, certificates[each], None if findings.counts else benchmark)
    return certificates


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable cyclic garbage collection: the meanings of a million texts have no cycles, and scans
    of them are slow."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _write(root: Path, name: str, data: dict[str, Any], sound: Benchmark | None) -> None:
    """Write a certificate, and the truth of every pair of a `sound` benchmark, one without
    findings.

    Only warns if the folder or its URL cannot be written: the verdict is valid without the files.
    The truths of a faulty benchmark would rest on its faults, so old ones are removed.
    """
    folder = root / "benchmarks" / name
    try:
        write_json(folder / "verify.json", data)
        if sound is None:
            (folder / TRUTH_FILE).unlink(missing_ok=True)
        else:
            write_truths(folder, str(data["benchmark"]), str(data["world"]), decided_scenes(sound))
        publish(root)
    except (OSError, UserError) as error:
        why = error.message if isinstance(error, UserError) else reason_of(error)
        logger.warning(
            f"The certificate is not written to {shown(root)}/benchmarks/{name} ({why}); the "
            f"verdict is the same."
        )


def _floor(folder: Path, manifest: Mapping[str, Any], findings: Findings) -> list[str]:
    """What floor.json declares; a damaged file is a finding."""
    try:
        return declared_floor(folder, manifest.get("sums"))
    except DAMAGE as error:
        findings.append(finding("damaged file", f"floor.json cannot be read: {error}"))
        return []


def _splits(world: World, benchmarks: list[Benchmark | None]) -> dict[str, tuple[str, ...]]:
    """The split of every readable scene in each of the benchmarks; empty if it is in no split."""
    of = [one.split_of if one else {} for one in benchmarks]
    return {scene_id: tuple(each.get(scene_id) or "" for each in of) for scene_id in world.shown}


def _opened(
    world: World, folder: Path
) -> tuple[Findings, dict[str, Any], dict[str, pa.Table], Benchmark | None]:
    """Open a benchmark. Returns the findings about its files, its manifest, its readable tables,
    and the Benchmark, or None if it cannot be judged."""
    manifest, findings = read_json(folder / "manifest.json", BenchmarkManifest), Findings()
    findings.add(file_faults(folder, manifest.get("sums"), images=False, progress=world.progress))
    tables: dict[str, pa.Table] = {}
    for name, schema in BENCHMARK_TABLES.items():
        if (
            table := readable_table(folder / f"{name}.parquet", schema, findings.append)
        ) is not None:
            tables[name] = table
    if not (folder / "holdout.json").exists():
        findings.append(
            finding(
                "missing holdout",
                "without holdout.json neither leaks nor familiarity can be judged",
            )
        )
    elif len(tables) == len(BENCHMARK_TABLES):
        holdout = read_json(folder / "holdout.json", HoldoutRecord)
        try:
            return findings, manifest, tables, Benchmark(world, tables, manifest, holdout)
        except DAMAGE as error:
            findings.append(finding("unjudged", f"the benchmark cannot be judged: {error!r}"))
    return findings, manifest, tables, None
