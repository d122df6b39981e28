"""Anonymous 2026, "Diagnosing the Sources of Compositional Failure in Vision-Language Models" (COMPASS)."""

from collections.abc import Callable

from evaluator.protocols.items import COUNTS
from evaluator.protocols.protocol import lazy
from evaluator.report.tables.audits import Audit, AuditTable, number
from evaluator.report.tables.counts import CountTable, counted
from evaluator.report.tables.forgetting import FORGETTING
from evaluator.report.tables.paper import Figure, Paper, PaperTable, grouped, load, over_n, part
from evaluator.report.tables.sources import EACH, TEXTS, Labels
from evaluator.report.tables.table import Cell

_INTEGRATION: Labels = {"protocol": "integration"}
_GAP: Labels = {**_INTEGRATION, "metric": "integration gap"}
_MEASURES = (
    part("C", over_n, metric="R@1 composed"),
    part("D", over_n, metric="R@1 decomposed"),
    part("Δ", over_n, metric="integration gap"),
)
_LEVELS = {"6": "OA", "7": "OR", "8": "OAR"}
_NAMES = ("object", "attribute", "relation")
_SKILLS = tuple(part(skill, skill=skill) for skill in _NAMES)
_LOADS = tuple(part(f"β {count.removeprefix('n_')}", load(count)) for count in COUNTS)


def _by_n(number: str, level: str) -> PaperTable:
    return PaperTable(
        number, f"Composed (C), decomposed (D) and their gap Δ by number of atoms, level {level}", _MEASURES,
        rows=(part("{}", n=EACH, split=EACH), part("mean, sd over n, {}", split=EACH)), head="n",
        of={**_INTEGRATION, "level": level}, across=True,
    )  # fmt: skip


_EFFECT = ("r", "Interpretation", "pairs")


def _effect(protocol: str, level: str, skill: str | None) -> Callable[[Audit], list[Cell]]:
    def cells(audit: Audit) -> list[Cell]:
        of = (protocol, level, skill)
        found = next((each for each in audit["levels"] if (each["protocol"], each["level"], each["skill"]) == of), None)
        if found is None or found["perplexity"]["r"] is None:
            return [Cell(reason="the audit has no such captions with several negatives")] * len(_EFFECT)
        effect = found["perplexity"]
        r = Cell(f"{effect['r']:.3f}", numbers={"value": effect["r"], "unit": "effect size"})
        return [r, Cell(effect["size"]), number(effect["pairs"])]

    return cells


def _audited(audit: Audit) -> str:
    return f"{audit['benchmark']}, perplexity of {audit['language_model']['name']}"


PAPER = Paper(
    (
        CountTable(
            "1", "Captions by level",
            (
                counted("Integration", "captions", protocol="integration"),
                *(counted(each.head, "captions", group="Skill", protocol="skill", **each.of) for each in _SKILLS),
            ),
            (part("{}", level=EACH, split=EACH),), "level",
        ),
        PaperTable(
            "2", "Integration gap Δ = decomposed − composed, mean and sd over n", (part("{}", over_n, level=EACH),),
            rows=(part("{}", split=EACH),), head="split", of=_GAP,
        ),
        PaperTable(
            "3", "Skill load: change of R@1 in points an atom", grouped(_SKILLS, _LOADS),
            rows=(part("{}", level=EACH, split=EACH),), head="level", of={"protocol": "skill", "metric": "R@1"},
            notes=("Standard error and p without correction in brackets; * p < .005, ** p < .001 after Holm; in bold the load of a skill by its own count.",),
        ),
        AuditTable(
            "4", "Perplexity of captions and their hardest negatives: effect size r, skill-targeted", ["Level", "Negatives"], _EFFECT,
            [
                ([level, skill], _effect("skill", level, skill))
                for level, skills in (("OAR", _NAMES), ("OA", _NAMES[:2]), ("OR", _NAMES[::2])) for skill in skills
            ], TEXTS, _audited,
        ),
        AuditTable(
            "5", "Perplexity of captions and their hardest negatives: effect size r, composed captions", ["Level"], _EFFECT,
            [([level], _effect("integration", level, None)) for level in ("OAR", "OA", "OR")], TEXTS, _audited,
        ),
        *(_by_n(number, level) for number, level in _LEVELS.items()),
        FORGETTING,
    ),
    figures=(
        Figure("3", lazy("evaluator.report.figures:by_complexity"), "productivity", {"kind": "all"}),
        Figure("5", lazy("evaluator.report.figures:by_count"), "skill"),
    ),
    elsewhere=(
        "Figures 6 and 7 are figure 5 of other models.",
    ),
)  # fmt: skip
