"""`gen preview --grid`: every combination, held-out ones framed."""

from pathlib import Path

import numpy as np
from PIL import Image

from generator.dataset.reader import Dataset
from generator.inspection.sheets import draw_grid
from generator.vocabulary.schema import parse_vocabulary
from tests.conftest import succeed
from tests.generator.unrendered import write_texts, write_world


def test_a_grid_shows_every_combination_that_the_world_has_and_frames_the_held_out(
    rendered: Path, tmp_path: Path
) -> None:
    succeed("gen preview --grid", rendered, "--out", tmp_path / "grid.png")
    dataset = Dataset.open(rendered)
    held_out = {tuple(pair) for pair in dataset.benchmark().holdout_block()["bindings"]}
    objects = [obj for row in dataset.world.scenes.to_pylist() for obj in row["objects"]]
    there = {(dict(obj["attributes"])["color"], obj["category"]) for obj in objects}
    with Image.open(tmp_path / "grid.png") as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
    vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "vocabulary")
    side = sheet.width - 120 * len(vocabulary.objects)
    for i, value in enumerate(vocabulary.values("color")):
        for j, object_name in enumerate(vocabulary.objects):
            cell = pixels[60 + 120 * i : 172 + 120 * i, side + 120 * j : side + 112 + 120 * j]
            assert ((cell == 255).all(2).mean() > 0.5) == ((value, object_name) not in there)
            above = pixels[58 + 120 * i, side + 120 * j + 56]
            assert (tuple(above) == (230, 90, 0)) == ((value, object_name) in held_out)


def test_a_grid_of_relations_frames_every_held_out_triple(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    scenes = {"train": 30, "val": 2, "seen": 6, "unseen": 6}
    write_texts(folder, write_world(folder, scenes, block="relation:pair=1x2"))
    holdout = Dataset.open(folder).benchmark().holdout_block()
    with Image.open(draw_grid(folder, None, tmp_path / "grid.png")) as sheet:
        framed = (np.asarray(sheet) == (230, 90, 0)).all(-1)
    # A tile has 112 pixels a side; its frame is 4 wide and lies outside.
    frames = framed.sum() / (120**2 - 112**2)
    assert len(holdout["triples"]) >= 4
    assert abs(frames - len(holdout["triples"])) < 0.01
