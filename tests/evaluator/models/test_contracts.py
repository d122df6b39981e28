"""What tells models of either kind apart, and fingerprints."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.models.contracts import FitsTexts, fingerprints, is_pair_scorer
from evaluator.models.registry import load_model
from tests.evaluator.scorers import Reader, TorchBag


def test_a_pair_scorer_is_told_by_its_method(vilt: Path) -> None:
    bag: Any = TorchBag()
    assert [is_pair_scorer(model) for model in (Reader(), load_model(f"vilt:{vilt}", "cpu"), bag)] == [True, True, False]  # fmt: skip


def test_only_models_with_fit_texts_are_fitted() -> None:
    assert isinstance(load_model("blind:ngram", "cpu"), FitsTexts)
    assert not isinstance(load_model("blind:length", "cpu"), FitsTexts)


def test_fingerprints_are_sha256() -> None:
    rows = fingerprints([b"a", b"b", b"a"])
    assert (rows.dtype, rows.shape) == (np.int64, (3, 4))
    assert rows[0].tobytes() == hashlib.sha256(b"a").digest()
    assert (rows[0] == rows[2]).all()
    assert fingerprints([]).shape == (0, 4)
