"""Reads and writes floor.json: the kinds of questions of a benchmark that a text-only model
answers.

`score audit --quick` writes the file; `gen describe` runs that command. Certificates, cards and
tables declare its
kinds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from generator.base.files import check_shape, read_json, write_json

FLOOR_FILE = "floor.json"
Share = Annotated[float, Field(ge=0, le=1)]


class FloorKind(TypedDict):
    """The text-only result on one kind of question. Shares are in 0..1."""

    name: str
    """Protocol, kind, kind of the negatives, skill and role of the true text, joined by "/"."""
    items: int
    """Number of items of the kind."""
    sampled: int
    """Number of items that were drawn."""
    value: Share | None
    """Share of pairs of a true and a false text that are told apart without the image; None for too
    few groups."""
    low: Share | None
    """Lower end of the 95% interval of `value`; None without a value."""
    high: Share | None
    """Its upper end."""
    revealed: bool
    """Whether the value is above chance, 1/2, by the audit's test."""


class FloorRecord(TypedDict):
    """The contents of floor.json."""

    benchmark: str
    """Digest of the audited benchmark."""
    kinds: list[FloorKind]
    """The result on each kind of question."""


def write_floor(folder: Path, benchmark_digest: str, kinds: Sequence[FloorKind]) -> None:
    """Write floor.json.

    Args:
        folder: Folder of the benchmark.
        benchmark_digest: Digest of the benchmark, so that readers notice another one.
        kinds: The result on each kind of question.
    """
    write_json(folder / FLOOR_FILE, {"benchmark": benchmark_digest, "kinds": list(kinds)})


def declared_floor(folder: Path, benchmark_digest: str | None) -> list[str]:
    """Phrases that declare the revealed kinds of a benchmark.

    Args:
        folder: Folder of the benchmark.
        benchmark_digest: Digest of the benchmark as it is now.

    Returns:
        A phrase for each revealed kind, with its figure. Empty if there is none, and if the file is
        missing or was written for another benchmark.

    Raises:
        UserError: The file is damaged.
    """
    path = folder / FLOOR_FILE
    if not path.exists():
        return []
    record = read_json(path)
    check_shape(record, FloorRecord, path)
    # The texts have changed since, and with them what they reveal.
    if record["benchmark"] != benchmark_digest:
        return []
    return [_phrase(kind) for kind in record["kinds"] if kind["revealed"]]


def _phrase(kind: FloorKind) -> str:
    value = _percent(kind["value"])
    low, high = _percent(kind["low"]), _percent(kind["high"])
    return (
        f"texts alone reveal the true caption of {kind['name']} in {value}% [{low}, {high}], "
        f"chance 50%"
    )


def _percent(share: float | None) -> str:
    # Only revealed kinds are said, and these have a value.
    return f"{100 * (share or 0):.1f}"
