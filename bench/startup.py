"""How long the commands take to start."""

import subprocess
import sys

from bench.figures import Figure, repeated, seconds


def figures() -> list[Figure]:
    """Wall time of `--help`, a process of its own each time."""
    modules = {"gen": "generator.cli.main", "score": "evaluator.cli.main"}
    return [
        repeated(f"{name} --help", "s", lambda module=module: _answer(module), 5)
        for name, module in modules.items()
    ]


def _answer(module: str) -> float:
    # A new process each time: what counts is the import.
    command = [sys.executable, "-c", f"from {module} import main; main(['--help'])"]
    return seconds(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True))
