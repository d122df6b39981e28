"""Worlds that hold out another kind than the tested one, kinds of the user's own among them."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from generator.dataset.reader import Dataset
from generator.vocabulary import parse_vocabulary
from tests.conftest import run_command

TOYS = """
extends = "clevr"
remove = ["objects.star", "objects.cross", "objects.crescent", "objects.arch", "objects.torus", "objects.hourglass"]
[kinds.material]
phrase = "made of {value}"
[attributes.material]
rubber = { synonyms = ["latex"] }
metal = { synonyms = ["steel"] }
chalk = { metallic = 0.0, roughness = 1.0, synonyms = ["plaster"] }
[attributes.finish]
plain = { specular = 0.5 }
waxed = { specular = 0.9 }
dusty = { specular = 0.0 }
"""
COUNTS = "train=20,val=2,seen=4,partial=4,unseen=4"


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of 34 scenes at 64x64 that holds out materials, and over it a benchmark that holds out finishes."""
    folder = tmp_path_factory.mktemp("toys")
    (folder / "toys.toml").write_text(TOYS, encoding="utf-8")
    look = ["--resolution", "64x64", "--quality", "draft", "--device", "cpu", "--scenes", COUNTS, "--out", "toys"]
    for command in (
        ["render", "--family", "toys.toml", "--holdout", "material:shape=2x2", *look],
        ["split", "toys", "--holdout", "finish:shape=2x2", "--name", "finish"],
        ["describe", "toys", "--benchmark", "material-shape-2x2-b0", "--name", "described"],
    ):
        done = run_command("gen", *command, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder / "toys"


def test_the_judge_proves_blocks_of_every_kind(toys: Path) -> None:
    done = run_command("gen", "verify", toys, "--json")
    assert done.returncode == 0, done.stderr
    assert {name: each["status"] for name, each in json.loads(done.stdout).items()} == dict.fromkeys(
        ("material-shape-2x2-b0", "finish", "described"), "clean"
    )


def test_texts_speak_of_the_kind_that_is_held_out(toys: Path) -> None:
    dataset = Dataset.open(toys)
    texts = [*dataset.benchmark("material-shape-2x2-b0").text_of.values()]
    assert all(" made of " in text for text in texts)
    others = [*dataset.benchmark("finish").text_of.values()]
    assert all(any(value in text for value in ("plain ", "waxed ", "dusty ")) for text in others)
    assert any((" and made of " not in text and " made of latex" in text) or " made of steel" in text or " made of plaster" in text for text in dataset.benchmark("described").text_of.values())  # fmt: skip


def test_a_scene_whose_values_agree_has_no_caption_in_the_grid(toys: Path) -> None:
    dataset = Dataset.open(toys)
    rows = {row["scene_id"]: row["objects"] for row in dataset.world.scenes.to_pylist()}
    alike = {
        scene for scene, things in rows.items() if len({dict(thing["attributes"])["finish"] for thing in things}) == 1
    }
    assert alike
    chosen = dataset.benchmark("finish")
    pooled = {row["item_id"] for row in chosen.items.to_pylist() if row["pool_id"] is not None}
    asked = {row["scene_id"] for row in chosen.candidates.to_pylist() if row["item_id"] in pooled}
    assert asked
    assert not asked & alike


def test_a_grid_shows_every_combination_that_the_world_has_and_frames_the_held_out(toys: Path, tmp_path: Path) -> None:
    done = run_command("gen", "preview", toys, "--grid", "--benchmark", "finish", "--out", tmp_path / "grid.png")
    assert done.returncode == 0, done.stderr
    dataset = Dataset.open(toys)
    held_out = {tuple(pair) for pair in dataset.benchmark("finish").holdout_block()["bindings"]}
    objects = [thing for row in dataset.world.scenes.to_pylist() for thing in row["objects"]]
    there = {(dict(thing["attributes"])["finish"], thing["category"]) for thing in objects}
    with Image.open(tmp_path / "grid.png") as sheet:
        pixels = np.asarray(sheet.convert("RGB"))
    vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "toys")
    side = sheet.width - 120 * len(vocabulary.objects)
    for i, value in enumerate(vocabulary.values("finish")):
        for j, thing in enumerate(vocabulary.objects):
            cell = pixels[60 + 120 * i : 172 + 120 * i, side + 120 * j : side + 112 + 120 * j]
            assert ((cell == 255).all(2).mean() > 0.5) == ((value, thing) not in there)
            above = pixels[58 + 120 * i, side + 120 * j + 56]
            assert (tuple(above) == (230, 90, 0)) == ((value, thing) in held_out)


def test_a_grid_takes_no_options_of_the_choice_by_chance(toys: Path) -> None:
    done = run_command("gen", "preview", toys, "--grid", "--n", "3")
    assert done.returncode == 2
    assert "leave --split, --n and --seed out" in done.stderr
