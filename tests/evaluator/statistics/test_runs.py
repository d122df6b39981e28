"""One analysis over many runs: means, crossover gaps, and how often their intervals hold."""

import numpy as np
import pytest
from scipy import stats

from bench.designs import FAILING, SPREADS, WIDER, Design, Study, simulate
from evaluator.statistics.blocks import block_mean
from evaluator.statistics.runs import (
    RunItems,
    crossover,
    gap_over_runs,
    influences,
    mean_over_runs,
    replicated,
)


def items(block: str, training: str, scenes: range, outcome: list[float]) -> RunItems:
    names = np.array([f"s{scene}" for scene in scenes])
    clusters = np.array([f"c{scene // 2}" for scene in scenes])
    return RunItems(
        block, training, names, clusters, np.full(len(names), ""), np.array(outcome, dtype=float)
    )


def test_blocks_count_equally_and_so_do_the_trainings_of_a_block() -> None:
    runs = [
        items("a", "a0", range(2), [1, 1]),
        items("a", "a1", range(2), [0, 1]),
        items("b", "b0", range(2, 6), [0, 0, 0, 1]),
    ]
    assert mean_over_runs(runs).value == pytest.approx(((1 + 0.5) / 2 + 0.25) / 2)
    assert not replicated(runs)
    assert replicated(runs[:2])
    assert replicated([items("a", "", range(2), [1, 1])])  # a model that was not trained here


def test_a_crossover_compares_the_same_images() -> None:
    seen = [items("a", "a0", range(4), [1, 1, 0, 1]), items("b", "b0", range(4), [1, 0, 0, 1])]
    unseen = [items("c", "c0", range(4), [0, 0, 0, 1])]
    (differences,) = crossover(seen, unseen) or pytest.fail("the images are the same")
    assert differences.outcome.tolist() == [1, 0.5, 0, 0]
    assert crossover(seen, [items("c", "c0", range(9, 13), [0, 0, 0, 1])]) is None
    estimate, same = gap_over_runs(list(zip(seen, unseen * 2, strict=True)))
    assert (estimate.value, same) == (0.375, False)  # splits of one run that share clusters


def test_effects_of_a_training_on_both_sides_cancel_in_a_crossover() -> None:
    """Two turns; the second turn's training is better by 0.25 on every image, seen or unseen."""
    seen = [
        items("a", "a0", range(4), [0.5, 0.25, 0.5, 0.25]),
        items("b", "b0", range(4, 8), [0.75, 0.5, 0.75, 0.5]),
    ]
    seen += [items("c", "c0", range(8), [0.5, 0.25] * 4)]
    unseen = [
        items("a", "a0", range(4, 8), [0.25, 0, 0.25, 0]),
        items("b", "b0", range(4), [0.5, 0.25, 0.5, 0.25]),
    ]
    differences = crossover(seen, unseen) or pytest.fail("the images are the same")
    plain = [0.625 - 0.25, 0.5 - 0.5]  # each image seen, less the same image unseen
    assert np.mean([run.outcome.mean() for run in differences]) == pytest.approx(np.mean(plain))
    assert abs(differences[0].outcome.mean() - differences[1].outcome.mean()) < abs(
        plain[0] - plain[1]
    )


@pytest.mark.parametrize(("right_unseen", "value"), [(0.0, 1.0), (1.0, 0.0)])
def test_a_gap_in_whose_splits_nothing_varies_has_an_interval(
    right_unseen: float, value: float
) -> None:
    """Two turns over the same 24 images: all are right where seen, and all or none where unseen."""
    seen = [items("a", "a0", range(24), [1] * 24), items("b", "b0", range(24, 48), [1] * 24)]
    unseen = [
        items("a", "a0", range(24, 48), [right_unseen] * 24),
        items("b", "b0", range(24), [right_unseen] * 24),
    ]
    gap, same_images = gap_over_runs(list(zip(seen, unseen, strict=True)))
    assert (gap.value, same_images) == (value, True)
    assert (gap.low > 0) == (value > 0)
    assert gap.low < gap.high
    assert (gap.p < 0.01) == (value > 0)


def test_the_influences_have_the_mean_of_the_difference() -> None:
    first, second = (
        items("a", "", range(4), [1, 1, 0, 1]),
        items("a", "", range(2, 8), [0, 1, 0, 0, 1, 0]),
    )
    joined = influences(first, second) or pytest.fail("they share a cluster")
    assert joined.outcome.mean() == pytest.approx(0.75 - 1 / 3)
    assert influences(first, items("a", "", range(8, 10), [1, 0])) is None


def test_a_mean_over_blocks_has_students_interval() -> None:
    mean = block_mean([1, 3, 4, 8], ["a", "a", "b", "c"], 0.9)
    expected = stats.t.interval(0.9, 2, np.mean([2, 4, 8]), stats.sem([2, 4, 8]))
    assert (mean.low, mean.high) == pytest.approx(expected)
    assert mean.p(0) == pytest.approx(stats.ttest_1samp([2, 4, 8], 0).pvalue)
    assert np.isnan(block_mean([1, 3], ["a", "a"], 0.9).low)
    assert np.isnan(block_mean([1, 1, 1], ["a", "b", "c"], 0.9).low)


def test_a_rotation_tells_more_than_a_block_and_the_wider_claim_is_wider() -> None:
    rotation = Study(Design("rotation", 160, "rotation", 4, (2, 3), 2), SPREADS[0], 0.75)
    block = Study(Design("block", 160, "blocks", 1, (3, 3)), SPREADS[0], 0.75)
    of_rotation, of_block = (
        simulate(study, 3)["unseen, this vocabulary"][:, 1].mean() for study in (rotation, block)
    )
    assert of_rotation < of_block / 2
    assert simulate(rotation, 3)[f"unseen, {WIDER}"][:, 1].mean() > 1.5 * of_rotation


@pytest.mark.full
@pytest.mark.parametrize("spreads", SPREADS, ids=lambda spreads: spreads.name)
@pytest.mark.parametrize(
    "design", [Design("", 400, "rotation", 4, (2, 3), 2), Design("", 400, "blocks", 5, (3, 3))]
)
def test_intervals_of_both_claims_hold(design: Design, spreads: object) -> None:
    """With 100 draws, 88% are three standard errors below 95%."""
    for name, numbers in simulate(Study(design, spreads, 0.75), 100).items():  # type: ignore[arg-type]
        assert numbers[:, 2].mean() >= 0.88, name


@pytest.mark.full
def test_intervals_of_blocks_in_which_a_fifth_of_bindings_fails_miss_more_often() -> None:
    """docs/statistics.md says how often; the test fails when the sentence is no longer true."""
    numbers = simulate(Study(Design("", 200, "blocks", 1, (3, 3)), FAILING, 0.9), 100)[
        "unseen, this vocabulary"
    ]
    assert 0.5 < numbers[:, 2].mean() < 0.95
