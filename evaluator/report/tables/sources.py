"""What a paper's tables are made of: for each label the pooled results of its runs, or the reason why it has none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from evaluator.analysis.pooling import differences, pool_runs
from evaluator.protocols.items import FULL, PARTITIONS
from evaluator.protocols.raw_retrieval import KIND as RAW
from evaluator.protocols.results import Results, Row
from evaluator.runs.folder import NamedRun, Run, read_named
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.base.paths import split_name

JOIN = " / "
"""Between the parts of a label, such as "dual / labclip"."""
DEFAULTS: dict[str, Any] = dict.fromkeys(("error", "kind", "skill", "level", "n"))
EACH = object()
"""Stands for every value that the results have."""
Labels = Mapping[str, Any]
"""Labels of rows of results by name, `benchmark` among them. A tuple stands for any of its values, EACH for all; error, kind, skill,
level and n are None by default, benchmark is EACH."""
_BENCHMARK = "benchmark"
BEFORE, AFTER = "before", "after"


class AuditRecord(TypedDict):
    """summary.json of `score familiarity`, as far as tables show it."""

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


class TextAuditRecord(TypedDict):
    """The file of `score audit`, as far as tables show it."""

    benchmark: str
    language_model: dict[str, Any]
    kinds: list[dict[str, Any]]
    levels: list[dict[str, Any]]


FAMILIARITY, TEXTS, MAPS, DRAWINGS = "score familiarity", "score audit", "score embeddings", "score generate"
"""Commands whose results can stand among runs."""
RECORDS = {FAMILIARITY: "summary.json", MAPS: "embeddings.json", DRAWINGS: "drawings.json"}
"""The file by which the folder of such a command is known."""
_SHAPES: dict[str, Any] = {FAMILIARITY: AuditRecord}


@dataclass(frozen=True)
class Source:
    """A label's parts, its pooled results (evaluator.analysis.pooling), one for each design, and why what they lack is missing. runs: the
    results that were pooled; opened: the runs that have them. elsewhere: what training changed on benchmarks that were not trained for,
    pooled likewise; rows have the labels `benchmark` and `when` (BEFORE or AFTER).

    audit: what a command that is no run (auditor) says of what it wrote to `path`; it has no results.
    """

    label: tuple[str, ...]
    entries: Sequence[Results] = ()
    missing: str = ""
    runs: Sequence[Results] = ()
    opened: Sequence[Run] = ()
    elsewhere: Sequence[Results] = ()
    audit: Mapping[str, Any] | None = None
    auditor: str = FAMILIARITY
    path: Path = Path()

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
        of_protocol = [row for entry in self.entries for row in entry["rows"] if row["protocol"] == protocol]
        if of_protocol and labels.get("kind") == RAW and not any(row["kind"] == RAW for row in of_protocol):
            return f"{asked} needs two captions or more in each split, for productivity of each number of atoms"
        names = set(str(labels.get("split")).split(" - "))
        filled = {row["split"] for row in of_protocol if row["value"] is not None}
        if of_protocol and names - filled and any(names <= splits_of(entry) for entry in self.entries):
            return "this split has no items"
        if of_protocol:
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


def splits_of(entry: Results) -> set[str]:
    """The splits that results have by their design: those of their rows, or all partitions, of which some may be empty."""
    found = {row["split"] for row in entry["rows"]}
    return {FULL, *PARTITIONS} if FULL in found else found


def read_sources(
    runs: Sequence[str], missing: Sequence[str] = (), before: Sequence[str] = (), after: Sequence[str] = ()
) -> list[Source]:
    """The labels of [LABEL=]RUN and LABEL=REASON in their order, those with the same first part together; then the folders of
    `score familiarity`, `score embeddings` and `score generate`, and files of `score audit`, by default named after their benchmark.

    Runs of one label are pooled over blocks and training seeds. A run without a label has its model's. before, after: LABEL=RUN of
    the model that a training started from and of the trained model, on a benchmark that was not trained for. Raises UserError where
    a folder holds no measured run, for a REASON without a label, and where `before` is not the model that `after` started from.
    """
    audits = [source for run in runs if (source := _audit(run)) is not None]
    given = [read_named(run) for run in runs if _audit(run) is None]
    of_label: dict[str, list[NamedRun]] = {}
    for each in given:
        of_label.setdefault(each.results["factors"]["model"], []).append(each)
    reasons: dict[str, str] = {}
    for text in missing:
        label, equals, reason = text.partition("=")
        if not (equals and label.strip() and reason.strip()):
            raise UserError(
                f"Expected --missing LABEL=REASON, got '{text}'; write for example --missing 'vilt=no weights'."
            )
        reasons[label.strip()] = reason.strip().rstrip(".")
    elsewhere = _elsewhere(before, after)
    labels = list(dict.fromkeys([*of_label, *reasons, *elsewhere]))
    first = list(dict.fromkeys(_parts(label)[0] for label in labels))
    return [
        *(
            replace(_pooled(label, of_label.get(label, []), reasons.get(label, "")), elsewhere=elsewhere.get(label, []))
            for label in sorted(labels, key=lambda label: first.index(_parts(label)[0]))
        ),
        *audits,
    ]


def _pooled(label: str, runs: Sequence[NamedRun], missing: str) -> Source:
    results = [run.results for run in runs]
    entries = [{**entry, "model": label} for entry in pool_runs(results)]
    return Source(_parts(label), entries, missing, results, [run.run for run in runs])


def _elsewhere(before: Sequence[str], after: Sequence[str]) -> dict[str, list[Results]]:
    """The pooled results by label. Each trained model counts as a run, whatever block it was trained on."""
    weights: dict[str, set[str]] = {}
    of_label: dict[tuple[str, str], list[Results]] = {}
    for when, given in ((BEFORE, before), (AFTER, after)):
        for text in given:
            label, path = split_name(text)
            if not label:
                raise UserError(
                    f"Expected --{when} LABEL=RUN, got '{text}'; give it the label of the trained model's runs."
                )
            named = read_named(text)
            info = named.run.record.get("info", {})
            if when == BEFORE:
                weights.setdefault(label, set()).add(info.get("weights_sha256", ""))
            elif info.get("trained_on", {}).get("base", {}).get("weights_sha256") not in weights.get(label, ()):
                raise UserError(
                    f"The model of {path} did not start from one that --before gives for '{label}'; score the model that it "
                    "started from on the same benchmark."
                )
            factors = {**named.results["factors"], "training_seed": named.run.record["model"]}
            of_label.setdefault((label, when), []).append({**named.results, "factors": factors})
    found: dict[str, list[Results]] = {}
    for (label, when), results in of_label.items():
        for entry in pool_runs(results):
            rows = [{**row, "benchmark": entry["benchmark"], "when": when} for row in entry["rows"]]
            found.setdefault(label, []).append({**entry, "model": f"{label}, {when}", "rows": rows})
    return found


def _audit(source: str) -> Source | None:
    """What a command that is no run wrote to a folder, a file, or NAME=PATH; None for other folders."""
    name, path = split_name(source)
    if path.is_file() and path.suffix == ".json":
        found, auditor = read_json(path, TextAuditRecord), TEXTS
    else:
        of = [command for command, record in RECORDS.items() if (path / record).is_file()]
        if not of:
            return None
        (auditor,) = of
        found = read_json(path / RECORDS[auditor], _SHAPES.get(auditor))
    return Source(
        (name or found["name" if auditor in (MAPS, DRAWINGS) else "benchmark"],),
        audit=found,
        auditor=auditor,
        path=path,
    )


def _parts(label: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in label.split(JOIN.strip())) if JOIN in label else (label,)


def has(row: Row, wanted: Labels) -> bool:
    """Whether a row has all these labels."""
    return all(
        value is EACH or (row.get(name) in value if isinstance(value, tuple) else row.get(name) == value)
        for name, value in wanted.items()
    )
