"""Real renders in real processes: same bytes whatever the workers, kills and interruptions."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from generator.base.errors import UserError
from generator.base.registry import resource
from generator.dataset.reader import Dataset
from generator.render.run import check_space, seconds_a_scene
from generator.vocabulary.families import vocabulary_text
from tests.conftest import FEW, FEWEST, refuse, render_arguments, run_process, succeed
from tests.generator.render.digests import files


def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
    code = "import sys; sys.argv[0] = 'gen'; from generator.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments[1:])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # a shell that starts the tests in the background has them, and all they start, ignore
        # Ctrl-C
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for_images(root: Path, n: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while len(list(root.glob("world/images/[0-9]*.png"))) < n:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.full
def test_two_workers_and_another_hash_seed_give_the_same_files(
    undisturbed: Path, tmp_path: Path
) -> None:
    env = {**os.environ, "PYTHONHASHSEED": "7"}
    done = run_process(*render_arguments(tmp_path / "two", *FEW, "--workers", "2"), env=env)
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "two") == files(undisturbed)
    assert len(files(undisturbed)) > 28


@pytest.mark.parametrize(
    ("stop", "stops"),
    [(signal.SIGINT, (7,)), pytest.param(signal.SIGKILL, (3, 11), marks=pytest.mark.full)],
)
def test_a_stopped_render_continues_to_the_same_files(
    undisturbed: Path, tmp_path: Path, stop: signal.Signals, stops: tuple[int, ...]
) -> None:
    root = tmp_path / "stopped"
    for images in stops:
        process = start(*render_arguments(root, *FEW))
        wait_for_images(root, images, process)
        process.send_signal(stop)
        _, errors = process.communicate(timeout=60)
        if stop == signal.SIGINT:
            assert process.returncode == 130
            assert b"run the same command again to continue" in errors
        else:  # an image is torn, as when the power fails
            image = min((root / "world/images").glob("[0-9]*.png"))
            image.write_bytes(image.read_bytes()[:50])
        refuse("is unfinished", "gen verify", root)
    done = succeed(*render_arguments(root, *FEW))
    if stop == signal.SIGINT:  # a kill may lose all that was rendered in its last second
        assert "images are already rendered" in done.stderr
    assert files(root) == files(undisturbed)


@pytest.mark.full
def test_a_scene_that_cannot_be_placed_is_recorded_as_failed(tmp_path: Path) -> None:
    text = (
        resource("scenes/clevr.toml")
        .read_text(encoding="utf-8")
        .replace("min_pixels = 200 ", "min_pixels = 90000 ")
    )
    (tmp_path / "blind.toml").write_text(text)
    refuse(
        "leaves no rendered scene for train, val, seen, partial, unseen",
        *render_arguments(tmp_path / "out", *FEWEST, "--family", tmp_path / "blind.toml"),
    )
    rows = Dataset.open(tmp_path / "out").world.scenes.to_pylist()
    assert {row["status"] for row in rows} == {"failed"}
    assert "lessen [placement] min_pixels or min_visible" in rows[0]["reason"]


RENDER_FROM_ROW = """
import sys
from generator.render.blender.stage import Stage
from generator.dataset.outputs import png
from generator.dataset.reader import Dataset
from generator.render.settings import read_quality
from generator.scene.scene import Scene
from generator.vocabulary.schema import parse_vocabulary
from pathlib import Path
root, out = sys.argv[1:]
world = Dataset.open(root).world
stage = Stage(parse_vocabulary(world.vocabulary_text, "x"), read_quality("draft"), width=64, height=64, threads=5)
for row in reversed(world.scenes.to_pylist()[:6]):
    stage.pose(Scene.from_json(row["scene"]))
    path = Path(out) / (row["scene_id"] + ".png")
    path.write_bytes(png(stage.render(str(path), [tuple(obj["amodal_box"]) for obj in row["objects"]])))
"""


def test_any_image_can_be_rendered_again_from_its_row(undisturbed: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", RENDER_FROM_ROW, undisturbed, tmp_path],
        check=True,
        capture_output=True,
    )
    paths = sorted(tmp_path.glob("*.png"))
    assert len(paths) == 6
    for path in paths:
        assert (
            path.read_bytes() == Dataset.open(undisturbed).world.image_path(path.stem).read_bytes()
        )


def test_images_hold_no_time_and_nothing_but_pixels(undisturbed: Path) -> None:
    path = Dataset.open(undisturbed).world.image_path("000000")
    with Image.open(path) as image:
        assert image.info == {}
        assert (image.size, image.mode) == ((64, 64), "RGB")
        assert np.asarray(image).std() > 5


@pytest.mark.parametrize(
    ("bpy", "words"),
    [
        (
            'raise ImportError("libXi.so.6: cannot open shared object file: No such file or '
            'directory")',
            ["libXi.so.6 is missing: apt-get install libx11-6"],
        ),
        (
            'import os; os.write(2, b"illegal instruction"); os.abort()',
            ["Rendering cannot start", "illegal instruction"],
        ),
    ],
)
def test_a_blender_that_cannot_start_is_explained(
    tmp_path: Path, bpy: str, words: list[str]
) -> None:
    (tmp_path / "bpy.py").write_text(bpy)
    done = run_process(
        *render_arguments(tmp_path / "out", *FEW), env={**os.environ, "PYTHONPATH": str(tmp_path)}
    )
    assert done.returncode == 2
    assert all(word in done.stderr for word in words)
    assert "Traceback" not in done.stderr


def request(family: str = "clevr", size: int = 64, **more: Any) -> dict[str, Any]:
    return {
        "vocabulary": vocabulary_text(family),
        "quality": {"name": "standard"},
        "width": size,
        "height": size,
        "outputs": [],
        "objects": (2, 2),
        **more,
    }


def test_landscapes_take_longer_and_no_image_is_free() -> None:
    clevr, pug = (
        [seconds_a_scene(request(name, size)) for size in (0, 64, 224)] for name in ("clevr", "pug")
    )
    assert 0 < clevr[0] == pug[0] < clevr[1] < clevr[2] < pug[2] / 2


def test_a_disk_without_room_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    check_space(tmp_path / "new", 10, request())
    with pytest.raises(UserError, match="free some space"):
        check_space(tmp_path / "new", 10**12, request())
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("sign", ["shards/000000.tar", "manifest.json"])
def test_a_world_whose_scenes_are_all_rendered_needs_no_room_for_images(
    tmp_path: Path, sign: str
) -> None:
    (tmp_path / "world" / sign).parent.mkdir(parents=True)
    (tmp_path / "world" / sign).touch()
    check_space(tmp_path, 10**12, request())
