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
    """The benchmark, as the command names it."""
    reference: str
    """The files of the corpus."""
    captions: str
    """How captions were read: strict, free or differing."""
    match: str
    """How objects were matched: lemmas or exact, and by which synonyms."""
    samples: int
    """The number of samples, excluded ones too."""
    excluded: dict[str, int]
    """{reason: number of samples} that are in no bucket."""
    buckets: dict[str, int]
    """{bucket: number of samples}."""
    bindings: dict[str, dict[str, float | None]]
    """{side: {label: share of its bindings, 0..1}}; None without bindings."""
    bindings_mixed: dict[str, dict[str, float | None]]
    """The same for the samples in mixed buckets."""
    rates: dict[str, dict[str, float | None]]
    """{strictness: {"seen" or "unseen": share of samples, 0..1}}; None without samples."""


class ComparisonRecord(TypedDict):
    """The entries of the output of `score compare --json` that the page shows."""

    rows: list[dict[str, Any]]
    """The paired differences."""
    flips: list[dict[str, Any]]
    """The changes of the lead between splits."""


class TextAuditRecord(TypedDict):
    """The entries of the file of `score audit` that tables show."""

    benchmark: str
    """The name of the benchmark."""
    language_model: dict[str, Any]
    """The language model of the perplexities."""
    kinds: list[dict[str, Any]]
    """The results of each kind."""
    levels: list[dict[str, Any]]
    """The results of each kind and level."""


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
    """The result of a command other than `score run`."""

    name: str
    """What it is shown as: by default the benchmark's name, and for `score compare` the file's."""
    command: str
    """The command: one of RECORDS, TEXTS or COMPARISON."""
    record: Mapping[str, Any]
    """Its results."""
    path: Path
    """Its file or folder."""


def mixed(audit: Mapping[str, Any]) -> int:
    """Count the samples in mixed buckets (`amb_…`).

    Args:
        audit: summary.json of `score familiarity`.

    Returns:
        Their number, which includes samples with close matches only.

    Example:
        >>> mixed({"buckets": {"definitely_seen": 3, "amb_mixed": 1, "amb_close_only": 2}})
        3
    """
    buckets = audit["buckets"].items()
    return int(sum(samples for bucket, samples in buckets if bucket.startswith("amb_")))


def overlap_panels(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Make the panels of evaluator.report.audit_figures.by_overlap.

    Args:
        audit: summary.json of `score familiarity`.

    Returns:
        {set of samples: its shares}: of all samples, and of those in mixed buckets.
    """
    full = f"full ({sum(audit['buckets'].values()):,} samples)"
    return {full: audit["bindings"], f"mixed ({mixed(audit):,})": audit["bindings_mixed"]}


def read_audit(source: str) -> Audit | None:
    """Read the result of a command other than `score run`.

    Args:
        source: [NAME=]PATH of a file or a folder.

    Returns:
        The result; None for other folders.

    Raises:
        UserError: A file is not the result of such a command.
    """
    name, path = split_name(source)
    # A comparison and an audit of texts are both JSON files of any name, told apart by an entry
    # that only one has.
    if path.is_file() and path.suffix == ".json":
        if "rankings" in read_json(path):
            return Audit(name or path.stem, COMPARISON, read_json(path, ComparisonRecord), path)
        text_audit = read_json(path, TextAuditRecord)
        return Audit(name or text_audit["benchmark"], TEXTS, text_audit, path)
    for command, file in RECORDS.items():
        if not (path / file).is_file():
            continue
        is_familiarity = command == FAMILIARITY
        # The other records have entries for each model, which the code that draws them reads.
        record = read_json(path / file, AuditRecord if is_familiarity else None)
        own_name = record["benchmark" if is_familiarity else "name"]
        return Audit(name or own_name, command, record, path)
    return None
