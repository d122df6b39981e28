"""Diffusion Classifier without a network: samples, presets, races, and the error rates of the stopping rule."""

from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image

from evaluator.models.diffusion.racing import Verdict, _settled, race
from evaluator.models.diffusion.samples import image_digest, levels, nested_order, noise, staged_order
from evaluator.models.diffusion.schedules import EXHAUSTIVE, PRESETS, Schedule, parse_preset
from evaluator.models.diffusion.stopping import advantage, critical_value, looks
from generator.dataset.errors import UserError

TIMESTEPS = 1000


def timesteps_of(total: int) -> np.ndarray:
    """Of 1,000 timesteps, those of the samples."""
    return (levels(total) * TIMESTEPS).astype(int)


# --- samples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("seed", [0, 1])
def test_every_stage_covers_the_whole_range(name: str, seed: int) -> None:
    """At any stage there is a sample in each of as many equal parts of the range (one more or less for stages between)."""
    schedule = PRESETS[name].schedule
    order = schedule.order(seed)
    assert sorted(order) == list(range(schedule.total))
    for n in schedule.stages:
        parts = 2 ** int(np.log2(n)) if schedule.confidence else n
        filled = np.bincount((levels(schedule.total)[order[:n]] * parts).astype(int), minlength=parts)
        assert filled.min() >= 1
        taken = np.sort(timesteps_of(schedule.total)[order[:n]])
        assert taken[0] <= TIMESTEPS / parts
        assert taken[-1] >= TIMESTEPS - 1 - TIMESTEPS / parts
        assert abs(taken.mean() - (TIMESTEPS - 1) / 2) <= TIMESTEPS / parts


def test_published_timesteps() -> None:
    """500 samples are t = 1, 3 … 999 as in Li et al.'s code; 75 of 200 reach to the end, where theirs end at t = 747."""
    assert timesteps_of(500).tolist() == list(range(1, 1000, 2))
    assert timesteps_of(200).tolist() == list(range(2, 1000, 5))
    first = timesteps_of(200)[staged_order((75, 200))[:75]]
    assert first.max() > 985
    assert np.diff(np.sort(first)).max() <= 15


def test_nested_order_depends_on_the_seed_alone() -> None:
    """The same for a seed, 0 included; another for another; any number of samples."""
    assert nested_order(100, 0).tolist() == nested_order(100, 0).tolist()
    assert nested_order(100, 0).tolist() != nested_order(100, 1).tolist()
    for total in (1, 2, 3, 7, 100, 1000):
        assert sorted(nested_order(total, 0)) == list(range(total))


def test_noise_follows_from_content_seed_and_sample() -> None:
    """Standard normal, the same for the same, independent for another image, seed or sample."""
    red, blue = (image_digest(Image.new("RGB", (4, 4), colour)) for colour in ("red", "blue"))
    assert red != image_digest(Image.new("RGB", (2, 8), "red"))
    shape = (4, 32, 32)
    first = noise(red, 0, 7, shape)
    assert first.dtype == np.float32
    assert np.array_equal(first, noise(red, 0, 7, shape))
    for other in (noise(blue, 0, 7, shape), noise(red, 1, 7, shape), noise(red, 0, 8, shape)):
        assert abs(np.corrcoef(first.ravel(), other.ravel())[0, 1]) < 0.06
    assert abs(first.mean()) < 0.05
    assert abs(first.std() - 1) < 0.05
    # the same on every machine
    assert noise("0" * 64, 0, 0, (3,)) == pytest.approx(KNOWN_NOISE, abs=1e-6)


KNOWN_NOISE = [-0.2810665, -0.3718877, 0.1176878]


# --- presets ---------------------------------------------------------------------------------------------------------


