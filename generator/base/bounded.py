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

_SILENCE = 600.0  # seconds without an answer


@dataclass(frozen=True)
class Bounds:
    """Limits for reading a file: bytes of memory, and CPU seconds: `seconds` + `seconds_a_byte` ×
    its bytes."""

    memory: int
    seconds: float
    seconds_a_byte: float = 0.0


def read_bounded(
    function: str,
    files: Iterable[Path],
    sees: Sequence[Path],
    bounds: Bounds,
    writes: Sequence[Path] = (),
    **arguments: Any,
) -> Iterator[tuple[Path, Any]]:
    """Yields (file, item) for each item that `function` yields, file by file.

    `function`: "module:name" of a function of a path and of `arguments` that yields JSON values.
    `sees`: folders or
    files that its process may read. `writes`: folders that it may write to. Raises UserError if the
    function raises
    one, if its process ends, and if a file exceeds its bounds.
    """
    process: AnsweringProcess | None = None
    try:
        for file in files:
            if process is None:
                process = AnsweringProcess(__name__)
                process.send(
                    {"sees": [str(each) for each in sees], "writes": [str(each) for each in writes]}
                )
            seconds = bounds.seconds + bounds.seconds_a_byte * file.stat().st_size
            limits = {"memory": bounds.memory, "seconds": seconds}
            process.send(
                {"function": function, "file": str(file), "arguments": arguments, **limits}
            )
            while "item" in (answer := _answer(process, file)):
                yield file, answer["item"]
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
    """Answer each request on stdin: {"item": …} for each item of the file, then {} or {"refused":
    sentence}."""
    end_with_parent()
    answer = answer_with()
    own = json.loads(sys.stdin.readline())
    confine(map(Path, own["sees"]), map(Path, own["writes"]))
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
    if sys.platform == "linux":  # elsewhere this limit counts other memory too
        limits[resource.RLIMIT_DATA] = memory_of_data() + memory
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))


if __name__ == "__main__":
    main()
