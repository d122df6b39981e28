"""Anonymous 2026, "Diagnosing the Sources of Compositional Failure in Vision-Language Models" (COMPASS)."""

from collections.abc import Callable
from typing import Any

from evaluator.protocols.items import COUNTS
from evaluator.report.papers.audits import Rows, audit_table, number
from evaluator.report.papers.counts import count_table, counted, datasets
from evaluator.report.papers.elsewhere import changed_elsewhere
from evaluator.report.papers.given import TEXTS, Given
from evaluator.report.papers.paper import (
    Paper,
    PaperFigure,
    PaperTable,
    Part,
    by_label,
    figure_rows,
    grouped,
    labels_across,
    load,
    over_n,
    part,
    parts,
)
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
_EFFECT = ("r", "Interpretation", "pairs")
_STARS = (
    "Standard error and p without correction in brackets; * p < .005, ** p < .001 after Holm; in bold the load of a "
    "skill by its "
    "own count."
)


def _captions(given: Given) -> Table:
    columns = [
        counted("Integration", "captions", protocol="integration"),
        *(counted(each.head, "captions", group="Skill", protocol="skill", **each.of) for each in _SKILLS),
    ]
    wanted = {"protocol": ("integration", "skill"), "metric": "captions", "skill": (None, *_NAMES)}
    return count_table(given, columns, parts(datasets(given), "{}", ["level", "split"], wanted), "level")


def _gaps(given: Given) -> Table:
    columns = [Part(each.head, each.of, over_n) for each in parts(given.labels, "{}", ["level"], _GAP)]
    if not columns:
        return Table([], [], [])
    rows = parts(given.labels, "{}", ["split"], {**_GAP, "level": tuple(each.of["level"] for each in columns)})
    return by_label(given.labels, columns, rows, "split", _GAP)


def _loads(given: Given) -> Table:
    of = {"protocol": "skill", "metric": "R@1"}
    rows = parts(given.labels, "{}", ["level", "split"], {**of, "skill": _NAMES})
    return by_label(given.labels, grouped(_SKILLS, _LOADS), rows, "level", of, notes=[_STARS])


def _by_n(number: str, level: str) -> PaperTable:
    def make(given: Given) -> Table:
        of = {"protocol": "integration", "level": level}
        wanted = {**of, "metric": tuple(each.of["metric"] for each in _MEASURES)}
        rows = parts(given.labels, "{}", ["n", "split"], wanted)
        rows += parts(given.labels, "mean, sd over n, {}", ["split"], wanted)
        return labels_across(given.labels if rows else [], _MEASURES, rows, "n", of)

    title = f"Composed (C), decomposed (D) and their gap Δ by number of atoms, level {level}"
    return PaperTable(number, title, make)


def _effect(protocol: str, level: str, skill: str | None) -> Callable[[Any], list[Cell]]:
    def cells(audit: Any) -> list[Cell]:
        of = (protocol, level, skill)
        found = next((each for each in audit["levels"] if (each["protocol"], each["level"], each["skill"]) == of), None)
        if found is None or found["perplexity"]["r"] is None:
            return [Cell(reason="the audit has no such captions with several negatives")] * len(_EFFECT)
        effect = found["perplexity"]
        r = Cell(f"{effect['r']:.3f}", numbers={"value": effect["r"], "unit": "effect size"})
        return [r, Cell(effect["size"]), number(effect["pairs"])]

    return cells


def _effects(number: str, captions: str, labels: list[str], rows: Rows) -> PaperTable:
    title = f"Perplexity of captions and their hardest negatives: effect size r, {captions}"

    def said(audit: Any) -> str:
        return f"{audit['benchmark']}, perplexity of {audit['language_model']['name']}"

    return audit_table(number, title, labels, _EFFECT, rows, TEXTS, said)


def _by_complexity(given: Given) -> list[str]:
    from evaluator.report.figures import by_complexity

    return by_complexity(figure_rows(given, "productivity", {"kind": "all"}), "productivity")


def _by_count(given: Given) -> list[str]:
    from evaluator.report.figures import by_count

    return by_count(figure_rows(given, "skill"), "skill")


_LEVELS = (("OAR", _NAMES), ("OA", _NAMES[:2]), ("OR", _NAMES[::2]))
PAPER = Paper(
    [
        PaperTable("1", "Captions by level", _captions, "no run was asked such items"),
        PaperTable("2", "Integration gap Δ = decomposed − composed, mean and sd over n", _gaps),
        PaperTable("3", "Skill load: change of R@1 in points an atom", _loads),
        _effects(
            "4",
            "skill-targeted",
            ["Level", "Negatives"],
            [([level, skill], _effect("skill", level, skill)) for level, skills in _LEVELS for skill in skills],
        ),
        _effects(
            "5",
            "composed captions",
            ["Level"],
            [([level], _effect("integration", level, None)) for level, _ in _LEVELS],
        ),
        _by_n("6", "OA"),
        _by_n("7", "OR"),
        _by_n("8", "OAR"),
        changed_elsewhere(),
    ],
    [
        PaperFigure("3", _by_complexity, "no run has results of `productivity`"),
        PaperFigure("5", _by_count, "no run has results of `skill`"),
    ],
    ["Figures 6 and 7 are figure 5 of other models."],
)
