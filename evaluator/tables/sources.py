"""What a paper's tables are made of: for each label the pooled results of its runs, or the reason why it has none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from evaluator.pooling import differences, pool_runs
from evaluator.protocols.raw_retrieval import KIND as RAW
from evaluator.protocols.results import Results, Row
from evaluator.run_folder import read_named, split_name
from generator.dataset.errors import UserError
from generator.dataset.files import read_json

JOIN = " / "
"""Between the parts of a label, such as "dual / labclip"."""
DEFAULTS: dict[str, Any] = dict.fromkeys(("error", "kind", "skill", "level", "n"))
EACH = object()
"""Stands for every value that the results have."""
Labels = Mapping[str, Any]
"""Labels of rows of results by name, `benchmark` among them. A tuple stands for any of its values, EACH for all; error, kind, skill,
level and n are None by default, benchmark is EACH."""
_BENCHMARK = "benchmark"


class AuditRecord(TypedDict):
    """summary.json of `score familiarity`, as far as tables show it."""

    benchmark: str
    reference: str
    captions: str
    match: str
    samples: int
    excluded: dict[str, int]
    buckets: dict[str, int]
    rates: dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Source:
    """A label's parts, its pooled results (evaluator.pooling), one for each design, and why what they lack is missing. runs: the
    results that were pooled.

    audit: the summary of a folder of `score familiarity`, which has no results.
    """

    label: tuple[str, ...]
    entries: Sequence[Results] = ()
    missing: str = ""
    runs: Sequence[Results] = ()
    audit: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """The label as it was given."""
        return JOIN.join(self.label)

    def find(self, labels: Labels) -> tuple[Row | None, Results]:
        """The row with these labels and the results that it is from; None and no results where there is none.

        Raises UserError where runs of several designs have it: they are not averaged.
        """
        wanted = {**DEFAULTS, **labels}
        found = list(self._rows(wanted))
        if len(found) > 1:
            why = " ".join(differences([entry for _, entry in found])) or "Their trainings differ."
            raise UserError(
                f"Several runs of '{self.name}' answer the same question ({wanted['protocol']}) and cannot be averaged. {why} Give each "
                "its own label as LABEL=RUN."
            )
        return found[0] if found else (None, {})

    def why_missing(self, labels: Labels) -> str:
        """Why there is no row with these labels."""
        if self.missing or not self.entries:
            return self.missing or "no run"
        protocol = labels["protocol"]
        asked = f"raw retrieval of {protocol}" if labels.get("kind") == RAW else protocol
        for entry in self.entries:
            if asked in entry.get("not_asked", {}):
                return f"{asked} was not asked, since {entry['not_asked'][asked]}"
            if labels.get("kind") == RAW and protocol in entry.get("left_out", []):
                return f"{asked} was left out: it needs too many scores of this model"
        if any(row["protocol"] == protocol for entry in self.entries for row in entry["rows"]):
            return "no such items in the benchmarks of its runs"
        return f"protocol '{protocol}' not in the benchmarks of its runs"

    def values(self, name: str, labels: Labels) -> set[Any]:
        """The values of a label in the rows that have the others."""
        wanted = {**DEFAULTS, **labels, name: EACH}
        return {entry[name] if name == _BENCHMARK else row[name] for row, entry in self._rows(wanted)} - {None}

    def _rows(self, wanted: Labels) -> Iterator[tuple[Row, Results]]:
        """The rows with these labels, and the results that each is of."""
        of_rows = {name: value for name, value in wanted.items() if name != _BENCHMARK}
        for entry in self.entries:
            if has(entry, {_BENCHMARK: wanted.get(_BENCHMARK, EACH)}):
                yield from ((row, entry) for row in entry["rows"] if has(row, of_rows))


def read_sources(runs: Sequence[str], missing: Sequence[str] = ()) -> list[Source]:
    """The labels of [LABEL=]RUN and LABEL=REASON in their order, those with the same first part together; then the folders of
    `score familiarity`, which have their benchmark's name for a label.

    Runs of one label are pooled over blocks and training seeds. A run without a label has its model's. Raises UserError where a
    folder holds no measured run, and for a REASON without a label.
    """
    audits = [source for run in runs if (source := _audit(run)) is not None]
    given = [read_named(run) for run in runs if _audit(run) is None]
    results: dict[str, list[Results]] = {}
    for each in given:
        results.setdefault(each.results["factors"]["model"], []).append(each.results)
    reasons: dict[str, str] = {}
    for text in missing:
        label, equals, reason = text.partition("=")
        if not (equals and label.strip() and reason.strip()):
            raise UserError(
                f"Expected --missing LABEL=REASON, got '{text}'; write for example --missing 'vilt=no weights'."
            )
        reasons[label.strip()] = reason.strip().rstrip(".")
    labels = list(dict.fromkeys([*results, *reasons]))
    first = list(dict.fromkeys(_parts(label)[0] for label in labels))
    return [
        *(
            Source(
                _parts(label), [{**entry, "model": label} for entry in pool_runs(results.get(label, []))], reasons.get(label, ""),
                results.get(label, []),
            )
            for label in sorted(labels, key=lambda label: first.index(_parts(label)[0]))
        ),
        *audits,
    ]  # fmt: skip


def _audit(source: str) -> Source | None:
    """The audit in a folder of `score familiarity`, or of NAME=FOLDER; None for other folders."""
    name, folder = split_name(source)
    if not (folder / "per_sample_overlap.tsv").exists() or not (folder / "summary.json").exists():
        return None
    summary = read_json(folder / "summary.json", AuditRecord)
    return Source((name or summary["benchmark"],), audit=summary)


def _parts(label: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in label.split(JOIN.strip())) if JOIN in label else (label,)


def has(row: Row, wanted: Labels) -> bool:
    """Whether a row has all these labels."""
    return all(
        value is EACH or (row.get(name) in value if isinstance(value, tuple) else row.get(name) == value)
        for name, value in wanted.items()
    )
