"""The inputs of a paper's tables: results by label, or the reason why a label has none; results of
other commands; and counts of the datasets that runs were asked, independent of the models."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

from evaluator.analysis.pooling import differences, pool_runs
from evaluator.protocols.crepe import OWN_METRICS
from evaluator.protocols.items import FULL, PARTITIONS
from evaluator.protocols.records import Results, Row, by_key
from evaluator.report.audit_results import Audit, read_audit
from evaluator.runs.folder import NamedRun, Run, read_named
from generator.base.errors import UserError
from generator.base.paths import split_name
from generator.dataset.counts import count_benchmark, count_questions, read_vocabulary_record
from generator.dataset.reader import Benchmark, World
from generator.dataset.records import RAW

JOIN = " / "
"""Separates the parts of a label, such as "dual / labclip"."""
DEFAULTS: dict[str, Any] = dict.fromkeys(("error", "kind", "skill", "level", "n", "minus"))
Labels = Mapping[str, Any]
"""{column: value} to select rows of the long table of results. A tuple matches any of its values;
columns of DEFAULTS are None by default."""
BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class Label:
    """A label's parts, and its pooled results (evaluator.analysis.pooling): an entry for each
    design.

    missing: the reason why results are missing. runs: the runs that were pooled. elsewhere: pooled
        results before and
    after training, on benchmarks that were not trained for; rows have the column `when` (BEFORE or
    AFTER).
    """

    parts: tuple[str, ...]
    entries: Sequence[Results] = ()
    missing: str = ""
    runs: Sequence[NamedRun] = ()
    elsewhere: Sequence[Results] = ()

    @property
    def name(self) -> str:
        """The label as it was given."""
        return JOIN.join(self.parts)

    def find(self, labels: Labels) -> tuple[Row | None, Results]:
        """The row with these labels, and the results that contain it; (None, {}) if there is none.

        Raises UserError if runs of several designs have such a row: they are not averaged.
        """
        found = list(self.select({**DEFAULTS, **labels}))
        if len(found) > 1:
            why = " ".join(differences([entry for _, entry in found])) or "Their trainings differ."
            raise UserError(
                f"Several runs of '{self.name}' answer the same question ({labels['protocol']}) "
                f"and cannot be averaged. {why} Give each its own label as LABEL=RUN."
            )
        return found[0] if found else (None, {})

    def select(self, labels: Labels) -> Iterator[tuple[Row, Results]]:
        """Yield each row with all these labels, and the results that contain it."""
        for entry in self.entries:
            yield from ((row, entry) for row in entry["rows"] if has(row, labels))

    def why_missing(self, labels: Labels) -> str:
        """Why there is no row with these labels."""
        if self.missing or not self.entries:
            return self.missing or "no run"
        protocol, raw = labels["protocol"], labels.get("kind") == RAW
        asked = f"raw retrieval of {protocol}" if raw else protocol
        for entry in self.entries:
            if asked in entry.get("not_asked", {}):
                return f"{asked} was not asked, since {entry['not_asked'][asked]}"
            if raw and protocol in entry.get("left_out", []):
                return f"{asked} was left out: it needs too many scores of this model"
        of_protocol = [
            row for entry in self.entries for row in entry["rows"] if row["protocol"] == protocol
        ]
        if not of_protocol:
            return f"protocol '{protocol}' not in the benchmarks of its runs"
        if raw and not any(row["kind"] == RAW for row in of_protocol):
            return (
                f"{asked} needs at least two captions in each split, for productivity at each "
                f"number of atoms"
            )
        filled = {row["split"] for row in of_protocol if row["value"] is not None}
        wanted = {labels.get("split"), labels.get("minus") or labels.get("split")}
        if wanted - filled and any(wanted <= splits_of(entry) for entry in self.entries):
            return "this split has no items"
        return "no such items in the benchmarks of its runs"


@dataclass(frozen=True)
class Given:
    """The labels of runs, and the results of other commands."""

    labels: Sequence[Label] = ()
    audits: Sequence[Audit] = ()
    used: set[str] = field(default_factory=set)
    """The commands whose results a table used; AFTER if a table used `elsewhere`."""

    def audits_of(self, command: str) -> list[Audit]:
        """The results of a command; marks the command as used."""
        self.used.add(command)
        return [audit for audit in self.audits if audit.command == command]

    def audit_labels(
        self, command: str, rows_of: Callable[[Any], list[Row]], missing: str
    ) -> list[Label]:
        """A label for each audit of a command, with the rows that `rows_of` makes of its record."""
        return [
            Label((each.name,), [{"rows": rows_of(each.record)}], missing)
            for each in self.audits_of(command)
        ]


def has(row: Row, labels: Labels) -> bool:
    """Whether a row has all these labels."""
    return all(
        row.get(name) in value if isinstance(value, tuple) else row.get(name) == value
        for name, value in labels.items()
    )


def told(metric: str, value: float | None, unit: str = "count", **labels: Any) -> Row:
    """A row for a number that is not a run's result: of a dataset or of an audit."""
    numbers = {"value": value, "unit": unit, "sd": None, "low": None}
    return cast(Row, {**DEFAULTS, "split": None, "metric": metric, **numbers, **labels})


