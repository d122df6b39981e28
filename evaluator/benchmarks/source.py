"""Where the questions of a run come from: a dataset's folder, or a benchmark of others."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Source:
    """A dataset's folder, or with a `name` the files of a benchmark of others, whose images may lie in a folder of their own, and of whose
    questions `filters` (evaluator.benchmarks.filters) may leave some out."""

    path: Path
    name: str | None = None
    images: Path | None = None
    filters: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(self.path) if self.name is None else f"{self.name}:{self.path}"

    def record(self) -> dict[str, Any]:
        """The entries `dataset` and `external` of run.json."""
        if self.name is None:
            return {"dataset": str(self.path.resolve()), "external": None}
        images = None if self.images is None else str(self.images.resolve())
        external = {
            "name": self.name,
            "path": str(self.path.resolve()),
            "images": images,
            "filters": list(self.filters),
        }
        return {"dataset": None, "external": external}
