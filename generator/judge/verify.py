"""Verifies a dataset from its files alone and writes certificates.

A check takes a Benchmark and yields findings; to add a check, add it to CHECKS. Nothing here
imports the code that plans, splits or writes captions (a contract in pyproject.toml).
"""

import gc
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generator.base.errors import UserError, reason_of
from generator.base.progress import SILENT, Progress
from generator.dataset.records import BENCHMARK_TABLES
from generator.judge.benchmark import Benchmark
from generator.judge.certificate import (
    Examine,
    Finding,
    Findings,
    Images,
    Reproduce,
    Reproduced,
    guarded,
    make_certificate,
)
from generator.judge.every_pair import decided_scenes
from generator.judge.files import StoredBenchmark, StoredDataset, find_benchmarks
from generator.judge.frames import frame_findings
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
    frame_findings,  # items of `frames` show one world from two sides and keep to their frame
)


@dataclass
class _Case:
    """A benchmark that is being verified."""

    stored: StoredBenchmark
    """Its files."""
    findings: Findings
    """What is wrong with it, with its world and with its images."""
    benchmark: Benchmark | None
    """None if a table or the holdout cannot be read: then only its files are checked."""

    @classmethod
    def begin(cls, world: World, stored: StoredBenchmark) -> "_Case":
        """Begin with the findings about the files of a benchmark."""
        findings = Findings()
        findings.add(stored.findings)
        benchmark = None
        if stored.holdout is not None and len(stored.tables) == len(BENCHMARK_TABLES):
            benchmark = Benchmark(world, stored.tables, stored.manifest, stored.holdout)
        return cls(stored, findings, benchmark)


def verify_dataset(
    root: Path,
    name: str | None,
    progress: Progress = SILENT,
    examine: Examine | None = None,
    reproduce: Reproduce | None = None,
) -> dict[str, dict[str, Any]]:
    """Verify benchmarks of a dataset, and write each certificate to its benchmark's verify.json.

    Args:
        root: The folder of the dataset.
        name: The benchmark to verify; None for all.
        progress: Shows how far long checks are.
        examine: Renders images again; None stays at the level of records.
        reproduce: Makes everything except images again; None skips this.

    Returns:
        The certificates by name of the benchmark (certificate.py), even if the folder or its URL
        cannot be written.

    Raises:
        UserError: There is no dataset, no finished world or no benchmark; one of its files is a
            link, a pipe or a device; or its manifests or its vocabulary cannot be read.
    """
    names = find_benchmarks(root, name)
    # Large datasets are made again in other processes while this one judges.
    finish_reproduction: Callable[[], Mapping[str, Reproduced]] = dict
    if reproduce is not None:
        finish_reproduction = reproduce(root, names)
    with _gc_paused():
        dataset = StoredDataset(root, names, progress)
        world = World(dataset.world)
        cases = {
            benchmark: _Case.begin(world, stored)
            for benchmark, stored in dataset.benchmarks.items()
        }
        images = Images() if examine is None else examine(root, _splits_of_scenes(world, cases))
        # Also of the benchmarks that are not judged: a rotation is a whole.
        turns = read_turns(dataset)
        for benchmark, case in cases.items():
            case.findings.add(world.findings)
            case.findings.add(images.findings)
            # Without its tables only the files of a benchmark are judged, and these are findings by
            # now.
            if case.benchmark is None:
                continue
            # All checks run, even after a fault: a user mends everything at once.
            for check in CHECKS:
                subject = check.__name__.removesuffix("_findings")
                case.findings.add(guarded(check(case.benchmark), subject))
            rotation = rotation_findings(case.benchmark, benchmark, turns)
            case.findings.add(guarded(rotation, "the rotation"))
        with progress.track("making again", None):
            reproduced = finish_reproduction()
        certificates = {}
        for benchmark, case in cases.items():
            remade = reproduced.get(benchmark, Reproduced())
            certificates[benchmark] = _certify(
                dataset, case, world=world, images=images, remade=remade
            )
    return certificates


@contextmanager
def _gc_paused() -> Iterator[None]:
    """Disable cyclic garbage collection: the meanings of a million texts have no cycles, and scans
    of them are slow."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _splits_of_scenes(world: World, cases: Mapping[str, _Case]) -> dict[str, tuple[str, ...]]:
    """The split of every readable scene in each of the benchmarks; empty if it is in no split."""
    split_maps = [case.benchmark.split_of if case.benchmark else {} for case in cases.values()]
    return {
        scene_id: tuple(split_of.get(scene_id) or "" for split_of in split_maps)
        for scene_id in world.scenes
    }


def _certify(
    dataset: StoredDataset, case: _Case, *, world: World, images: Images, remade: Reproduced
) -> dict[str, Any]:
    """Make and write the certificate of a benchmark."""
    stored, findings = case.stored, case.findings
    findings.add(remade.findings)
    certificate = make_certificate(
        findings,
        {**stored.manifest, "declared_leaks": stored.declared_leaks},
        stored.tables,
        world=world.digest,
        images=images,
        reproduced=remade,
        manifests=(dataset.world.manifest_digest, stored.manifest_digest),
    )
    # A benchmark with findings has no truth to write: it would rest on the faults.
    is_sound = not findings.counts and case.benchmark is not None
    truths = decided_scenes(case.benchmark) if is_sound and case.benchmark else None
    try:
        dataset.write_certificate(stored.name, certificate, truths)
    except (OSError, UserError) as error:
        reason = error.message if isinstance(error, UserError) else reason_of(error)
        logger.warning(
            f"The certificate is not written to {dataset.place_of(stored.name)} ({reason}); the "
            f"verdict is the same."
        )
    return certificate
