"""Verifies the folder of a suite: every world by the judge, and all digests."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from generator.base.errors import UserError
from generator.base.paths import folder_in
from generator.suite.digests import digest_faults, world_digests
from generator.suite.making import making_of
from generator.suite.record import read_record

DIGESTS = "digests"
"""Name of the report about digests, beside those of benchmarks."""

Reports = dict[str, dict[str, Any]]
"""Reports by name, as certificates of benchmarks (generator/judge/certificate.py)."""


def verify_suite(root: Path, verify_world: Callable[[Path], Mapping[str, Any]]) -> Reports:
    """Verify every finished world of a suite, and compare its digests with suite.json and with the
    published ones.

    Args:
        root: The folder of the suite.
        verify_world: Judges the dataset in a folder; returns the certificates by benchmark.

    Returns:
        A report for each benchmark, named TRACK/WORLD/BENCHMARK, and the report `DIGESTS`.

    Raises:
        UserError: The folder is not a suite, has no finished world, or a world cannot be read.
    """
    making = making_of(root)
    record = read_record(root)
    if not record["worlds"]:
        raise UserError(
            f"{root} has no finished world; run the same `gen suite` command again to go on."
        )
    reports: Reports = {}
    faults: list[str] = []
    n_published = 0
    for key, recorded in record["worlds"].items():
        folder = folder_in(root, key)
        for benchmark, certificate in verify_world(folder).items():
            reports[f"{key}/{benchmark}"] = dict(certificate)

        # The judge proves a world; only digests tell whether it is the world that was made, or
        # published.
        actual = world_digests(folder)
        for name, digest in recorded.items():
            if actual[name] != digest:  # type: ignore[literal-required]
                faults.append(
                    f"{key}: the {name} have the digest {actual[name][:12]}, "  # type: ignore[literal-required]
                    f"{'suite.json'} has {str(digest)[:12]}"
                )
        published = making.published.world(making.part, key)
        n_published += published is not None
        faults += digest_faults(key, actual, published)
    reports[DIGESTS] = _digest_report(faults, len(record["worlds"]), n_published)
    return reports


def _digest_report(faults: list[str], n_worlds: int, n_published: int) -> dict[str, Any]:
    """The report about digests.

    Args:
        faults: A sentence for each difference.
        n_worlds: Number of worlds.
        n_published: Number of worlds with published digests.
    """
    status = "failed" if faults else "clean"
    compared = f"suite.json, and those of {n_published} with the published ones"
    sentence = f"The digests of {n_worlds} worlds were compared with {compared}: {status}."
    return {
        "status": status,
        "findings": [{"fault": "digest", "what": fault} for fault in faults],
        "sentence": sentence,
    }
