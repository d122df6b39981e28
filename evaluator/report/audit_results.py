"""Results of commands other than `score run`, which the page and the tables of papers show."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from generator.base.files import read_json
from generator.base.paths import split_name


class AuditRecord(TypedDict):
    """The entries of summary.json (`score familiarity`) that tables show."""

    benchmark: str
    reference: str
    captions: str
    match: str
    samples: int
    excluded: dict[str, int]
    buckets: dict[str, int]
    bindings: dict[str, dict[str, float | None]]
    bindings_mixed: dict[str, dict[str, float | None]]
    rates: dict[str, dict[str, float | None]]


class ComparisonRecord(TypedDict):
    """The entries of the output of `score compare --json` that the page shows."""

    rows: list[dict[str, Any]]
    flips: list[dict[str, Any]]


class TextAuditRecord(TypedDict):
    """The entries of the file of `score audit` that tables show."""

    benchmark: str
    language_model: dict[str, Any]
    kinds: list[dict[str, Any]]
    levels: list[dict[str, Any]]


FAMILIARITY, TEXTS, MAPS, DRAWINGS = (
    "score familiarity",
    "score audit",
    "score embeddings",
    "score generate",
)
COMPARISON, PROBES = "score compare", "score probe"
"""Commands whose results can be given among the runs."""
RECORDS = {
    FAMILIARITY: "summary.json",
    MAPS: "embeddings.json",
    DRAWINGS: "drawings.json",
    PROBES: "probe.json",
}
"""{command: the file that identifies its folder}."""


@dataclass(frozen=True)
class Audit:
    """The result at `path` of a command other than `score run`, and its name."""

    name: str
    command: str
    record: Mapping[str, Any]
    path: Path


def mixed(audit: Mapping[str, Any]) -> int:
    """The number of samples in mixed buckets (`amb_…`), which include samples with close matches
    only."""
    return int(sum(n for bucket, n in audit["buckets"].items() if bucket.startswith("amb_")))


def overlap_panels(audit: Mapping[str, Any]) -> dict[str, Any]:
    """The panels of evaluator.report.figures.by_overlap from summary.json of `score
    familiarity`."""
    full = f"full ({sum(audit['buckets'].values()):,} samples)"
    return {full: audit["bindings"], f"mixed ({mixed(audit):,})": audit["bindings_mixed"]}


def read_audit(source: str) -> Audit | None:
    """The result of a command other than `score run` at [NAME=]PATH, a file or a folder; None for
    other folders.

    By default the name is the benchmark's, and for `score compare` the file's."""
    name, path = split_name(source)
    if path.is_file() and path.suffix == ".json":
        if "rankings" in read_json(path):
            return Audit(name or path.stem, COMPARISON, read_json(path, ComparisonRecord), path)
        found = read_json(path, TextAuditRecord)
        return Audit(name or found["benchmark"], TEXTS, found, path)
    for command, record in RECORDS.items():
        if (path / record).is_file():
            found = read_json(path / record, AuditRecord if command == FAMILIARITY else None)
            return Audit(
                name or found["benchmark" if command == FAMILIARITY else "name"],
                command,
                found,
                path,
            )
    return None
