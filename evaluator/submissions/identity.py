"""What identifies a model: its weights, its code and the settings that change its answers."""

from collections.abc import Mapping
from typing import Any

from evaluator.submissions.digests import digest_of

WEIGHTS = "weights_sha256"
"""The entry of a model's description with the digest of its weights."""
SOURCE = "source_sha256"
"""The entry with the digest of the file of a model of the user's own."""
_INCIDENTAL = frozenset(
    {
        "weights",  # a path or a name: the same weights may lie anywhere
        "device",
        "precision",  # depends on the device
        "trained_on",
        "served",
        "fitted_texts",  # depends on the questions of the run
        "not_taken",
        "endpoint",
        "scores",
        "rows",
    }
)
"""Entries of a description that differ between machines and runs of one model."""


def model_digest(info: Mapping[str, Any]) -> str:
    """Identify a model by its description.

    Equal weights with other settings, such as another number of samples of a diffusion model, are
    another model: otherwise the best setting could be chosen after a challenge.

    Args:
        info: The entry `info` of run.json, or that of a loaded model.

    Returns:
        64 hexadecimal digits.

    Example:
        >>> on_cpu, on_gpu = {"weights_sha256": "ab", "device": "cpu"}, {"weights_sha256": "ab"}
        >>> model_digest(on_cpu) == model_digest(on_gpu)
        True
        >>> model_digest(on_cpu) == model_digest({"weights_sha256": "ab", "samples": 8})
        False
    """
    identity = {name: value for name, value in info.items() if name not in _INCIDENTAL}
    return digest_of(identity)


def has_weights(info: Mapping[str, Any]) -> bool:
    """Whether a description fixes the model: it has a digest of weights or of code.

    A model behind an endpoint has neither, since its host may exchange it.

    Args:
        info: The entry `info` of run.json, or that of a loaded model.

    Returns:
        Whether there is such a digest.
    """
    return any(isinstance(info.get(name), str) for name in (WEIGHTS, SOURCE))
