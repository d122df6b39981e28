"""What is known of a benchmark's files: the certificate in its folder, or a verdict of `gen verify` for this run."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from generator.base.errors import UserError, visible
from generator.base.files import read_json, sha256
from generator.dataset.reader import Benchmark, Images, World

_STATUSES = ("clean", "as declared", "failed")
_LEVELS = ("records", "sampled outlines", "all outlines", "sampled images", "all images")


def found_certificate(benchmark: Benchmark, world: Images) -> str:
    """The status in the benchmark's verify.json, in words that say where it is from.

    Whoever passes a dataset on may have written that file. A certificate of other files, or with a status that none
    has, counts as none.
    """
    path = benchmark.path("verify.json")
    if not path.exists():
        return "not verified"
    certificate = read_json(path)
    if not _covers(certificate, benchmark, world):
        return "not verified since it changed"
    status, level, faults = (certificate.get(name) for name in ("status", "level", "faults"))
    known = status in _STATUSES and level in _LEVELS if isinstance(status, str) and isinstance(level, str) else False
    if not known or not isinstance(faults, dict) or bool(faults) != (status == "failed"):
        return "not verified: the certificate in the folder has no known status and level, or contradicts its faults"
    named = f" ({visible(', '.join(map(str, faults)))})" if faults else ""
    return f"{status}{named} at the level of {level}, by the certificate in the folder"


def verified_now(benchmark: Benchmark, world: Images) -> str:
    """The status that `gen verify` gives the benchmark now, in a process of its own.

    Raises UserError when it fails, or when nothing could be judged.
    """
    if not isinstance(world, World):
        raise UserError(f"`gen verify` judges datasets of `gen render`; leave --verify out to score {benchmark.name}.")
    root = world.folder.parent
    verify = "from generator.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-P", "-c", verify, "verify", str(root), "--benchmark", benchmark.name, "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        certificate = json.loads(done.stdout)[benchmark.name]
    except (ValueError, KeyError):
        raise UserError(f"`gen verify {root}` could not judge the benchmark: {_last_line(done.stderr)}") from None
    if certificate["status"] not in _STATUSES[:2] or done.returncode:
        raise UserError(
            f"{benchmark.folder} is not scored, because it was to be verified first: {certificate['sentence']} "
            f"`gen verify {root}` names the rows; leave --verify out to score it all the same."
        )
    if not _covers(certificate, benchmark, world):
        raise UserError(f"{benchmark.folder} changed while it was verified; run the same command again.")
    return f"{certificate['status']}, verified for this run"


def _covers(certificate: Mapping[str, Any], benchmark: Benchmark, world: Images) -> bool:
    """Whether a certificate is of these files."""
    judged = (certificate.get("benchmark"), certificate.get("world"), certificate.get("manifests"))
    if not isinstance(world, World):
        return False
    manifests = [sha256(each.path("manifest.json")) for each in (world, benchmark)]
    return judged == (benchmark.digest, world.digest, manifests)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]
