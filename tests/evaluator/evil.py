"""What must not be unpickled."""

from pathlib import Path


class Evil:
    """Writes a file when it is unpickled."""

    def __init__(self, trace: Path):
        self._trace = trace

    def __reduce__(self) -> tuple[object, ...]:
        return Path.write_text, (self._trace, "executed")