def test_presets() -> None:
    """As published, and options change what they say."""
    li, pearson = parse_preset("li2023"), parse_preset("pearson2025")
    assert (li.schedule.stages, li.schedule.keep, li.loss) == ((50, 500), (5, 1), "l2")
    assert (pearson.schedule.stages, pearson.schedule.keep, pearson.loss) == ((75, 200), (5, 1), "l1")
    changed = parse_preset("sequential,confidence=0.99,samples=256,loss=huber,seed=3")
    assert (changed.schedule.total, changed.schedule.confidence, changed.loss, changed.seed) == (256, 0.99, "huber", 3)
    assert str(parse_preset("fixed,samples=8").schedule) == "8 samples"
    assert str(li.schedule) == "50 samples keep 5 → 500 samples keep 1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("li2032", "did you mean 'li2023'?"),
        ("fixed,los=l1", "did you mean 'loss=…'?"),
        ("fixed,loss=l3", "expected one of: l2, l1, huber."),
        ("fixed,loss", "Unknown option 'loss'"),
        ("fixed,samples=0", "a whole number from 1, got '0'"),
        ("fixed,seed=x", "a whole number from 0, got 'x'"),
        ("li2023,samples=9", "as published"),
        ("fixed,confidence=0.9", "Only the preset 'sequential'"),
        ("sequential,confidence=1", "less than 1, got '1'"),
        ("sequential,confidence=high", "got 'high'"),
    ],
)
def test_wrong_presets(text: str, said: str) -> None:
    """One sentence that names the mistake and the mend."""
    with pytest.raises(UserError) as raised:
        parse_preset(text)
    assert said in raised.value.message
    assert raised.value.message.endswith((".", "?"))


# --- races -----------------------------------------------------------------------------------------------------------


def table_draw(errors: np.ndarray, asked: list[int] | None = None) -> Callable[[list[int], np.ndarray], np.ndarray]:
    """Draws from known errors (texts, samples)."""

    def draw(texts: list[int], samples: np.ndarray) -> np.ndarray:
        if asked is not None:
            asked.append(len(texts) * len(samples))
        return errors[np.ix_(texts, samples)]

    return draw


def test_stages_keep_the_best() -> None:
    """The published procedure, written out: means after the first stage, the five best to the end, the best of them."""
    rng = np.random.default_rng(0)
    schedule = PRESETS["pearson2025"].schedule
    order = schedule.order(0)
    for _ in range(50):
        errors = rng.normal(size=(12, 1)) * 0.1 + rng.normal(size=(12, 200))
        outcome = race(12, [list(range(12))], schedule, order, table_draw(errors))
        kept = np.argsort(errors[:, order[:75]].mean(1))[:5]
        assert sorted(np.flatnonzero(outcome.samples == 200)) == sorted(kept)
        assert set(outcome.samples) == {75, 200}
        assert outcome.errors.argmin() == kept[errors[kept].mean(1).argmin()]
        assert outcome.errors[kept] == pytest.approx(errors[kept].mean(1))


def test_all_samples_without_a_rival() -> None:
    """A text that nothing is compared with gets every sample, and so do all in a schedule of one stage."""
    errors = np.random.default_rng(0).normal(size=(3, EXHAUSTIVE)) + np.array([[0], [9], [0]])
    schedule = PRESETS["sequential"].schedule
    outcome = race(3, [[0, 1]], schedule, schedule.order(0), table_draw(errors))
    assert outcome.samples.tolist() == [16, 16, EXHAUSTIVE]
    every = race(3, [], PRESETS["exhaustive"].schedule, np.arange(EXHAUSTIVE), table_draw(errors))
    assert every.errors == pytest.approx(errors.mean(1))


def test_scores_hold_every_decision() -> None:
    """However contests overlap: who was beaten in a contest is behind in the end, at whatever sample the other stopped."""
    rng = np.random.default_rng(1)
    schedule = parse_preset("sequential,samples=128,confidence=0.5").schedule
    turned = 0
    for seed in range(300):
        errors = rng.normal(size=(6, 1)) * 0.15 + rng.normal(size=(6, 128))
        contests = [[0, 1], [0, 2, 3], [3, 4, 5]]
        outcome = race(6, contests, schedule, schedule.order(seed), table_draw(errors))
        order = schedule.order(seed)
        for contest in contests:
            left = list(contest)
            for stage, n in enumerate(schedule.stages):
                if len(left) == 1:
                    break
                beaten = schedule.beaten(errors[np.ix_(left, np.sort(order[:n]))], stage)
                left = [text for text, out in zip(left, beaten, strict=True) if not out]
            best = contest[int(outcome.errors[contest].argmin())]
            assert best == left[0]
        had = np.array([errors[i, order[: outcome.samples[i]]].mean() for i in range(6)])
        turned += int((np.abs(had - outcome.errors) > 1e-12).any())
        assert (outcome.errors >= had - 1e-12).all()
    assert 0 < turned < 150


