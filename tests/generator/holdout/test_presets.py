"""Presets fit their families, and the grid of PUG:SPARE stands in its published order."""

import csv

import pytest

from generator.holdout.designs.base import GRID
from generator.holdout.membership import arrangements
from generator.holdout.presets import preset_names, read_preset
from generator.holdout.request import draw_holdouts
from generator.vocabulary.schema import read_vocabulary
from tests.paths import SHARED

SPARE = SHARED / "data/pug_spare/labels.csv"


@pytest.mark.parametrize("name", preset_names())
def test_presets_fit_their_family(name: str) -> None:
    preset = read_preset(name)
    assert draw_holdouts(
        preset.holdout, preset.design, vocabulary=read_vocabulary(preset.family), block_seed=0
    )


@pytest.mark.skipif(
    not SPARE.exists(), reason="the labels of PUG:SPARE lie beside the project, and are not there"
)
def test_the_grid_stands_in_the_order_of_spare() -> None:
    """Row by row, in its own names, such as DeerStag and Red."""
    with SPARE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    preset = read_preset("spare")
    assert (preset.family, preset.scenes) == ("pug", GRID)
    assert {row["world_name"].lower() for row in rows} == set(preset.environments)
    grid = arrangements(read_vocabulary(preset.family).painted_with("color"), "color")
    assert [
        (
            (row["character_texture"], row["character_name"]),
            (row["character2_texture"], row["character2_name"]),
        )
        for row in rows
    ] == [
        tuple((value.title(), category.title().replace(" ", "")) for value, category in scene)
        for scene in grid
    ]
