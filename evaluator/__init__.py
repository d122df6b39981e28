"""Score vision-language models on worlds and benchmarks, and say what the scores mean.

`from evaluator import evaluate, Dataset` is the Python API (docs/api.md). Each name is imported
when it is first asked
for, so that the command line starts quickly.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluator.api import Evaluation, ask, evaluate, pool
    from evaluator.runs.dataset import Dataset

__all__ = ["Dataset", "Evaluation", "ask", "evaluate", "pool"]
_PLACES = {
    "Dataset": "evaluator.runs.dataset:Dataset",
    "Evaluation": "evaluator.api:Evaluation",
    "ask": "evaluator.api:ask",
    "evaluate": "evaluator.api:evaluate",
    "pool": "evaluator.api:pool",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return resolve_name(_PLACES[name])
