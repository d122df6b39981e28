"""Values that follow from their place are named, and chance is not."""

from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from generator.judge.foreign.positional_shortcuts import sign_test
from tests.generator.judge.foreign.label_files import SPAR, grid, judged, rows, said, spar


def test_a_texture_that_the_place_gives_away(tmp_path: Path) -> None:
    found = judged(tmp_path / "spar.csv", spar([("blue", "red"), ("grass", "stone")]), *SPAR)
    shortcuts = said(found, "positional shortcut")
    told = {tuple(what.split(" (")[0].split(": ")[1].split()[1:]) for what in shortcuts}
    assert ("blue", "is", "always", "first", "and", "not", "second") in told
    assert ("stone", "is", "always", "right", "and", "not", "left") in told
    assert len(shortcuts) == 8  # four textures, told by order of mention and by position; no animal
    assert "20 of 20 arrangements" in shortcuts[0]
    assert "There is one split" in found["notes"][0]


def test_textures_in_both_orders_are_no_shortcut(tmp_path: Path) -> None:
    both = [("blue", "red"), ("grass", "stone"), ("red", "blue"), ("stone", "grass")]
    found = judged(tmp_path / "spar.csv", spar(both), *SPAR)
    assert (found["status"], found["findings"]) == ("clean", [])


def test_one_arrangement_rendered_often_is_no_evidence(tmp_path: Path) -> None:
    found = judged(tmp_path / "a.csv", rows("label", *["red cube and blue cone"] * 500))
    assert found["findings"] == []
    assert {(lean["there"], lean["arrangements"]) for lean in found["places"]} == {(1, 1)}


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_sign_test_is_the_exact_one(one: int, other: int) -> None:
    expected = binomtest(one, one + other).pvalue if one + other else 1.0
    assert sign_test(one, other) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_random_splits_of_a_grid_show_no_shortcut(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Of designs without a shortcut at most 1 in 100 may be reported as one; these, drawn by seed, are not."""
    colors, animals = grid()
    scenes = [(*pair, *paint) for pair in permutations(animals[:5], 2) for paint in permutations(colors[:4], 2)]
    lines = [
        f"{x} {a} and {y} {b},{'train' if (n * 7919 + seed) % 5 else 'test'}" for n, (a, b, x, y) in enumerate(scenes)
    ]
    found = judged(tmp_path_factory.mktemp("a") / "a.csv", rows("label,split", *lines))
    assert "positional shortcut" not in found["faults"]
