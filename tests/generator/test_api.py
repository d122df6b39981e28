"""The functions for notebooks do what the commands do."""

from pathlib import Path

import pytest

from generator.api import describe, plan, render, render_again
from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from tests.conftest import succeed
from tests.generator.render.digests import files

SCENES = "train=12,val=1,seen=2,partial=2,unseen=2"


def test_a_plan_is_that_of_the_command(tmp_path: Path) -> None:
    planned = plan(
        tmp_path / "here", holdout="3x3", scenes=SCENES, resolution="64x64", seed=3, block_seed=1
    )
    there = tmp_path / "there"
    succeed(
        f"gen plan --holdout 3x3 --scenes {SCENES} --resolution 64x64 --seed 3 --block-seed 1 "
        f"--out {there}"
    )
    assert files(tmp_path / "here") == files(tmp_path / "there")
    assert sum(planned.counts().values()) == len(planned) == 19


def test_texts_are_those_of_the_command(copied: Path) -> None:
    benchmark = describe(copied, protocols=["binary"], name="mine", seed=2)
    assert set(benchmark.items["protocol"].to_pylist()) >= {"binary"}
    succeed("gen describe --protocol binary --name other --seed 2", copied)
    assert benchmark.texts.equals(Dataset.open(copied).benchmark("other").texts)
    assert describe(copied, protocols=["binary"], name="mine", seed=2).digest == benchmark.digest


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda root: plan(root, preset="bindsplit2026", objects=3),
            "--preset bindsplit2026 sets --objects itself",
        ),
        (lambda root: render(shard="1/2", exposed_negatives=True), "give it to `gen merge`"),
        (
            lambda root: render(out=root, holdout="none", exposed_negatives=True),
            "negatives, which such a benchmark",
        ),
        (
            lambda root: describe(root, preset="crepe2023", protocols=["binary"]),
            "--preset crepe2023 sets --protocol",
        ),
    ],
)
def test_mistakes_are_told_in_a_sentence(tmp_path: Path, call: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        call(tmp_path)  # type: ignore[operator]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_world_is_rendered_and_rendered_again(tmp_path: Path) -> None:
    pytest.importorskip("bpy")
    planned = plan(tmp_path / "world", scenes=SCENES, resolution="64x64")
    dataset = render(planned.root, quality="draft", device="cpu")
    assert dataset.world.image("000003").size == (64, 64)
    assert dataset.benchmark().manifest["scenes"]["train"] == 12
    rendered_again = render_again(
        planned.root, out=tmp_path / "again", outputs="masks", device="cpu"
    )
    assert rendered_again.world.mask("000003").shape == (64, 64)
    assert rendered_again.benchmark().texts.equals(dataset.benchmark().texts)
