"""`gen render --from`: the recorded scenes are rendered as they are, and the benchmarks come
along."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from generator.base.errors import UserError
from generator.base.files import read_json
from generator.dataset.reader import Dataset
from generator.render.rerender import _copy_benchmark
from tests.conftest import FEWEST, refuse, render_arguments, succeed


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("again") / "source"
    succeed(*render_arguments(root, *FEWEST, "--resolution", "64x48", "--pairs"))
    succeed("gen describe", root, "--protocol", "binary")
    return root


def render_again(source: Path, out: Path, *more: str) -> Dataset:
    succeed(
        "gen", "render", "--from", source, "--device", "cpu", "--workers", "1", "--out", out, *more
    )
    return Dataset.open(out)


def test_as_it_was_it_is_the_same_bytes(source: Path, tmp_path: Path) -> None:
    done, before = render_again(source, tmp_path / "same"), Dataset.open(source)
    assert done.world.sums == before.world.sums
    for name in before.benchmark_names():
        assert done.benchmark(name).sums == before.benchmark(name).sums


@pytest.mark.full
def test_larger_and_with_outputs_it_shows_the_same_scenes(source: Path, tmp_path: Path) -> None:
    root = tmp_path / "larger"
    done = render_again(
        source, root, "--resolution", "128x96", "--with", "masks", "--quality", "standard"
    )
    before = Dataset.open(source)
    rows, old = done.world.scenes.to_pylist(), before.world.scenes.to_pylist()
    for key in ("scene_id", "cluster_id", "twin_of", "scene", "relations"):
        assert [row[key] for row in rows] == [row[key] for row in old]
    assert {(row["width"], row["height"]) for row in rows} == {(128, 96)}
    for row, was in zip(rows, old, strict=True):
        for obj, earlier in zip(row["objects"], was["objects"], strict=True):
            assert all(
                abs(a - 2 * b) <= 2
                for a, b in zip(obj["amodal_box"], earlier["amodal_box"], strict=True)
            )
        image = np.asarray(done.world.image(row["scene_id"]).resize((64, 48))).astype(int)
        assert np.abs(image - np.asarray(before.world.image(row["scene_id"]))).mean() < 4
        assert done.world.mask(row["scene_id"]).shape == (96, 128)
    assert done.benchmark_names() == before.benchmark_names()
    succeed("gen verify", root)
    request = read_json(root / "world" / "manifest.json")["request"]
    assert (request["from"]["world"], request["from"]["width"], request["width"]) == (
        before.world.digest,
        64,
        128,
    )


@pytest.mark.full
def test_the_command_of_the_card_makes_it_again(source: Path, tmp_path: Path) -> None:
    done = render_again(source, tmp_path / "one", "--with", "boxes")
    card = (done.root / "README.md").read_text(encoding="utf-8")
    (line,) = [shlex.split(line) for line in card.splitlines() if line.startswith("gen render")]
    succeed(*line, cwd=done.root)
    rerendered = Dataset.open(tmp_path / "again")
    assert rerendered.world.sums == done.world.sums
    assert rerendered.benchmark_names() == done.benchmark_names()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--resolution", "64x64"], "has another aspect ratio than 64x48"),
    ],
)
def test_options_that_would_change_the_scenes_are_refused(
    source: Path, tmp_path: Path, more: list[str], message: str
) -> None:
    refuse(message, "gen render", "--from", source, "--out", tmp_path / "x", *more)
    assert not (tmp_path / "x").exists()


def test_into_itself_is_refused(source: Path) -> None:
    refuse(
        "choose another --out",
        "gen render",
        "--from",
        source,
        "--out",
        source,
        "--quality",
        "standard",
    )


def test_only_the_files_that_a_benchmark_lists_are_copied(copied: Path, tmp_path: Path) -> None:
    """A link in a received benchmark became a copy of a private file, which was then passed on."""
    (tmp_path / "key").write_text("private")
    dataset = Dataset.open(copied)
    (name,) = dataset.benchmark_names()
    folder = copied / "benchmarks" / name
    (folder / "extra.txt").symlink_to(tmp_path / "key")
    (folder / "own.py").write_text("")
    _copy_benchmark(dataset.benchmark(name), tmp_path / "new" / name, dataset.world)
    benchmark = dataset.benchmark(name)
    new = {path.name for path in (tmp_path / "new" / name).iterdir()}
    assert new == {*benchmark.sums, "SHA256SUMS", "manifest.json"}
    (folder / "texts.parquet").unlink()
    with pytest.raises(UserError, match=r"texts\.parquet is missing; restore it"):
        _copy_benchmark(dataset.benchmark(name), tmp_path / "other" / name, dataset.world)
    (folder / "texts.parquet").symlink_to(tmp_path / "key")
    with pytest.raises(UserError, match=r"texts\.parquet is a link"):
        _copy_benchmark(dataset.benchmark(name), tmp_path / "other" / name, dataset.world)
