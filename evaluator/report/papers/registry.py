"""The papers whose tables can be made. To add one, write a file with a `PAPER`, and enter it here."""

from evaluator.report.papers.paper import Paper
from generator.base.registry import Registry

_NAMES = ("bindsplit2026", "hard-positives2024", "crepe2023", "compass2026", "pearson2025")
_REGISTRY: Registry[Paper] = Registry(
    "paper", {name: f"evaluator.report.papers.{name.replace('-', '_')}:PAPER" for name in _NAMES}
)
paper_names, find_paper = _REGISTRY.names, _REGISTRY.find
