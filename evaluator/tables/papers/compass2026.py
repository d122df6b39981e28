"""Anonymous 2026, "Diagnosing the Sources of Compositional Failure in Vision-Language Models" (COMPASS)."""

from evaluator.protocols.items import COUNTS
from evaluator.protocols.protocol import lazy
from evaluator.tables.paper import Figure, Paper, PaperTable, grouped, load, over_n, part
from evaluator.tables.sources import EACH, Labels

_INTEGRATION: Labels = {"protocol": "integration"}
_GAP: Labels = {**_INTEGRATION, "metric": "integration gap"}
_MEASURES = (
    part("C", over_n, metric="R@1 composed"),
    part("D", over_n, metric="R@1 decomposed"),
    part("Δ", over_n, metric="integration gap"),
)
_LEVELS = {"6": "OA", "7": "OR", "8": "OAR"}
_SKILLS = tuple(part(skill, skill=skill) for skill in ("object", "attribute", "relation"))
_LOADS = tuple(part(f"β {count.removeprefix('n_')}", load(count)) for count in COUNTS)


def _by_n(number: str, level: str) -> PaperTable:
    return PaperTable(
        number, f"Composed (C), decomposed (D) and their gap Δ by number of atoms, level {level}", _MEASURES,
        rows=(part("{}", n=EACH, split=EACH), part("mean, sd over n, {}", split=EACH)), head="n",
        of={**_INTEGRATION, "level": level}, across=True,
    )  # fmt: skip


PAPER = Paper(
    (
        PaperTable(
            "2", "Integration gap Δ = decomposed − composed, mean and sd over n", (part("{}", over_n, level=EACH),),
            rows=(part("{}", split=EACH),), head="split", of=_GAP,
        ),
        PaperTable(
            "3", "Skill load: change of R@1 in points an atom", grouped(_SKILLS, _LOADS),
            rows=(part("{}", level=EACH, split=EACH),), head="level", of={"protocol": "skill", "metric": "R@1"},
            notes=("Standard error and p without correction in brackets; * p < .005, ** p < .001 after Holm; in bold the load of a skill by its own count.",),
        ),
        *(_by_n(number, level) for number, level in _LEVELS.items()),
    ),
    figures=(
        Figure("3", lazy("evaluator.report.figures:by_complexity"), "productivity", {"kind": "all"}),
        Figure("5", lazy("evaluator.report.figures:by_count"), "skill"),
    ),
    elsewhere=(
        "Table 1 is in `gen count DATASET`.",
        "Tables 4 and 5 are of `score audit DATASET --language-model MODEL`.",
        "Figures 6 and 7 are figure 5 of other models.",
    ),
)  # fmt: skip
