import pytest

from tests.generator.describe.samples import Sample, every_protocol, samples


@pytest.fixture(scope="session")
def sampled() -> list[Sample]:
    """Items of every protocol over 150 random scenes. Not to be changed."""
    return list(samples(every_protocol(equal_familiarity=False), 150))