def splits_of(entry: Results) -> set[str]:
    """The splits of the rows of results; with `full` all partitions, of which some may be empty."""
    found = {row["split"] for row in entry["rows"]}
    return {FULL, *PARTITIONS} if FULL in found else found


def read_given(
    runs: Sequence[str],
    missing: Sequence[str] = (),
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> Given:
    """Read runs and results of other commands, by label. Labels keep their order, except that
    labels with the same first part are placed together.

    runs: [LABEL=]RUN, or a result that `read_audit` reads. Runs of one label are pooled over blocks
        and training seeds;
    the default label is the model. missing: LABEL=REASON. before, after: LABEL=RUN of the model
    that a training started
    from and of the trained model, on a benchmark that was not trained for. Raises UserError if a
    folder holds no
    measured run, for a REASON without a label, and if `before` is not the model that `after`
    started from.
    """
    audits = {run: audit for run in runs if (audit := read_audit(run)) is not None}
    named = (read_named(run) for run in runs if run not in audits)
    of_label = by_key((each.results["factors"]["model"], each) for each in named)
    reasons: dict[str, str] = {}
    for text in missing:
        label, equals, reason = text.partition("=")
        if not (equals and label.strip() and reason.strip()):
            raise UserError(
                f"Expected --missing LABEL=REASON, got '{text}'; write for example --missing "
                f"'vilt=no weights'."
            )
        reasons[label.strip()] = reason.strip().rstrip(".")
    elsewhere = _elsewhere(before, after)
    found = []
    for label in dict.fromkeys([*of_label, *reasons, *elsewhere]):
        given = of_label.get(label, [])
        entries = [
            {**entry, "model": label} for entry in pool_runs([each.results for each in given])
        ]
        parts = (
            tuple(part.strip() for part in label.split(JOIN.strip())) if JOIN in label else (label,)
        )
        found.append(Label(parts, entries, reasons.get(label, ""), given, elsewhere.get(label, [])))
    first = list(dict.fromkeys(label.parts[0] for label in found))
    return Given(
        sorted(found, key=lambda label: first.index(label.parts[0])), list(audits.values())
    )


def _elsewhere(before: Sequence[str], after: Sequence[str]) -> dict[str, list[Results]]:
    """Pooled results before and after training, by label. Each trained model counts as a run,
    whatever its block."""
    weights: dict[str, set[str]] = {}
    of_label: dict[tuple[str, str], list[Results]] = {}
    for when, text in [*((BEFORE, text) for text in before), *((AFTER, text) for text in after)]:
        label, path = split_name(text)
        if not label:
            raise UserError(
                f"Expected --{when} LABEL=RUN, got '{text}'; give it the label of the trained "
                f"model's runs."
            )
        named = read_named(text)
        info = named.run.record.get("info", {})
        if when == BEFORE:
            weights.setdefault(label, set()).add(info.get("weights_sha256", ""))
        elif info.get("trained_on", {}).get("base", {}).get("weights_sha256") not in weights.get(
            label, ()
        ):
            raise UserError(
                f"The model of {path} did not start from a model that --before gives for "
                f"'{label}'; score the model that it started from on the same benchmark."
            )
        factors = {**named.results["factors"], "training_seed": named.run.record["model"]}
        of_label.setdefault((label, when), []).append({**named.results, "factors": factors})
    found: dict[str, list[Results]] = {}
    for (label, when), results in of_label.items():
        for entry in pool_runs(results):
            rows = [{**row, "when": when} for row in entry["rows"]]
            found.setdefault(label, []).append({**entry, "model": f"{label}, {when}", "rows": rows})
    return found


DATASET = "dataset"
"""The `protocol` of counts that concern no questions: images and names of a split."""
EVERY = "every protocol"
"""The `protocol` of counts of all questions together."""
_METRICS = (
    "items",
    "captions",
    "false_texts",
    "set_size",
    "images",
    "atoms",
    "atoms_not_in_training",
    "compounds",
    "compounds_not_in_training",
)
_GROUPINGS = [
    ("protocol", "split", *by)
    for by in ((), ("kind",), ("n",), ("kind", "n"), ("level",), ("skill", "level"))
] + [("split", "level")]


def datasets(given: Given) -> list[Label]:
    """A label for each benchmark of the runs, named after it; its rows are the counts of
    _METRICS."""
    asked: dict[str, NamedRun] = {}
    for each in (run for label in given.labels for run in label.runs):
        asked.setdefault(each.run.benchmark.digest, each)
    names = {digest: each.run.benchmark.name for digest, each in asked.items()}
    # benchmarks of several blocks share a name: add the block, then a digest if names still repeat
    for digest, name in _repeated(names):
        if (block := asked[digest].results["factors"]["block_seed"]) is not None:
            names[digest] = f"{name}, block {block}"
    for digest, name in _repeated(names):
        names[digest] = f"{name}, {digest[:8]}"
    return [
        Label((name,), [{"rows": _rows(asked[digest])}], runs=[asked[digest]])
        for digest, name in names.items()
    ]


def _repeated(names: dict[str, str]) -> list[tuple[str, str]]:
    times = Counter(names.values())
    return [(digest, name) for digest, name in names.items() if times[name] > 1]


def captions_by_atom(run: Run) -> list[dict[str, Any]]:
    """For each atom the number of captions of training and of each split of systematicity that name
    it (CREPE, appendix A.6); [] without a world or forms."""
    atoms = (
        _of_world(run.benchmark.folder, run.world.folder, run.benchmark.digest)[1]
        if run.world
        else []
    )
    return [row for row in atoms if row["protocol"] == "systematicity"]


def _rows(asked: NamedRun) -> list[Row]:
    """The counts of a benchmark, in the form of rows of results."""
    run = asked.run
    counts = [
        {"protocol": EVERY, **each} for each in _counts(run.benchmark.folder, run.benchmark.digest)
    ]
    # the pools of raw retrieval are folds, whose sizes are added below
    counts = [
        {k: v for k, v in each.items() if (k, each.get("kind")) != ("set_size", RAW)}
        for each in counts
    ]
    if run.world:
        counts += _of_world(run.benchmark.folder, run.world.folder, run.benchmark.digest)[0]
    folds = {
        (row["protocol"], row["split"]): round(1 / row["chance"])
        for row in asked.results["rows"]
        if row["metric"] in OWN_METRICS and row["chance"]
    }
    counts += [
        {"protocol": name, "kind": RAW, "split": split, "set_size": n}
        for (name, split), n in folds.items()
    ]
    rows: dict[Any, Row] = {}  # a grouping by a label that is None repeats an earlier count
    for each in counts:
        labels = {
            name: value
            for name, value in each.items()
            if name not in _METRICS and value is not None
        }
        for metric in (metric for metric in _METRICS if metric in each):
            reason = "differs between its questions"
            rows[metric, *labels.items()] = told(metric, each[metric], reason=reason, **labels)
    return list(rows.values())


@cache
def _counts(folder: Path, digest: str) -> list[dict[str, Any]]:
    """Counts of all questions of a benchmark, even if the run was asked a part of them."""
    return count_questions(Benchmark(folder), _GROUPINGS)


@cache
def _of_world(
    folder: Path, world: Path, digest: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Counts of the images and names of each split, and of the captions that name each atom. Needs
    a world with splits and forms, which published benchmarks lack."""
    benchmark = Benchmark(folder)
    found = count_benchmark(benchmark, read_vocabulary_record(World(world)))
    images = Counter(benchmark.splits["split"].to_pylist())
    counts = [
        {"protocol": DATASET, "split": split, "images": each} for split, each in images.items()
    ]
    return [*found["names"], *counts], found["atoms"]
