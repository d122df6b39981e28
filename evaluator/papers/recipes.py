"""Finds the recipe of an experiment: of a paper by name, or of a user's Python file."""

import runpy
from pathlib import Path

from evaluator.experiments.lab import Experiment
from generator.base.errors import UserError, did_you_mean
from generator.base.registry import Registry

_REGISTRY: Registry[Experiment] = Registry(
    "experiment",
    {
        "bindsplit2026": "evaluator.papers.bindsplit2026.recipe:EXPERIMENT",
        "compass2026": "evaluator.papers.compass2026.recipe:EXPERIMENT",
        "crepe2023": "evaluator.papers.crepe2023.recipe:EXPERIMENT",
        "hard-positives2024": "evaluator.papers.hard_positives2024.recipe:EXPERIMENT",
        "pearson2025": "evaluator.papers.pearson2025.recipe:PUBLISHED",
        "pearson2025-clean": "evaluator.papers.pearson2025.recipe:CLEAN",
    },
)
"""The built-in experiments. To add one, write recipe.py in the folder of its paper, and enter it
here."""
experiment_names = _REGISTRY.names
_OBJECT = "EXPERIMENT"
"""The name of the experiment in a user's file."""


def find_experiment(name: str) -> Experiment:
    """Find an experiment.

    Args:
        name: the name of a built-in experiment; or the path of a Python file, which ends in .py,
            is executed, and assigns an `Experiment` to EXPERIMENT.

    Raises:
        UserError: when there is none.
    """
    if name.endswith(".py"):
        return _read_experiment(Path(name))
    if name not in experiment_names():
        raise UserError(
            f"Unknown experiment '{name}'; {did_you_mean(name, list(experiment_names()))} A recipe "
            f"of yours ends in .py."
        )
    return _REGISTRY.find(name)


def _read_experiment(path: Path) -> Experiment:
    """Execute a user's file; returns its EXPERIMENT."""
    if not path.is_file():
        raise UserError(
            f"There is no file {path}; give the path of a recipe, or one of "
            f"{', '.join(experiment_names())}."
        )
    experiment = runpy.run_path(str(path)).get(_OBJECT)
    if not isinstance(experiment, Experiment):
        raise UserError(
            f"{path} has no {_OBJECT}; write {_OBJECT} = Experiment(about, paper, scales, make)."
        )
    return experiment
