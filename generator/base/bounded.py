"""Reads untrusted files in a sandboxed child process: memory and CPU time are limited, and it sees
only the folders that it needs (confinement.py). A file that crashes or stalls a parser, or fills
memory, harms nothing else.

Run as a program, this module is that child process.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from generator.base.confinement import confine, end_with_parent, memory_of_data
from generator.base.errors import UserError
from generator.base.process import AnsweringProcess, ProcessEndError, answer_with

_SILENCE = 600.0
"""Seconds without an answer after which a process counts as hung."""


@dataclass(frozen=True)
class Bounds:
    """Limits for reading a file."""

    memory: int
    """Bytes of memory that reading may take."""
    seconds: float
    """CPU seconds for a file of any size."""
    seconds_a_byte: float = 0.0
    """CPU seconds on top, for each byte of the file."""


def read_bounded(
    function: str,
    files: Iterable[Path],
    *,
    sees: Sequence[Path],
    bounds: Bounds,
    writes: Sequence[Path] = (),
    **arguments: Any,
) -> Iterator[tuple[Path, Any]]:
    """Read files in a sandboxed process.

    Args:
        function: "module:name" of a function of a path and of `arguments` that yields JSON values.
        files: Files to call it with, one after the other.
        sees: Folders or files that its process may read.
        bounds: Limits for each file.
        writes: Folders that it may write to.
        **arguments: Its keyword arguments, JSON values.

    Returns:
        An iterator over (file, item) for each item that the function yields.

    Raises:
        UserError: The function raises one, its process ends, or a file exceeds its bounds.
    """
    process: AnsweringProcess | None = None
    try:
        for file in files:
            # One process reads all files, and without files none is started.
            if process is None:
                process = AnsweringProcess(__name__)
                readable = [str(path) for path in sees]
                writable = [str(path) for path in writes]
                process.send({"sees": readable, "writes": writable})
            process.send(
                {
                    "function": function,
                    "file": str(file),
                    "arguments": arguments,
                    "memory": bounds.memory,
                    "seconds": bounds.seconds + bounds.seconds_a_byte * file.stat().st_size,
                }
            )
            answer = _answer(process, file)
            while "item" in answer:
                yield file, answer["item"]
                answer = _answer(process, file)
            if "refused" in answer:
                raise UserError(answer["refused"])
    finally:
        if process is not None:
            process.close()


def _answer(process: AnsweringProcess, file: Path) -> dict[str, Any]:
    try:
        return process.answer(_SILENCE)
    except ProcessEndError as ended:
        raise UserError(
            f"{file} cannot be read: the process that reads it {ended}; it is damaged or far too "
            f"heavy, so make it again or take it from someone you trust."
        ) from None


def main() -> None:
    """Run as the child process: answer each request on stdin with {"item": …} for each item of the
    file, then {} or {"refused": sentence}."""
    end_with_parent()
    answer = answer_with()
    # Confined once, before the first file: a process cannot be confined again to other folders.
    folders = json.loads(sys.stdin.readline())
    confine(map(Path, folders["sees"]), map(Path, folders["writes"]))
    for line in sys.stdin:
        request = json.loads(line)
        read: Callable[..., Iterator[Any]] = resolve_name(request["function"])
        _limit(request["memory"], request["seconds"])
        try:
            for item in read(Path(request["file"]), **request["arguments"]):
                answer(item=item)
            answer()
        except UserError as error:
            answer(refused=error.message)
        except MemoryError:
            most = request["memory"] >> 20
            answer(
                refused=(
                    f"{request['file']} takes more than {most:,} MiB of memory; it is damaged or "
                    f"far too heavy."
                )
            )


def _limit(memory: int, seconds: float) -> None:
    """Limit the memory and the CPU seconds that this process may take from now on."""
    limits = {resource.RLIMIT_CPU: int(time.process_time() + seconds) + 1}
    # Elsewhere this limit counts other memory too.
    if sys.platform == "linux":
        limits[resource.RLIMIT_DATA] = memory_of_data() + memory
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))


if __name__ == "__main__":
    main()
