"""The worlds of worlds.py, and their words."""

import pytest

from generator.dataset.descriptions.vocabulary import Vocabulary
from tests.generator.dataset.descriptions.answers import VOCABULARY
from tests.generator.dataset.descriptions.worlds import crowded as crowded
from tests.generator.dataset.descriptions.worlds import crowded_truths as crowded_truths
from tests.generator.dataset.descriptions.worlds import dataset as dataset
from tests.generator.dataset.descriptions.worlds import related as related
from tests.generator.dataset.descriptions.worlds import truths as truths


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """The words of the family clevr-relations."""
    return VOCABULARY
