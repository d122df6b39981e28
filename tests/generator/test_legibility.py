"""The measure of legibility: what its network sees, that it learns what is there and nothing else,
and the table."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import legibility
from bench.legibility import WORLDS, cut_out_objects, family, kinds, rows_of, table, world_of
from bench.naming import Crops, crop, learn, predict_names
from generator.dataset.reader import Dataset
from generator.inspection.legibility import LEGIBLE, SETTINGS, SIDES, Legibility, measured
from tests.generator.unrendered import write_world

ROOT = Path(__file__).parents[2]
SIDE = 32


def bars(n: int, seed: int) -> Crops:
    """Upright and lying bars, red and blue, anywhere on noise, cut out."""
    rng = np.random.default_rng(seed)
    crops, truths = [], rng.integers(2, size=(n, 2))
    for lying, blue in truths:
        image = rng.integers(60, 180, (SIDE, SIDE, 3), dtype=np.uint8)
        wide, high = (12, 4) if lying else (4, 12)
        left, top = rng.integers(0, SIDE - 12, 2)
        image[top : top + high, left : left + wide] = (20, 20, 230) if blue else (230, 20, 20)
        crops.append(crop(image, (left, top, left + wide, top + high)))
    return Crops(np.stack(crops), truths)


@given(*[st.integers(1, SIDE - 1)] * 2, *[st.integers(2, SIDE // 2)] * 2, st.integers(2, 4))
def test_a_crop_holds_the_whole_object_in_its_middle(
    left: int, top: int, wide: int, high: int, times: int
) -> None:
    """Wherever it is, and however many pixels the image has, an object fills the same share of its
    crop."""
    image = np.zeros((2 * SIDE, 2 * SIDE, 3), np.uint8)
    image[top : top + high, left : left + wide] = 255
    box = [times * x for x in (left, top, left + wide, top + high)]
    lit = crop(image.repeat(times, 0).repeat(times, 1), box)[..., 0] / 255
    assert lit.shape == (72, 72)
    middle = (
        np.abs(np.arange(72) - 35.5) / 72 * 1.5 * max(wide, high)
    )  # distance from the middle, pixels
    for axis, side in enumerate((wide, high)):
        inside, outside = middle < (side - 1) / 2, middle > (side + 1) / 2 + 0.5
        assert lit.mean(axis=axis)[inside].min(initial=1) > 0.9 * lit.mean(axis=axis).max()
        assert lit.mean(axis=axis)[outside].max(initial=0) < 0.1


@pytest.mark.full
def test_it_learns_what_is_shown_and_nothing_where_nothing_is() -> None:
    bars_image, other = bars(192, 0), bars(192, 1)
    right = predict_names(learn(bars_image, (2, 2), 6), other) == other.truths
    assert right.mean(axis=0).min() > 0.9

    noise = [
        np.random.default_rng(seed).integers(0, 255, bars_image.images.shape, dtype=np.uint8)
        for seed in (2, 3)
    ]
    right = (
        predict_names(
            learn(Crops(noise[0], bars_image.truths), (2, 2), 2), Crops(noise[1], other.truths)
        )
        == other.truths
    )
    assert right.mean(axis=0).max() < 0.7


def test_every_object_of_a_world_is_cut_out_with_its_names(tmp_path: Path) -> None:
    write_world(
        tmp_path, {"train": 6, "val": 2, "seen": 2, "partial": 2, "unseen": 2}, objects=(2, 3)
    )
    dataset, vocabulary = Dataset.open(tmp_path), family("clevr")
    names = kinds(vocabulary)
    assert [*names] == ["shape", "color", "material"]  # a crop cannot show sizes
    crops = cut_out_objects(dataset, vocabulary)
    names_of_objects = [
        (obj["category"], dict(obj["attributes"])["color"], dict(obj["attributes"])["material"])
        for row in dataset.world.scenes.to_pylist()
        for obj in row["objects"]
    ]
    assert [
        tuple(names[k][i] for k, i in zip(names, row, strict=True)) for row in crops.truths
    ] == names_of_objects
    plain = [
        int(row["scene_id"]) for row in dataset.world.scenes.to_pylist() for _ in row["objects"]
    ]
    assert (crops.images == np.array([[n % 256, n // 256, 0] for n in plain])[:, None, None]).all()


def test_each_world_is_the_one_that_its_rows_say() -> None:
    for world in WORLDS:
        vocabulary = family(world)
        assert world_of({"family": vocabulary.name, "tested": vocabulary.tested}) == world
        assert not vocabulary.paints


def test_the_docs_have_the_table() -> None:
    rows = table().splitlines()
    assert (
        2 < len(rows) < 2 + sum(len(kinds(family(world))) for world in WORLDS)
    )  # what is always named is left out
    for entry in measured():
        if min(entry.percent_at(side) for side in SIDES) < LEGIBLE:
            row = next(
                row
                for row in rows
                if row.startswith(f"| `{entry.family}`") and f"| {entry.kind} |" in row
            )
            assert f"{entry.name} {math.floor(entry.percent_at(SIDES[0]))}" in row
    assert "\n".join(rows) in (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")


def test_the_table_tells_means_and_what_is_not_legible(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = [
        Legibility(
            "clevr", "color", "shape", name, objects, dict(zip(SETTINGS, percents, strict=True))
        )
        for name, objects, percents in (
            ("cone", 30, (90, 99, 94.9, 99, 96, 99)),
            ("cube", 10, (100,) * 6),
        )
    ]
    monkeypatch.setattr(legibility, "measured", lambda: measured)
    row = table().splitlines()[-1]
    assert row == (
        "| `clevr` | shape | 92.5 / 99.2 | 96.2 / 99.2 | 97.0 / 99.2 | 64: cone 90; 128: cone 94 |"
    )


@pytest.mark.full
def test_rows_have_each_name_with_the_share_of_its_objects(tmp_path: Path) -> None:
    rows = [*rows_of(tmp_path, "clevr-relations", (12, 6), 1)]
    assert [(row["kind"], row["name"]) for row in rows] == [
        (kind, name) for kind, names in kinds(family("clevr-relations")).items() for name in names
    ]
    assert sum(row["objects"] for row in rows if row["kind"] == "color") == 18
    shares = np.array(
        [[row[setting] * row["objects"] / 100 for setting in SETTINGS] for row in rows]
    )
    np.testing.assert_allclose(shares, shares.round(), atol=0.02)
    written = [path.stat().st_mtime_ns for path in tmp_path.rglob("*.png")]
    assert len(written) == 3 * 12 + 6 * 6
    assert [*rows_of(tmp_path, "clevr-relations", (12, 6), 1)] == rows
    assert [path.stat().st_mtime_ns for path in tmp_path.rglob("*.png")] == written