def test_of_contradictory_decisions_the_later_holds() -> None:
    """0 beats 1 after 16 samples in one contest; in another, with many rivals, 1 beats 0 after all."""
    errors = np.zeros((8, 32))
    order = parse_preset("sequential,samples=32").schedule.order(0)
    errors[1, order[:16]] = 1 + np.linspace(0, 0.1, 16)
    errors[0, order[16:]] = 2 + np.linspace(0, 0.1, 16)
    errors[2:] = 3
    schedule = Schedule((16, 32), (1, 1))
    late = Schedule((16, 32), (8, 1))
    assert race(8, [[0, 1]], schedule, order, table_draw(errors)).errors.argmin() == 0
    assert race(8, [[0, 1], [*range(8)]], late, order, table_draw(errors)).errors.argmin() == 1
    verdicts = [Verdict(0, 1, 1.0, 16), Verdict(1, 2, 1.0, 24), Verdict(2, 0, 0.5, 32)]
    assert _settled(np.zeros(3), verdicts).tolist() == [0, 0, 0]
    assert _settled(np.array([3.0, 2, 1]), verdicts).tolist() == [3, 2, 3]


def test_beaten_texts_cost_nothing_more() -> None:
    """Only those that are left are drawn."""
    errors = np.random.default_rng(0).normal(size=(4, EXHAUSTIVE)) * 0.1 + np.array([[0.0], [0.0], [1.0], [2.0]])
    schedule, asked = PRESETS["sequential"].schedule, list[int]()
    outcome = race(4, [[0, 1, 2, 3]], schedule, schedule.order(0), table_draw(errors, asked))
    assert sum(asked) == outcome.samples.sum()
    assert outcome.samples[[2, 3]].tolist() == [16, 16]


# --- the stopping rule -----------------------------------------------------------------------------------------------


def test_critical_values_agree_with_simulated_brownian_motion() -> None:
    """The integral against 200,000 random walks over the same times."""
    rng = np.random.default_rng(0)
    times = np.array([n / (1 - n / EXHAUSTIVE) for n in looks(EXHAUSTIVE)[:-1]])
    steps = rng.normal(size=(200_000, len(times))) * np.sqrt(np.diff(times, prepend=0))
    highest = (steps.cumsum(1) / np.sqrt(times)).max(1)
    for error in (0.1, 0.05, 0.01):
        assert (highest > critical_value(error, EXHAUSTIVE)).mean() == pytest.approx(error, rel=0.1)


def differences(
    rng: np.random.Generator, items: int, effect: float, smooth: float, length: float, uneven: bool = False
) -> np.ndarray:
    """Paired differences (items, 1,024) with a mean of `effect` standard deviations over all samples.

    Their variance is to a share `smooth` a process that is correlated over `length` timesteps (exponentially), as
    differences are that follow from the noise level; the rest is new at each sample, as the noise is. `uneven`: both
    are largest at middle levels, by up to ten times.
    """
    correlation = np.exp(-1 / length)
    walk = rng.normal(size=(EXHAUSTIVE, items))
    for i in range(1, EXHAUSTIVE):
        walk[i] = correlation * walk[i - 1] + np.sqrt(1 - correlation**2) * walk[i]
    found = np.sqrt(smooth) * walk.T + np.sqrt(1 - smooth) * rng.normal(size=(items, EXHAUSTIVE))
    if uneven:
        found *= 0.1 + np.exp(-((levels(EXHAUSTIVE) - 0.4) ** 2) / 0.02)
    found = (found - found.mean(1, keepdims=True)) / found.std(1, keepdims=True)
    return found + effect


def sequential(differences: np.ndarray, schedule: Schedule) -> tuple[float, float]:
    """The share of items that the sequential schedule decides as all samples do, and the share of evaluations it takes."""
    critical = critical_value(1 - schedule.confidence, schedule.total)
    right, samples = 0, 0
    for block, part in enumerate(np.array_split(differences, 8)):
        order = schedule.order(block)
        undecided = np.ones(len(part), dtype=bool)
        for n in schedule.stages:
            seen = part[:, np.sort(order[:n])]
            apart = advantage(seen, schedule.total) if n < schedule.total else np.sign(seen.mean(1)) * np.inf
            decided = undecided & (np.abs(apart) > critical)
            samples += n * int(decided.sum())
            right += int((decided & (apart > 0)).sum())
            undecided &= ~decided
    return right / len(differences), samples / differences.size


