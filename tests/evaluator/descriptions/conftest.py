"""The worlds of the tests of descriptions, and runs over them."""

from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from tests.conftest import once
from tests.evaluator.chat import serving
from tests.evaluator.descriptions.test_ask import Describer, asked, truths_of
from tests.generator.dataset.descriptions.worlds import crowded as crowded
from tests.generator.dataset.descriptions.worlds import crowded_truths as crowded_truths
from tests.generator.dataset.descriptions.worlds import dataset as dataset
from tests.generator.dataset.descriptions.worlds import related as related
from tests.generator.dataset.descriptions.worlds import truths as truths


@pytest.fixture(scope="session")
def runs(crowded: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two scripted models: one answers in JSON, the other in prose."""

    def make(root: Path) -> None:
        with serving(Describer, truths=truths_of(crowded)) as server:
            asked(crowded, server, "errs", root / "errs")
            asked(crowded, server, "prose", root / "prose", answer="prose")

    return once(tmp_path_factory, "runs-of-descriptions", make)
