"""The measure of legibility: what its classifier sees, that it learns what is there and nothing else, and that
images show it."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from bench.legibility import family, render, singles
from bench.naming import Shown, learn, named, report, windows
from generator.vocabulary.schema import Vocabulary, parse_vocabulary

PUG = family("pug", None)
SIDE = 32


def some(objects: int, values: int) -> Vocabulary:
    """The family with the first of its objects and values alone."""
    table = tomllib.loads(PUG.toml())
    table["objects"] = dict(list(table["objects"].items())[:objects])
    table["attributes"]["color"] = dict(list(table["attributes"]["color"].items())[:values])
    return parse_vocabulary(tomli_w.dumps(table), "some")


def bars(n: int, seed: int) -> Shown:
    """Upright and lying bars, red and blue, anywhere on noise."""
    rng = np.random.default_rng(seed)
    images = rng.integers(60, 180, (n, SIDE, SIDE, 3), dtype=np.uint8)
    things, values = rng.integers(2, size=(2, n))
    starts = rng.integers(0, SIDE - 12, (n, 2))
    sizes = np.where(things[:, None], (4, 12), (12, 4))
    boxes = np.hstack([starts, starts + sizes])
    for image, (left, top, right, bottom), value in zip(images, boxes, values, strict=True):
        image[top:bottom, left:right] = (20, 20, 230) if value else (230, 20, 20)
    return Shown(images, boxes, things, values)


@given(st.lists(st.tuples(*[st.integers(0, SIDE - 1)] * 2, *[st.integers(1, SIDE // 2)] * 2), min_size=1, max_size=5))
def test_windows_hold_the_whole_object(places: list[tuple[int, int, int, int]]) -> None:
    boxes = np.array([(x, y, min(x + wide, SIDE), min(y + high, SIDE)) for x, y, wide, high in places])
    images = np.zeros((len(boxes), SIDE, SIDE, 3), np.uint8)
    for image, (left, top, right, bottom) in zip(images, boxes, strict=True):
        image[top:bottom, left:right] = 255
    zeros = np.zeros(len(boxes), int)
    seen = windows(Shown(images, boxes, zeros, zeros), np.random.default_rng(0))
    assert seen.shape == (len(boxes), SIDE // 2, SIDE // 2, 3)
    np.testing.assert_array_equal(seen.any(-1).sum((1, 2)), (boxes[:, 2:] - boxes[:, :2]).prod(1))


def test_it_learns_what_is_shown_and_nothing_where_nothing_is() -> None:
    shown, other = bars(192, 0), bars(192, 1)
    things, values = named(learn(shown, (2, 2), 6), other)
    assert (things == other.things).mean() > 0.9
    assert (values == other.values).mean() > 0.9

    blank = shown._replace(images=np.random.default_rng(2).integers(0, 255, shown.images.shape, dtype=np.uint8))
    unseen = other._replace(images=np.random.default_rng(3).integers(0, 255, other.images.shape, dtype=np.uint8))
    things, _ = named(learn(blank, (2, 2), 2), unseen)
    assert (things == other.things).mean() < 0.7


def test_the_report_counts_each_pair_of_shown_and_named() -> None:
    lines = report(["fox", "wolf"], np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])).splitlines()
    assert lines[0] == "75.0% of 4"
    assert [line.split() for line in lines[1:]] == [["fox", "wolf"], ["fox", "2", "1"], ["wolf", "0", "1"]]


def test_each_half_shows_everything_equally_often() -> None:
    scenes = singles(PUG, 4)
    half = len(scenes) // 2
    for part in (scenes[:half], scenes[half:]):
        shown = [(scene.environment, scene.objects[0][0], scene.objects[0][1]["color"]) for scene in part]
        assert len(shown) == 2 * len(set(shown)) == 2 * 8 * 12 * 8


@pytest.mark.full
def test_animals_and_colors_are_told_apart_on_unseen_images(tmp_path: Path) -> None:
    vocabulary = some(4, 4)
    shown = render(vocabulary, singles(vocabulary, 4), 96, tmp_path)
    half = len(shown.images) // 2
    first, second = (Shown(*(each[part] for each in shown)) for part in (slice(half), slice(half, None)))
    things, values = named(learn(first, (4, 4), 30), second)
    assert (things == second.things).mean() > 0.5  # chance is 0.25
    assert (values == second.values).mean() > 0.9
