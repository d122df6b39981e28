"""Anonymous 2026, "Diagnosing the Sources of Compositional Failure in Vision-Language Models"
(COMPASS)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evaluator.papers.counts import EVERY, benchmark_labels
from evaluator.papers.inputs import LabelledRuns, PaperInputs, RowFilter, count_row
from evaluator.papers.paper import Paper, PaperTable, figure_from_results, table_of_changes
from evaluator.papers.selection import (
    Selection,
    by_label,
    grouped,
    load,
    over_n,
    result,
    select,
    selections,
)
from evaluator.protocols.items import COUNTS
from evaluator.protocols.records import Row
from evaluator.report.audit_results import TEXTS
from evaluator.report.figures import by_complexity, by_count
from evaluator.report.table import Cell, Table

_GAP = {"protocol": "integration", "metric": "integration gap"}
_MEASURES = (
    select("C", over_n, metric="R@1 composed"),
    select("D", over_n, metric="R@1 decomposed"),
    select("Δ", over_n, metric="integration gap"),
)
_NAMES = ("object", "attribute", "relation")
_SKILLS = tuple(select(skill, skill=skill) for skill in _NAMES)
_LOADS = tuple(select(f"β {count.removeprefix('n_')}", load(count)) for count in COUNTS)
_STARS = (
    "In brackets: standard error and uncorrected p; * p < .005, ** p < .001 after Holm; in bold: "
    "the load of a skill by its own count."
)


def _captions(inputs: PaperInputs) -> Table:
    """Captions by level and split, of all protocols and of those of the paper."""
    protocols = ("integration", "skill")
    every = benchmark_labels(inputs)
    labels = []
    for label in every:
        if any(row["protocol"] in protocols for row in label.entries[0]["rows"]):
            labels.append(label)
    labels = labels or every
    columns = [
        select("Ground truth", protocol=EVERY, metric="captions"),
        select("Integration", protocol="integration", metric="captions"),
        *grouped([select("Skill", protocol="skill", metric="captions")], _SKILLS),
    ]
    of_rows = {"protocol": protocols, "skill": (None, *_NAMES), "metric": "captions"}
    rows = selections(labels, "{}", ["level", "split"], of_rows)
    return by_label(labels, columns, rows, "level", named="dataset")


def _gaps(inputs: PaperInputs) -> Table:
    """The integration gap by level and split, with its standard deviation over n."""
    columns = []
    for level in selections(inputs.labels, "{}", ["level"], _GAP):
        columns.append(replace(level, statistic=over_n))
    levels = tuple(column.row_filter["level"] for column in columns)
    rows = selections(inputs.labels, "{}", ["split"], {**_GAP, "level": levels})
    table = by_label(inputs.labels, columns, rows, "split", _GAP)
    # Other tables have deviations over runs after ±.
    others = [note for note in table.notes if not note.startswith("±")]
    return replace(table, notes=["± is the standard deviation over n.", *others])


def _loads(inputs: PaperInputs) -> Table:
    """The skill loads by level and split."""
    row_filter = {"protocol": "skill", "metric": "R@1"}
    of_rows = {**row_filter, "skill": _NAMES}
    rows = selections(inputs.labels, "{}", ["level", "split"], of_rows)
    columns = grouped(_SKILLS, _LOADS)
    return by_label(inputs.labels, columns, rows, "level", row_filter, notes=[_STARS])


def _by_n(number: str, level: str) -> PaperTable:
    """A table of a level by number of atoms, with the mean over n."""
    row_filter = {"protocol": "integration", "level": level}
    metrics = tuple(measure.row_filter["metric"] for measure in _MEASURES)

    def make(inputs: PaperInputs) -> Table:
        of_rows = {**row_filter, "metric": metrics}
        rows = selections(inputs.labels, "{}", ["n", "split"], of_rows)
        rows += selections(inputs.labels, "mean, sd over n, {}", ["split"], of_rows)
        return by_label(inputs.labels, _MEASURES, rows, "n", row_filter)

    title = f"Composed (C), decomposed (D) and their gap Δ by number of atoms, level {level}"
    return PaperTable(number, title, make)


def _effect_rows(audit: Any) -> list[Row]:
    """Rows of the effect sizes of `score audit`, of their numbers of pairs, and of the blind
    test."""
    rows = []
    for level in audit["levels"]:
        columns = {name: level[name] for name in ("protocol", "level", "skill")}
        effect = level["perplexity"]
        if effect["r"] is not None:
            rows.append(count_row("effect", effect["r"], "score", **columns, size=effect["size"]))
            rows.append(count_row("pairs", effect["pairs"], **columns))
        blind = _most_revealing(audit["kinds"], level)
        if blind is not None:
            ends = {"low": blind["low"], "high": blind["high"]}
            rows.append(count_row("blind", blind["value"], "share", **columns, **ends))
    return rows


def _most_revealing(kinds: Sequence[Any], level: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The blind test with the highest accuracy among the kinds of negatives of a level's captions;
    None if none was judged. Its learner reads captions of all levels. Decomposed captions are left
    out.
    """
    tests = []
    for kind in kinds:
        is_of_level = all(kind[name] == level[name] for name in ("protocol", "kind", "skill"))
        if is_of_level and kind["role"] == "c" and kind["blind"]["value"] is not None:
            tests.append(kind["blind"])
    return max(tests, key=lambda blind: blind["value"], default=None)


