"""Reads the certificate that `gen verify` leaves in the folder of a benchmark (docs/verify.md)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from generator.base.errors import one_line
from generator.base.files import read_json, sha256
from generator.dataset.reader import Benchmark, Images, World

STATUSES = ("clean", "as declared", "failed")
"""The verdicts of a certificate (docs/verify.md)."""


class Level(StrEnum):
    """Which images a certificate covers (docs/verify.md, Levels)."""

    RECORDS = "records"
    SAMPLED = "sampled images"
    ALL = "all images"


_CHECKED = {
    Level.RECORDS: "the files were checked; the images were not",
    Level.SAMPLED: "the files were checked, and some images rendered again",
    Level.ALL: "the files were checked, and all images rendered again",
}
"""What a certificate of each level has checked."""


def describe_certificate(benchmark: Benchmark, world: Images) -> str:
    """Describe the status in the benchmark's verify.json.

    Anyone who passes the dataset on can write that file. A certificate of other files, or with an
    unknown status or level, does not count.

    Args:
        benchmark: The benchmark.
        world: The images that it asks about.

    Returns:
        A phrase that says the status and where it comes from.

    Raises:
        UserError: The file is damaged.
    """
    path = benchmark.path("verify.json")
    if not path.exists():
        return "not verified"
    certificate = read_json(path)
    # First whether it is about these files: what it says of others does not matter.
    if not covers(certificate, benchmark, world):
        return "not verified since it changed"
    status = certificate.get("status")
    level = certificate.get("level")
    faults = certificate.get("faults")
    is_known = False
    # The file may hold anything; what is not text is not looked up.
    if isinstance(status, str) and isinstance(level, str):
        is_known = status in STATUSES and level in list(Level)
    # A clean certificate with faults, or a failed one without, was edited.
    is_edited = bool(faults) != (status == "failed")
    if not is_known or not isinstance(faults, dict) or is_edited:
        return (
            "not verified: the certificate in the folder has no known status and level, or "
            "contradicts its faults"
        )
    named = f" ({one_line(', '.join(map(str, faults)))})" if faults else ""
    return f"{status}{named}: {_CHECKED[Level(str(level))]} (by the certificate in the folder)"


def covers(certificate: Mapping[str, Any], benchmark: Benchmark, world: Images) -> bool:
    """Check whether a certificate was made for these files.

    Args:
        certificate: The contents of verify.json.
        benchmark: The benchmark.
        world: The images that it asks about.

    Returns:
        Whether digests and manifests match. False for images that are not a world of this project.
    """
    judged = (certificate.get("benchmark"), certificate.get("world"), certificate.get("manifests"))
    if not isinstance(world, World):
        return False
    manifests = [sha256(component.path("manifest.json")) for component in (world, benchmark)]
    return judged == (benchmark.digest, world.digest, manifests)
