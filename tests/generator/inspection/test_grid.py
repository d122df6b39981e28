"""`gen preview --grid`: every combination, held-out ones framed."""

from pathlib import Path

import numpy as np
from PIL import Image

from generator.dataset.reader import Dataset
from generator.vocabulary.schema import parse_vocabulary
from tests.conftest import succeed


def test_a_grid_shows_every_combination_that_the_world_has_and_frames_the_held_out(
    rendered: Path, tmp_path: Path
) -> None:
    succeed("gen preview --grid", rendered, "--out", tmp_path / "grid.png")
    dataset = Dataset.open(rendered)
    held_out = {tuple(pair) for pair in dataset.benchmark().holdout_block()["bindings"]}
    objects = [thing for row in dataset.world.scenes.to_pylist() for thing in row["objects"]]
    there = {(dict(thing["attributes"])["color"], thing["category"]) for thing in objects}
    with Image.open(tmp_path / "grid.png") as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
    vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "vocabulary")
    side = sheet.width - 120 * len(vocabulary.objects)
    for i, value in enumerate(vocabulary.values("color")):
        for j, thing in enumerate(vocabulary.objects):
            cell = pixels[60 + 120 * i : 172 + 120 * i, side + 120 * j : side + 112 + 120 * j]
            assert ((cell == 255).all(2).mean() > 0.5) == ((value, thing) not in there)
            above = pixels[58 + 120 * i, side + 120 * j + 56]
            assert (tuple(above) == (230, 90, 0)) == ((value, thing) in held_out)
