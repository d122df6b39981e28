"""A verdict of `gen verify` on a benchmark for this run."""

import json
import subprocess
import sys

from generator.base.errors import UserError
from generator.dataset.reader import STATUSES, Benchmark, Images, World, covers


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
        *_, said = ["it said nothing", *done.stderr.strip().splitlines()]
        raise UserError(f"`gen verify {root}` could not judge the benchmark: {said}") from None
    if certificate["status"] not in STATUSES[:2] or done.returncode:
        raise UserError(
            f"{benchmark.folder} is not scored, because it was to be verified first: {certificate['sentence']} "
            f"`gen verify {root}` names the rows; leave --verify out to score it all the same."
        )
    if not covers(certificate, benchmark, world):
        raise UserError(f"{benchmark.folder} changed while it was verified; run the same command again.")
    return f"{certificate['status']}, verified for this run"
