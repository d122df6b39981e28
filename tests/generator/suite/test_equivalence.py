"""Equivalence of forms: two one-sided tests as statsmodels and scipy compute them, factors as
computed from the files by hand, and counts."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.stats import ttest_ind
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW, ttost_ind

from generator.dataset.reader import Dataset
from generator.suite.equivalence import ALPHA, compare_factors, compare_means
from generator.suite.factors import FACTORS, largest_difference, scene_factors, split_counts
from tests.conftest import refuse, succeed
from tests.generator.unrendered import write_texts, write_world

SCENES = {"train": 20, "val": 2, "seen": 4, "partial": 4, "unseen": 6}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("margin", [0.1, 0.5])
def test_both_tests_are_those_of_statsmodels(seed: int, margin: float) -> None:
    rng = np.random.default_rng(seed)
    first = rng.normal(0, 1, 60 + 7 * seed)
    second = rng.normal(0.1 * seed, 1 + seed / 5, 90)
    comparison = compare_means(first, second, margin)
    sizes = len(first), len(second)
    pooled = np.sqrt(
        sum((n - 1) * x.var(ddof=1) for n, x in zip(sizes, (first, second), strict=True))
        / (sum(sizes) - 2)
    )
    # statsmodels tests the first mean less the second.
    p, *_ = ttost_ind(second, first, -margin * pooled, margin * pooled, usevar="unequal")
    assert comparison.p == pytest.approx(p, rel=1e-6, abs=1e-12)
    means = CompareMeans(DescrStatsW(second), DescrStatsW(first))
    low, high = means.tconfint_diff(2 * ALPHA, usevar="unequal")
    assert comparison.low * pooled == pytest.approx(low)
    assert comparison.high * pooled == pytest.approx(high)
    # Two tests of scipy, each on samples that are shifted by the margin.
    low_p = ttest_ind(second + margin * pooled, first, equal_var=False, alternative="greater")
    high_p = ttest_ind(second - margin * pooled, first, equal_var=False, alternative="less")
    assert comparison.p == pytest.approx(max(low_p.pvalue, high_p.pvalue), abs=1e-12)
    # The test and the interval say the same.
    lies_within = -margin < comparison.low and comparison.high < margin
    assert (comparison.verdict == "equivalent") == lies_within


def test_verdicts() -> None:
    rng = np.random.default_rng(0)
    many, few = rng.normal(0, 1, 4000), rng.normal(0, 1, 10)
    assert compare_means(many[:2000], many[2000:]).verdict == "equivalent"
    assert compare_means(many[:2000], many[2000:] + 0.5).verdict == "different"
    assert compare_means(many[:2000], many[2000:] - 0.5).verdict == "different"
    assert compare_means(few[:5], few[5:]).verdict == "not shown"
    same = np.ones(5)
    assert compare_means(same, same).verdict == "equivalent"
    assert compare_means(same, same + 1).verdict == "different"


def test_half_of_forms_at_the_margin_or_less_pass_in_five_percent() -> None:
    """At the margin itself, the test is wrong in five percent of cases at most."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(1000):
        first, second = rng.normal(0, 1, 400), rng.normal(0.2, 1, 400)
        wrong += compare_means(first, second, 0.2).verdict == "equivalent"
    assert wrong < 75


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two datasets of one block that differ in the seed of the scenes."""
    roots = []
    for seed in (0, 1):
        root = tmp_path_factory.mktemp("forms") / "world"
        prepared = write_world(root, SCENES, seed=seed)
        write_texts(root, prepared)
        roots.append(root)
    return roots


def test_factors_are_those_of_the_files(worlds: list[Path]) -> None:
    world = Dataset.open(worlds[0]).world
    factors = scene_factors(world)
    assert list(factors) == list(FACTORS)
    rows = world.scenes.to_pylist()
    for number, row in enumerate(rows):
        first, second = row["objects"]
        with Image.open(worlds[0] / "world/images" / f"{row['scene_id']}.png") as image:
            gray = np.asarray(image.convert("RGB"), float) / 255 @ [0.2126, 0.7152, 0.0722]
        areas, contrasts, centres = [], [], []
        for object_ in (first, second):
            left, top, right, bottom = object_["amodal_box"]
            areas.append((right - left) * (bottom - top) / (64 * 48))
            contrasts.append(gray[max(top, 0) : bottom, max(left, 0) : right].std())
            centres.append(complex((left + right) / 2, (top + bottom) / 2))
        assert factors["objects"][number] == 2
        assert factors["area"][number] == pytest.approx(np.mean(areas))
        assert factors["contrast"][number] == pytest.approx(np.mean(contrasts))
        assert factors["distance"][number] == pytest.approx(abs(centres[0] - centres[1]) / 64)
        visible = (first["visible_fraction"] + second["visible_fraction"]) / 2
        assert factors["visibility"][number] == pytest.approx(visible)
        features = [{*object_["attributes"], object_["category"]} for object_ in (first, second)]
        assert factors["shared"][number] == len(features[0] & features[1]) / 4


def test_a_scene_and_its_twin_count_once(rendered: Path) -> None:
    world = Dataset.open(rendered).world
    rows = world.scenes.to_pylist()
    twins = sum(row["twin_of"] is not None for row in rows)
    assert twins
    assert {len(values) for values in scene_factors(world).values()} == {len(rows) - twins}


def test_counts_are_those_of_splits(worlds: list[Path]) -> None:
    dataset = Dataset.open(worlds[0])
    counts = split_counts(dataset)
    assert {split: of_split.scenes for split, of_split in counts.items()} == SCENES
    for of_split in counts.values():
        assert {sum(names.values()) for names in of_split.names.values()} == {2 * of_split.scenes}
    (other,) = [split_counts(Dataset.open(worlds[1]))]
    # The same block: values and objects are balanced up to one.
    for split in ("train", "unseen"):
        for role in ("values", "objects"):
            assert largest_difference(counts[split].names[role], other[split].names[role])[0] <= 1


def test_the_command_prints_both_tables(worlds: list[Path]) -> None:
    done = succeed("gen forms", *worlds, "--json")
    (comparison,) = json.loads(done.stdout)[""].values()
    factors = compare_factors(*(scene_factors(Dataset.open(root).world) for root in worlds))
    for name, expected in factors.items():
        assert comparison["factors"][name]["p"] == pytest.approx(expected.p)
        assert comparison["factors"][name]["verdict"] == expected.verdict
    printed = succeed("gen forms", worlds[0], worlds[0]).stdout
    assert "equal (5)" in printed
    assert printed.count("equivalent") + printed.count("not shown") == len(FACTORS)
    refuse("Expected two folders", "gen forms", worlds[0])
