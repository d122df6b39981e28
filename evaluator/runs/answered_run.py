"""What folders of descriptions and of attributes have in common: a record in JSON, and a file of
lines with the answers. They are read with care, since they may come from someone else."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.provenance.contamination import marked_today
from generator.base.errors import UserError
from generator.base.files import check_shape, parse_json, read_json, read_text
from generator.base.paths import check_own_files, split_name

_MOST_BYTES = 4 << 30
"""Most bytes of a file of lines: a million answers of usual length, with their atoms."""
Line = Mapping[str, Any]
"""A line of a file of lines."""


@dataclass(frozen=True)
class AnsweredRun:
    """A finished run whose answers belong to no item of a protocol."""

    folder: Path
    """Its folder."""
    name: str
    """The name of its model: that of NAME=RUN, else the record's."""
    record: Mapping[str, Any]
    """The contents of its record."""
    lines: Sequence[Line]
    """The lines with the answers."""


@dataclass(frozen=True)
class RunFiles:
    """The files of one form of run, and what they hold."""

    record: str
    """Name of the record."""
    record_type: Any
    """The TypedDict of its entries that are read: `model`, `training` and `info` among them."""
    lines: str
    """Name of the file of lines."""
    line_type: Any
    """The TypedDict of a line."""
    check_line: Callable[[Line, Path], None]
    """Raises UserError for a line of this shape that contradicts itself."""

    def are_in(self, source: str) -> bool:
        """Whether a source is the folder of a finished run of this form.

        Args:
            source: FOLDER or NAME=FOLDER.

        Returns:
            False for other folders, and for a file.
        """
        return (split_name(source)[1] / self.record).is_file()

    def read(self, source: str) -> AnsweredRun:
        """Read a run of this form.

        Args:
            source: FOLDER or NAME=FOLDER, where NAME replaces the model's name.

        Returns:
            The run.

        Raises:
            UserError: A file is missing or damaged.
        """
        name, folder = split_name(source)
        check_own_files(folder)
        path = folder / self.lines
        if not path.exists():
            raise UserError(f"{folder} lacks {self.lines}; restore it, or ask the model again.")
        record: dict[str, Any] = read_json(folder / self.record, self.record_type)
        record = marked_today(record, record["info"])
        lines = []
        # Answers may hold other line ends, which JSON escapes; only "\n" ends a line of the file.
        for number, text in enumerate(read_text(path, _MOST_BYTES).rstrip("\n").split("\n"), 1):
            try:
                line = parse_json(text, path)
            except ValueError as error:
                raise UserError(
                    f"{path} is damaged in line {number} ({error}); restore it, or ask the model "
                    f"again."
                ) from None
            check_shape(line, self.line_type, path)
            self.check_line(line, path)
            lines.append(line)
        return AnsweredRun(folder, name or str(record["model"]), record, lines)
