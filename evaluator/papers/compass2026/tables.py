"""Anonymous 2026, "Diagnosing the Sources of Compositional Failure in Vision-Language Models"
(COMPASS)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evaluator.papers.inputs import EVERY, Given, Label, Labels, datasets, told
from evaluator.papers.paper import (
    Paper,
    PaperTable,
    Part,
    by_label,
    changed_elsewhere,
    figure,
    grouped,
    load,
    over_n,
    part,
    parts,
    result,
)
from evaluator.protocols.items import COUNTS
from evaluator.protocols.records import Row
from evaluator.report.audit_results import TEXTS
from evaluator.report.figures import by_complexity, by_count
from evaluator.report.table import Cell, Table

_GAP = {"protocol": "integration", "metric": "integration gap"}
_MEASURES = (
    part("C", over_n, metric="R@1 composed"),
    part("D", over_n, metric="R@1 decomposed"),
    part("Δ", over_n, metric="integration gap"),
)
_NAMES = ("object", "attribute", "relation")
_SKILLS = tuple(part(skill, skill=skill) for skill in _NAMES)
_LOADS = tuple(part(f"β {count.removeprefix('n_')}", load(count)) for count in COUNTS)
_STARS = (
    "In brackets: standard error and uncorrected p; * p < .005, ** p < .001 after Holm; in bold: "
    "the load of a skill by its own count."
)


def _captions(given: Given) -> Table:
    asked, counted = ("integration", "skill"), {"metric": "captions"}
    every = datasets(given)
    labels = [
        each for each in every if any(row["protocol"] in asked for row in each.entries[0]["rows"])
    ] or every
    columns = [part("Ground truth", protocol=EVERY, **counted)]
    columns += [part("Integration", protocol="integration", **counted)]
    columns += grouped([part("Skill", protocol="skill", **counted)], _SKILLS)
    rows = parts(
        labels, "{}", ["level", "split"], {"protocol": asked, "skill": (None, *_NAMES), **counted}
    )
    return by_label(labels, columns, rows, "level", named="dataset")


def _gaps(given: Given) -> Table:
    columns = [
        replace(each, statistic=over_n) for each in parts(given.labels, "{}", ["level"], _GAP)
    ]
    rows = parts(
        given.labels,
        "{}",
        ["split"],
        {**_GAP, "level": tuple(each.of["level"] for each in columns)},
    )
    table = by_label(given.labels, columns, rows, "split", _GAP)
    others = [note for note in table.notes if not note.startswith("±")]
    return replace(table, notes=["± is the standard deviation over n.", *others])


def _loads(given: Given) -> Table:
    of = {"protocol": "skill", "metric": "R@1"}
    rows = parts(given.labels, "{}", ["level", "split"], {**of, "skill": _NAMES})
    return by_label(given.labels, grouped(_SKILLS, _LOADS), rows, "level", of, notes=[_STARS])


def _by_n(number: str, level: str) -> PaperTable:
    of = {"protocol": "integration", "level": level}
    wanted = {**of, "metric": tuple(each.of["metric"] for each in _MEASURES)}

    def make(given: Given) -> Table:
        rows = parts(given.labels, "{}", ["n", "split"], wanted)
        rows += parts(given.labels, "mean, sd over n, {}", ["split"], wanted)
        return by_label(given.labels, _MEASURES, rows, "n", of)

    title = f"Composed (C), decomposed (D) and their gap Δ by number of atoms, level {level}"
    return PaperTable(number, title, make)


def _effect_rows(audit: Any) -> list[Row]:
    """Rows of the effect sizes of `score audit`, of their numbers of pairs, and of the blind
    test."""
    rows = []
    for each in audit["levels"]:
        labels, effect = (
            {name: each[name] for name in ("protocol", "level", "skill")},
            each["perplexity"],
        )
        if effect["r"] is not None:
            rows.append(told("effect", effect["r"], "score", **labels, size=effect["size"]))
            rows.append(told("pairs", effect["pairs"], **labels))
        blind = _most_telling(audit["kinds"], each)
        if blind is not None:
            ends = {end: blind[end] for end in ("low", "high")}
            rows.append(told("blind", blind["value"], "share", **labels, **ends))
    return rows


def _most_telling(kinds: Sequence[Any], level: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The blind test with the highest accuracy among the kinds of negatives of a level's captions;
    None if none was judged. Its learner reads captions of all levels. Decomposed captions are left
    out.
    """
    same = ("protocol", "kind", "skill")
    judged = [
        kind["blind"]
        for kind in kinds
        if all(kind[name] == level[name] for name in same)
        and kind["role"] == "c"
        and kind["blind"]["value"] is not None
    ]
    return max(judged, key=lambda blind: blind["value"], default=None)


def _interpretation(label: Label, labels: Labels) -> Cell:
    cell = result(label, labels)
    return (
        cell if cell.reason else Cell(cell.numbers["size"], numbers={"text": cell.numbers["size"]})
    )


def _effects(number: str, captions: str, rows: list[Part]) -> PaperTable:
    columns = (
        part("r", metric="effect"),
        part("Interpretation", _interpretation, metric="effect"),
        part("pairs", metric="pairs"),
        part("Blind accuracy", metric="blind"),
    )

    def make(given: Given) -> Table:
        notes = [
            f"{each.name}: {each.record['benchmark']}, perplexity of "
            f"{each.record['language_model']['name']}."
            for each in given.audits_of(TEXTS)
        ]
        notes.append(
            "Blind accuracy: the share of pairs in which a learner tells the true text without the "
            "image (chance 50), over all levels, for the kind of negatives that it tells best."
        )
        labels = given.audit_labels(
            TEXTS, _effect_rows, "the audit has no such captions with several negatives"
        )
        return by_label(labels, columns, rows, "level", named="benchmark", notes=notes)

    title = f"Perplexity of captions and their hardest negatives: effect size r, {captions}"
    return PaperTable(number, title, make, f"no result of `{TEXTS}` was given")


_LEVELS = {"OAR": _NAMES, "OA": _NAMES[:2], "OR": _NAMES[::2]}
PAPER = Paper(
    [
        PaperTable("1", "Captions by level", _captions),
        PaperTable("2", "Integration gap Δ = decomposed − composed, mean and sd over n", _gaps),
        PaperTable("3", "Skill load: change of R@1 in points per atom", _loads),
        _effects(
            "4",
            "skill-targeted",
            [
                part(f"{level}, {skill}", protocol="skill", level=level, skill=skill)
                for level, skills in _LEVELS.items()
                for skill in skills
            ],
        ),
        _effects(
            "5",
            "composed captions",
            [part(level, protocol="integration", level=level) for level in _LEVELS],
        ),
        _by_n("6", "OA"),
        _by_n("7", "OR"),
        _by_n("8", "OAR"),
        changed_elsewhere(),
    ],
    [figure("3", by_complexity, "productivity", kind="all"), figure("5", by_count, "skill")],
    ["Figures 6 and 7 show figure 5 for other models."],
)