# the share of the variance that is smooth, over how many samples; for each effect: agreement in %, share of evaluations
REACHED = {
    (0.0, 1): {0.05: (98, 0.77), 0.1: (99, 0.45), 0.2: (99, 0.2)},
    (0.5, 50): {0.05: (99, 0.65), 0.1: (99, 0.33), 0.2: (99, 0.13)},
    (0.9, 50): {0.05: (99, 0.41), 0.1: (99, 0.2), 0.2: (99, 0.085)},
    (1.0, 50): {0.05: (99, 0.28), 0.1: (99, 0.15), 0.2: (99, 0.075)},
    (1.0, 200): {0.05: (99, 0.2), 0.1: (99, 0.105), 0.2: (99, 0.055)},
}


@pytest.mark.parametrize(("smooth", "length"), sorted(REACHED))
def test_agreement_and_evaluations(smooth: float, length: float) -> None:
    """The table of docs/models.md: where the exhaustive answer is had at a fifth of the evaluations, and where not."""
    rng = np.random.default_rng(7)
    for effect, (agreement, share) in REACHED[smooth, length].items():
        for uneven in (False, True):
            items = differences(rng, 1600, effect, smooth, length, uneven)
            right, taken = sequential(items, PRESETS["sequential"].schedule)
            print(f"smooth {smooth:.0%} over {length}, effect {effect}, uneven {uneven}: {right:.2%} at {taken:.3f}")
            assert right >= agreement / 100
            assert taken <= share


def test_what_no_rule_could_do() -> None:
    """Where nothing is smooth, even Wald's test told the size of the effect needs more than a fifth for 99% at 0.05 sd.

    In time n/(1 − n/N) the sum of the first n of N is a Brownian motion; Wald's is the quickest of all tests of its
    drift, but for the little by which it passes its bound.
    """
    rng = np.random.default_rng(0)
    n = np.arange(1, EXHAUSTIVE)
    for effect, least in ((0.05, 0.40), (0.1, 0.16), (0.2, 0.04)):
        sums = differences(rng, 2000, effect, 0.0, 1).cumsum(1)[:, :-1]
        odds = 2 * effect * sums / (1 - n / EXHAUSTIVE)
        passed = np.abs(odds) > np.log(99)
        first = np.where(passed.any(1), passed.argmax(1), EXHAUSTIVE - 2)
        right = odds[np.arange(2000), first] > 0
        print(f"effect {effect}: {right.mean():.2%} at {(first + 1).mean() / EXHAUSTIVE:.3f}")
        assert right.mean() == pytest.approx(0.992, abs=0.008)
        assert (first + 1).mean() / EXHAUSTIVE >= least


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize(("smooth", "length"), [(0.0, 1), (0.5, 50), (1.0, 50)])
def test_error_rate_without_a_difference(confidence: float, smooth: float, length: float) -> None:
    """The hardest case, when all samples together show no difference: stopping for one side is as rare as stated."""
    schedule = parse_preset(f"sequential,confidence={confidence}").schedule
    none = differences(np.random.default_rng(3), 4000, 0.0, smooth, length)
    wrong, _ = sequential(none - 1e-9, schedule)
    assert wrong <= (1 - confidence) + 2.6 * np.sqrt((1 - confidence) * confidence / 4000)


def test_error_rate_of_many_rivals() -> None:
    """The best of eight, by a hair, is dropped no more often than stated."""
    rng = np.random.default_rng(5)
    schedule = parse_preset("sequential,samples=256,confidence=0.9").schedule
    dropped = 0
    for i in range(300):
        errors = rng.normal(size=(8, 256))
        errors -= errors.mean(1, keepdims=True)
        errors[3] -= 1e-6
        dropped += int(race(8, [list(range(8))], schedule, schedule.order(i), table_draw(errors)).errors.argmin() != 3)
    assert dropped / 300 <= 0.1 + 2.6 * np.sqrt(0.09 / 300)
