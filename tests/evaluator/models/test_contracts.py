"""What tells models of either kind apart, and fingerprints."""

import hashlib
from pathlib import Path

import numpy as np

from evaluator.models.contracts import DualEncoder, PairScorer, fingerprints
from evaluator.models.registry import load_model
from tests.evaluator.scorers import Reader, TorchBag


def test_a_model_is_of_one_kind(vilt: Path) -> None:
    for model, kind in (
        (Reader(), PairScorer),
        (load_model(f"vilt:{vilt}", "cpu"), PairScorer),
        (TorchBag(), DualEncoder),
    ):
        assert [isinstance(model, each) for each in (PairScorer, DualEncoder)] == [
            kind is PairScorer,
            kind is DualEncoder,
        ]


def test_fingerprints_are_sha256() -> None:
    rows = fingerprints([b"a", b"b", b"a"])
    assert (rows.dtype, rows.shape) == (np.int64, (3, 4))
    assert rows[0].tobytes() == hashlib.sha256(b"a").digest()
    assert (rows[0] == rows[2]).all()
    assert fingerprints([]).shape == (0, 4)
