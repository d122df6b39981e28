"""The tasks of a dataset on the Hugging Face Hub: `gen export hf` declares them in eval.yaml, and
`score report --hub` names them in .eval_results (https://huggingface.co/docs/hub/eval-results).

A task has a leaderboard of its own. There is one for each kind and split of the protocols whose
items are one image with a true and a false caption: such an item is the same question for a model
that scores pairs and for one that answers in words, so that their accuracies may share a
leaderboard.
"""

import re

CHOICE_PROTOCOLS = ("binary", "steps")
"""Protocols whose items are one image with a true and a false caption."""
METRIC = "accuracy"
"""The metric of the tasks."""
_OTHER = re.compile(r"[^A-Za-z0-9_.]+")


def task_config(protocol: str, kind: str) -> str:
    """Return the configuration of the dataset that has the questions of a task.

    Args:
        protocol: One of CHOICE_PROTOCOLS.
        kind: Kind of its items.

    Example:
        >>> task_config("steps", "contrast 0.25")
        'choices-steps-contrast-0.25'
    """
    return f"choices-{_OTHER.sub('-', f'{protocol} {kind}')}"


def task_id(protocol: str, kind: str, split: str) -> str:
    """Return the id of a task.

    Args:
        protocol: One of CHOICE_PROTOCOLS.
        kind: Kind of its items.
        split: Split of its items.

    Example:
        >>> task_id("binary", "swap", "unseen")
        'binary-swap-unseen'
    """
    return _OTHER.sub("-", f"{protocol} {kind} {split}")
