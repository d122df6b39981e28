"""Load models only to describe them."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluator.models.registry import load_answering, load_model
from generator.base.errors import UserError


def describe_models(specs: Sequence[str], device: str | None) -> dict[str, Mapping[str, Any]]:
    """Describe models, with the digests of their weights.

    Args:
        specs: Their SPECs.
        device: The device to load them on; None for the best one.

    Returns:
        By SPEC, the entry `info` of run.json that a run of the model has.

    Raises:
        UserError: A model cannot be loaded.
    """
    infos: dict[str, Mapping[str, Any]] = {}
    for spec in specs:
        try:
            infos[spec] = load_model(spec, device).info
        except UserError as error:
            # A model that only answers in words scores nothing.
            try:
                infos[spec] = load_answering(spec, device).info
            except UserError:
                raise error from None
    return infos
