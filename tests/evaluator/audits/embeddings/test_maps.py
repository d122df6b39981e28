"""Refusals of `score embeddings`; tests/evaluator/cli/test_embeddings.py has what it makes."""

from pathlib import Path

import pytest

from evaluator.audits.embeddings import Asked, draw_maps
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (("blind:length",), "'blind:length' does not embed images and texts apart; give a dual encoder"),
        (("a=hf:x", "a=hf:y"), "Expected models with names of their own, got a=hf:x, a=hf:y; write NAME=MODEL"),
    ],
)
def test_models_without_embeddings_are_refused(
    world: World, benchmark: Benchmark, tmp_path: Path, models: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        draw_maps(Asked(models), world, benchmark, tmp_path / "out", "cpu")
    assert not (tmp_path / "out").exists()
