"""Engines and devices: what is chosen, what is refused and why, and that EEVEE shows what Cycles shows."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from generator.base.errors import UserError
from generator.dataset.reader import Dataset
from generator.render import settings as device
from generator.render.settings import Backend, find_backend
from tests.conftest import run_command, run_process
from tests.hostile_folder import make_hostile
from tests.paths import CHECKOUT

FAKE_BPY = """
class Device:
    def __init__(self, name, type):
        self.name, self.type = name, type

class Preferences:
    devices = [Device("a CPU", "CPU")]
    known = {known}

    def __setattr__(self, name, value):
        if value not in self.known:
            raise TypeError("enum not found")

    def get_devices_for_type(self, kind):
        return [Device("a GPU", kind)] * self.known[kind] + self.devices

class context:
    class preferences:
        addons = {{"cycles": type("Addon", (), {{"preferences": Preferences()}})}}

class types:
    Scene = object
"""


@pytest.mark.parametrize(
    ("known", "auto", "said"),
    [
        ({"OPTIX": 1, "CUDA": 1, "HIP": 0}, "optix", "optix: a GPU; cuda: a GPU; cpu: a CPU"),
        ({"OPTIX": 0, "CUDA": 0, "HIP": 2}, "hip", "hip: a GPU, a GPU; cpu: a CPU"),
        ({"CUDA": 0}, "cpu", "cpu: a CPU"),
    ],
)
def test_auto_takes_the_first_kind_of_gpu_that_blender_finds(
    known: dict[str, int], auto: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bpy.py").write_text(FAKE_BPY.format(known=known))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{CHECKOUT}")
    monkeypatch.setattr(device, "_may_have_gpu", lambda: True)
    assert find_backend("cycles", "auto") == Backend("cycles", auto)
    if auto != "cpu":
        assert find_backend("cycles", auto) == Backend("cycles", auto)
    with pytest.raises(UserError, match="--device oneapi: Blender finds no such device here") as refused:
        find_backend("cycles", "oneapi")
    assert said in refused.value.message


def test_the_real_blender_is_asked() -> None:
    found = device._probe("devices")
    assert found["CPU"]
    if set(found) == {"CPU"}:
        assert find_backend("cycles", "auto") == Backend()
        done = run_command("gen", "render", "--device", "optix")
        assert done.returncode == 2
        assert f"Blender finds no such device here (cpu: {found['CPU'][0]}" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_the_cpu_needs_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_probe", lambda what: pytest.fail(what))
    assert find_backend("cycles", "cpu") == Backend()
    monkeypatch.setattr(device, "_may_have_gpu", lambda: False)
    assert find_backend("cycles", "auto") == Backend()


@pytest.mark.parametrize(
    ("engine", "device", "said"),
    [
        ("evee", "auto", "Unknown engine 'evee'; did you mean 'eevee'"),
        ("cycles", "cudda", "Unknown device 'cudda'; did you mean 'cuda'"),
        ("eevee", "cpu", "--device cpu is for --engine cycles"),
    ],
)
def test_what_there_is_not_is_refused(engine: str, device: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        find_backend(engine, device)
    assert said in refused.value.message


def test_eevee_without_opengl_says_what_to_install(tmp_path: Path) -> None:
    env = {**os.environ, "__EGL_VENDOR_LIBRARY_FILENAMES": "/nowhere.json"}
    done = run_process("gen", "render", "--engine", "eevee", "--out", tmp_path / "x", env=env)
    assert done.returncode == 2
    assert "apt-get install libegl1 libgl1-mesa-dri" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "x").exists()


def test_a_folder_of_another_device_is_not_continued(rendered: Path, tmp_path: Path) -> None:
    from generator.dataset.writer import WorldWriter

    begun = {"width": 64, "height": 64, "engine": "cycles", "device": "optix"}
    with WorldWriter(tmp_path, begun):
        pass
    with (
        pytest.raises(UserError, match="it has device = optix, not cpu"),
        WorldWriter(tmp_path, {**begun, "device": "cpu"}),
    ):
        pass
    request = Dataset.open(rendered).world.manifest["request"]
    assert (request["engine"], request["device"] in device.DEVICES) == ("cycles", True)


RENDER = """
import sys
from generator.render.blender.stage import Stage
from generator.dataset.reader import Dataset
from generator.render.settings import Backend
from generator.render.settings import read_quality
from generator.scene.scene import Scene
from generator.vocabulary.schema import parse_vocabulary
root, out, engine, device = sys.argv[1:]
world = Dataset.open(root).world
stage = Stage(parse_vocabulary(world.vocabulary_text, "x"), read_quality("draft"), 48, 48, 2, Backend(engine, device))
stage.pose(Scene.from_json(world.scenes["scene"][0].as_py()))
stage.render(out).save(out)
"""


@pytest.mark.full
def test_eevee_shows_what_cycles_shows(rendered: Path, tmp_path: Path) -> None:
    images = []
    for engine, kind in (("cycles", "cpu"), ("eevee", "opengl-software")):
        path = tmp_path / f"{engine}.png"
        done = subprocess.run(
            [sys.executable, "-c", RENDER, str(rendered), str(path), engine, kind],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{done.stderr[-500:]}\nEEVEE needs libegl1 and libgl1-mesa-dri"
        with Image.open(path) as image:
            images.append(np.asarray(image.convert("RGB")).astype(float))
    error = ((images[0] - images[1]) ** 2).mean()
    assert error > 0
    assert 10 * np.log10(255**2 / error) > 28
    assert abs((images[0] - images[1]).mean()) < 4


@pytest.mark.full
def test_a_world_of_eevee_has_the_same_scenes_and_masks_and_the_same_bytes_again(tmp_path: Path) -> None:
    few = ["--scenes", "train=1,val=1,seen=1,partial=1,unseen=1", "--resolution", "48x48", "--quality", "draft"]
    for name, more in (
        ("cycles", []),
        ("eevee", ["--engine", "eevee"]),
        ("again", ["--engine", "eevee", "--workers", "1"]),
    ):
        done = run_command("gen", "render", *few, *more, "--with", "masks", "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    cycles, eevee, again = (Dataset.open(tmp_path / name).world for name in ("cycles", "eevee", "again"))
    assert eevee.digest == again.digest
    assert eevee.manifest["request"]["device"].startswith("opengl-")
    same = {path for path in cycles.sums if cycles.sums[path] == eevee.sums[path]}
    assert same == {path for path in cycles.sums if not path.startswith("images/")}
    assert run_command("gen", "verify", tmp_path / "eevee").returncode == 0
    assert "--engine eevee" in (tmp_path / "eevee" / "README.md").read_text(encoding="utf-8")


def test_nothing_is_imported_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = make_hostile(tmp_path)
    monkeypatch.chdir(tmp_path)
    device._probe("devices")
    assert not trace.exists()
