"""A reduced coverage study: intervals hold the mean of the population of which they speak."""

from dataclasses import replace

import pytest

from bench.coverage import STUDIES, Study, covered


@pytest.mark.full
@pytest.mark.parametrize("study", [each for each in STUDIES if each.clusters == 9], ids=lambda study: study.name)
def test_intervals_of_few_clusters_hold(study: Study) -> None:
    """Of 40 draws a coverage of 93% shows less than 80% once in 250 times."""
    shares, _ = covered(replace(study, draws=40))
    assert min(shares) >= 80
