"""Every split is drawn from before any gives two scenes more than another."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from generator.inspection.images.sample import sample_scenes

NAMES = st.tuples(st.sampled_from(["train", "val", "unseen", ""]))


@given(st.lists(NAMES, min_size=1, max_size=60), st.integers(1, 80), st.integers(0, 2**32))
def test_splits_are_drawn_from_evenly(names: list[tuple[str]], number: int, seed: int) -> None:
    splits = {f"{i:06d}": each for i, each in enumerate(names)}
    drawn = sample_scenes(splits, number, seed)
    assert drawn == sorted(set(drawn))
    assert len(drawn) == min(number, len(splits))
    taken, there = Counter(splits[scene_id] for scene_id in drawn), Counter(names)
    most = max(taken.values())
    assert all(taken[name] >= min(most - 1, there[name]) for name in there)
    assert drawn == sample_scenes(splits, number, seed)


def test_seeds_draw_other_scenes() -> None:
    splits = {f"{i:06d}": ("train",) for i in range(1000)}
    assert len({scene_id for seed in range(5) for scene_id in sample_scenes(splits, 10, seed)}) > 40


def test_all_are_drawn_in_time() -> None:
    splits = {f"{i:06d}": ("train",) for i in range(1000)}
    counts = Counter(scene_id for seed in range(200) for scene_id in sample_scenes(splits, 100, seed))
    assert len(counts) == 1000  # none can be sure to be spared
