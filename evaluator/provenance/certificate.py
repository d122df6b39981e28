"""Verify a benchmark with `gen verify` before a run scores it."""

import json
import subprocess
import sys

from generator.base.errors import UserError
from generator.dataset.certificate import STATUSES, covers
from generator.dataset.reader import Benchmark, Images, World


def verified_now(benchmark: Benchmark, world: Images) -> str:
    """Judge the benchmark by `gen verify`, in a process of its own: the evaluator shares no code
    with the judge.

    Returns:
        Its status, with ", verified for this run".

    Raises:
        UserError: The benchmark fails, has changed meanwhile, or cannot be judged.
    """
    if not isinstance(world, World):
        raise UserError(
            f"`gen verify` judges datasets of `gen render`; leave --verify out to score "
            f"{benchmark.name}."
        )
    root = world.folder.parent
    program = "from generator.cli.main import main; main()"
    # -P: a file in the working directory must not replace a module.
    command = [sys.executable, "-P", "-c", program, "verify", str(root)]
    command += ["--benchmark", benchmark.name, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        certificate = json.loads(done.stdout)[benchmark.name]
    except (ValueError, KeyError):
        *_, reason = ["it printed nothing", *done.stderr.strip().splitlines()]
        raise UserError(f"`gen verify {root}` could not judge the benchmark: {reason}") from None
    if certificate["status"] not in STATUSES[:2] or done.returncode:
        raise UserError(
            f"{benchmark.folder} is not scored, because it did not pass `gen verify`: "
            f"{certificate['sentence']} `gen verify {root}` names the rows; leave --verify out to "
            f"score it anyway."
        )
    if not covers(certificate, benchmark, world):
        raise UserError(
            f"{benchmark.folder} changed while it was verified; run the same command again."
        )
    return f"{certificate['status']}, verified for this run"
