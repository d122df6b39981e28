"""Worlds of the family in docs/examples that hold out another kind than the tested one, one of its own among them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from generator.dataset.errors import UserError
from generator.dataset.reader import Dataset
from generator.vocabulary.families import shipped_families
from generator.vocabulary.schema import parse_vocabulary, read_vocabulary
from generator.vocabulary.starter import write_starter
from tests.conftest import run_command
from tests.paths import CHECKOUT

EXAMPLE = CHECKOUT / "docs" / "examples" / "toys.toml"
TOYS = f"""
extends = "{EXAMPLE}"
remove = ["objects.star", "objects.cross", "objects.crescent", "objects.arch", "objects.torus", "objects.hourglass"]
"""
COUNTS = "train=20,val=2,seen=4,partial=4,unseen=4"


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of 34 scenes at 64x64 that holds out materials, and over it a benchmark that holds out finishes."""
    folder = tmp_path_factory.mktemp("toys")
    (folder / "few.toml").write_text(TOYS, encoding="utf-8")
    look = [
        "--resolution",
        "64x64",
        "--quality",
        "draft",
        "--device",
        "cpu",
        "--workers",
        "1",
        "--scenes",
        COUNTS,
        "--out",
        "toys",
    ]
    for command in (
        ["render", "--family", "few.toml", "--holdout", "material:shape=2x2", *look],
        ["split", "toys", "--holdout", "finish:shape=2x2", "--block-seed", "8", "--name", "finish"],
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
    assert all(any(value in text for value in ("plain ", "glazed ", "frosted ")) for text in others)
    described = " ".join(dataset.benchmark("described").text_of.values())
    assert any(f" made of {synonym}" in described for synonym in ("latex", "steel", "tin"))


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


SWATCHES = """
extends = "clevr"
remove = ["objects.cube", "objects.star", "objects.cross", "objects.crescent", "objects.arch", "objects.torus", "objects.heart",
    "objects.cylinder", "objects.pyramid", "attributes.color.gray", "attributes.color.brown", "attributes.color.purple",
    "attributes.color.cyan", "attributes.color.yellow", "attributes.material.metal", "attributes.size.small"]
"""


def test_swatches_show_each_value_and_each_object(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SWATCHES)
    done = run_command("gen", "vocab", "show", "mine.toml", "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / done.stdout.strip()) as sheet:
        pixels = np.asarray(sheet.convert("RGB")).astype(int)
    row, column = 188, 138  # a heading, a swatch and its label; a swatch and a gap
    middles = [pixels[60 + 64, 10 + column * i + 64] for i in range(3)]
    assert [int(middle.argmax()) for middle in middles] == [0, 2, 1]  # red, blue, green
    objects = pixels[60 + 3 * row : 188 + 3 * row]
    assert all((objects[:, 10 + column * i : 138 + column * i].std((0, 1)) > 5).all() for i in range(3))
    assert (objects[:, 10 + column * 3 :] == 255).all()


@pytest.mark.parametrize("family", sorted(shipped_families()))
def test_a_starter_is_a_family(tmp_path: Path, family: str) -> None:
    out = write_starter(tmp_path / "mine.toml", family)
    mine, base = read_vocabulary(str(out)), read_vocabulary(family)
    assert sum(map(len, mine.attributes.values())) == sum(map(len, base.attributes.values())) + 1
    with pytest.raises(UserError, match="exists; choose another name"):
        write_starter(out, family)


@pytest.mark.parametrize("family", sorted(shipped_families()))
def test_all_that_a_starter_proposes_is_valid(tmp_path: Path, family: str) -> None:
    out, base = write_starter(tmp_path / "mine.toml", family), read_vocabulary(family)
    out.write_text(re.sub(r"^# (?=\[|[a-z]+ = )", "", out.read_text(), flags=re.MULTILINE))
    mine = read_vocabulary(str(out))
    assert mine.attributes.keys() - base.attributes.keys() == (set() if family == "clevr-original" else {"finish"})
    assert mine.objects.keys() - base.objects.keys() == {"spindle"}
    assert len(base.objects.keys() - mine.objects.keys()) == 1
    assert ("near" in mine.relations) == (base.placement.orders == "planned")
    assert len(mine.phrases.keys() - base.phrases.keys()) == (family != "pug")
