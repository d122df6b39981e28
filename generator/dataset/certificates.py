"""The certificate in a benchmark's folder, which `gen verify` wrote, as whoever reads the dataset finds it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from generator.base.errors import visible
from generator.base.files import read_json, sha256
from generator.dataset.reader import Benchmark, Images, World

STATUSES = ("clean", "as declared", "failed")


class Level(StrEnum):
    """Which images a certificate covers (docs/verify.md, Levels)."""

    RECORDS = "records"
    OUTLINES_SAMPLED = "sampled outlines"
    OUTLINES = "all outlines"
    SAMPLED = "sampled images"
    ALL = "all images"


def found_certificate(benchmark: Benchmark, world: Images) -> str:
    """The status in the benchmark's verify.json, in words that say where it is from.

    Whoever passes a dataset on may have written that file. A certificate of other files, or with a status that none
    has, counts as none.
    """
    path = benchmark.path("verify.json")
    if not path.exists():
        return "not verified"
    certificate = read_json(path)
    if not covers(certificate, benchmark, world):
        return "not verified since it changed"
    status, level, faults = (certificate.get(name) for name in ("status", "level", "faults"))
    known = status in STATUSES and level in list(Level) if isinstance(status, str) and isinstance(level, str) else False
    if not known or not isinstance(faults, dict) or bool(faults) != (status == "failed"):
        return "not verified: the certificate in the folder has no known status and level, or contradicts its faults"
    named = f" ({visible(', '.join(map(str, faults)))})" if faults else ""
    return f"{status}{named} at the level of {level}, by the certificate in the folder"


def covers(certificate: Mapping[str, Any], benchmark: Benchmark, world: Images) -> bool:
    """Whether a certificate is of these files."""
    judged = (certificate.get("benchmark"), certificate.get("world"), certificate.get("manifests"))
    if not isinstance(world, World):
        return False
    manifests = [sha256(each.path("manifest.json")) for each in (world, benchmark)]
    return judged == (benchmark.digest, world.digest, manifests)
