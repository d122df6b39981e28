"""What tells models of either kind apart, and fingerprints."""

import hashlib

import numpy as np

from evaluator.models.contracts import fingerprints


def test_fingerprints_are_sha256() -> None:
    rows = fingerprints([b"a", b"b", b"a"])
    assert (rows.dtype, rows.shape) == (np.int64, (3, 4))
    assert rows[0].tobytes() == hashlib.sha256(b"a").digest()
    assert (rows[0] == rows[2]).all()
    assert fingerprints([]).shape == (0, 4)
