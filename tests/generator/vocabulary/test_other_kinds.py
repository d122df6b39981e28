"""Worlds of the family in docs/examples that hold out another kind than the tested one, one of its own among them."""

import json
from pathlib import Path

import pytest

from generator.dataset.reader import Benchmark, Dataset
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


def _texts(benchmark: Benchmark, protocol: str) -> list[str]:
    items = set(benchmark.items_of(protocol)["item_id"].to_pylist())
    rows = benchmark.candidates.to_pylist()
    found = [benchmark.text_of[row["text_id"]] for row in rows if row["item_id"] in items]
    assert found
    return found


def test_texts_speak_of_the_kind_that_is_held_out(toys: Path) -> None:
    dataset = Dataset.open(toys)
    texts = _texts(dataset.benchmark("material-shape-2x2-b0"), "binary")
    assert all(" made of " in text for text in texts)
    others = _texts(dataset.benchmark("finish"), "binary")
    assert all(any(value in text for value in ("plain ", "glazed ", "frosted ")) for text in others)
    described = [text for text in dataset.benchmark("described").text_of.values() if "pewter" in text]
    assert described
    assert all("made of pewter" in text for text in described)  # never an adjective


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