def _interpretation(label: LabelledRuns, row_filter: RowFilter) -> Cell:
    """The size of an effect in words."""
    cell = result(label, row_filter)
    if cell.reason:
        return cell
    return Cell(cell.numbers["size"], numbers={"text": cell.numbers["size"]})


def _effects(number: str, captions: str, rows: list[Selection]) -> PaperTable:
    """A table of the effect sizes of some captions. captions: what they are, for the title."""
    columns = (
        select("r", metric="effect"),
        select("Interpretation", _interpretation, metric="effect"),
        select("pairs", metric="pairs"),
        select("Blind accuracy", metric="blind"),
    )

    def make(inputs: PaperInputs) -> Table:
        notes = []
        for audit in inputs.audits_of(TEXTS):
            model = audit.record["language_model"]["name"]
            notes.append(f"{audit.name}: {audit.record['benchmark']}, perplexity of {model}.")
        notes.append(
            "Blind accuracy: the share of pairs in which a learner tells the true text without the "
            "image (chance 50), over all levels, for the kind of negatives that it tells best."
        )
        labels = inputs.audit_labels(
            TEXTS, _effect_rows, "the audit has no such captions with several negatives"
        )
        return by_label(labels, columns, rows, "level", named="benchmark", notes=notes)

    title = f"Perplexity of captions and their hardest negatives: effect size r, {captions}"
    return PaperTable(number, title, make, f"no result of `{TEXTS}` was given")


_LEVELS = {"OAR": _NAMES, "OA": ("object", "attribute"), "OR": ("object", "relation")}
"""The skills that captions of each level ask for."""
PAPER = Paper(
    [
        PaperTable("1", "Captions by level", _captions),
        PaperTable("2", "Integration gap Δ = decomposed − composed, mean and sd over n", _gaps),
        PaperTable("3", "Skill load: change of R@1 in points per atom", _loads),
        _effects(
            "4",
            "skill-targeted",
            [
                select(f"{level}, {skill}", protocol="skill", level=level, skill=skill)
                for level, skills in _LEVELS.items()
                for skill in skills
            ],
        ),
        _effects(
            "5",
            "composed captions",
            [select(level, protocol="integration", level=level) for level in _LEVELS],
        ),
        _by_n("6", "OA"),
        _by_n("7", "OR"),
        _by_n("8", "OAR"),
        table_of_changes(),
    ],
    [
        figure_from_results("3", by_complexity, "productivity", kind="all"),
        figure_from_results("5", by_count, "skill"),
    ],
    ["Figures 6 and 7 show figure 5 for other models."],
)
