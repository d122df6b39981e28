"""The functions for notebooks do what the commands do."""

from pathlib import Path

import pytest

from generator.api import describe, plan, render, render_again
from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from tests.conftest import run_command

SCENES = "train=12,val=1,seen=2,partial=2,unseen=2"


def files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def test_a_plan_is_that_of_the_command(tmp_path: Path) -> None:
    planned = plan(tmp_path / "here", holdout="3x3", scenes=SCENES, resolution="64x64", seed=3, block_seed=1)
    options = ("--scenes", SCENES, "--resolution", "64x64", "--seed", "3", "--block-seed", "1")
    done = run_command("gen", "plan", "--holdout", "3x3", *options, "--out", tmp_path / "there")
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "here") == files(tmp_path / "there")
    assert sum(planned.counts().values()) == len(planned) == 19
    assert (
        plan(tmp_path / "here", holdout="3x3", scenes=SCENES, resolution="64x64", seed=3, block_seed=1).request
        == planned.request
    )


def test_texts_are_those_of_the_command(copied: Path) -> None:
    benchmark = describe(copied, protocols=["binary"], name="mine", seed=2)
    assert set(benchmark.items["protocol"].to_pylist()) >= {"binary"}
    done = run_command("gen", "describe", copied, "--protocol", "binary", "--name", "other", "--seed", "2")
    assert done.returncode == 0, done.stderr
    assert benchmark.texts.equals(Dataset.open(copied).benchmark("other").texts)
    assert describe(copied, protocols=["binary"], name="mine", seed=2).digest == benchmark.digest


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda root: plan(root, preset="bindsplit2026", objects=3), "--preset bindsplit2026 sets --objects itself"),
        (lambda root: plan(root, resolution="64"), "resolution"),
        (lambda root: render(root, scenes=3), "is planned already, so --scenes has no effect"),
        (lambda root: render(root, address="10.0.0.1:6379"), "add --farm ray"),
        (lambda root: render(shard="1/2", exposed_negatives=True), "give it to `gen merge`"),
        (lambda root: render_again(root / "nowhere"), "is no dataset"),
        (lambda root: describe(root, preset="crepe2023", protocols=["binary"]), "--preset crepe2023 sets --protocol"),
        (lambda root: describe(root, protocols=["binari"]), "did you mean 'binary'"),
    ],
)
def test_mistakes_are_told_in_a_sentence(tmp_path: Path, call: object, said: str) -> None:
    with pytest.raises(UserError, match=said):
        call(tmp_path)  # type: ignore[operator]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_world_is_rendered_and_rendered_again(tmp_path: Path) -> None:
    pytest.importorskip("bpy")
    planned = plan(tmp_path / "world", scenes=SCENES, resolution="64x64")
    dataset = render(planned.root, quality="draft", device="cpu")
    assert dataset.world.image("000003").size == (64, 64)
    assert dataset.benchmark().manifest["scenes"]["train"] == 12
    again = render_again(planned.root, out=tmp_path / "again", outputs="masks", device="cpu")
    assert again.world.mask("000003").shape == (64, 64)
    assert again.benchmark().texts.equals(dataset.benchmark().texts)
