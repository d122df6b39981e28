"""Exchanges of objects make combinations equally frequent, and keep all other counts."""

from collections import Counter

import pytest

from generator.base.streams import Stream
from generator.plan.even_bindings import EvenBindings

VALUES, OBJECTS = ("red", "blue", "gray", "green"), ("cube", "cone", "ball", "star")


def drawn_scenes(n: int, objects: int, seed: int) -> list[tuple[tuple[str, str], ...]]:
    """Scenes whose values and objects are balanced at each place, but not their combinations."""
    stream = Stream("even bindings", seed)
    columns = []
    for _ in range(objects):
        values, categories = stream.balanced(VALUES, n), stream.balanced(OBJECTS, n)
        columns.append(list(zip(values, categories, strict=True)))
    return list(zip(*columns, strict=True))


def place_counts(scenes: list[tuple[tuple[str, str], ...]]) -> Counter[tuple[int, str]]:
    return Counter(
        (place, name) for scene in scenes for place, binding in enumerate(scene) for name in binding
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("objects", [2, 3])
def test_combinations_become_equal_and_names_stay(seed: int, objects: int) -> None:
    scenes = drawn_scenes(160, objects, seed)
    before = place_counts(scenes)
    EvenBindings(with_twins=False).even_out(scenes, lambda _: True, Stream("test", seed))
    bindings = Counter(binding for scene in scenes for binding in scene)
    assert set(bindings.values()) == {160 * objects // 16}
    assert place_counts(scenes) == before


def test_twins_are_counted_too() -> None:
    scenes = drawn_scenes(160, 2, 5)
    EvenBindings(with_twins=True).even_out(scenes, lambda _: True, Stream("test"))
    together: Counter[tuple[str, str]] = Counter()
    for (value, category), (other_value, other_category) in scenes:
        together.update([(value, category), (other_value, other_category)])
        together.update([(value, other_category), (other_value, category)])
    assert set(together.values()) == {160 * 4 // 16}


def test_scenes_stay_in_their_split() -> None:
    """Red cubes are held out: no exchange makes one."""
    scenes = [scene for scene in drawn_scenes(200, 2, 3) if ("red", "cube") not in scene]

    def fits(scene: tuple[tuple[str, str], ...]) -> bool:
        return ("red", "cube") not in scene

    spread_before = spread(scenes)
    EvenBindings(with_twins=False).even_out(scenes, fits, Stream("test"))
    assert all(fits(scene) for scene in scenes)
    assert spread(scenes) < spread_before


def spread(scenes: list[tuple[tuple[str, str], ...]]) -> int:
    counts = Counter(binding for scene in scenes for binding in scene)
    return sum(n * n for n in counts.values())


def test_earlier_scenes_are_counted_and_stay() -> None:
    first, second = drawn_scenes(80, 2, 1), drawn_scenes(80, 2, 2)
    balance = EvenBindings(with_twins=False)
    balance.even_out(first, lambda _: True, Stream("test"))
    earlier = list(first)
    balance.even_out(second, lambda _: True, Stream("test", 2))
    assert first == earlier
    assert set(Counter(binding for scene in [*first, *second] for binding in scene).values()) == {
        20
    }
