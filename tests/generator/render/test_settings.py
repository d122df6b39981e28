"""Qualities and devices: what is chosen, what is refused and why."""

import os
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.dataset.writer import WorldWriter
from generator.render import settings
from generator.render.settings import find_device, qualities, read_quality
from tests.conftest import refuse
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
    monkeypatch.setattr(settings, "_may_have_gpu", lambda: True)
    assert find_device("auto") == auto
    assert find_device(auto) == auto
    with pytest.raises(UserError, match="--device oneapi: Blender finds no such device here") as refused:
        find_device("oneapi")
    assert said in refused.value.message


def test_the_real_blender_is_asked() -> None:
    found = settings._devices()
    assert found["CPU"]
    if set(found) == {"CPU"}:
        assert find_device("auto") == "cpu"
        refuse(f"Blender finds no such device here (cpu: {found['CPU'][0]}", "gen render", "--device", "optix")


def test_the_cpu_needs_no_question_and_an_unknown_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_devices", lambda: pytest.fail("asked"))
    assert find_device("cpu") == "cpu"
    with pytest.raises(UserError, match="Unknown device 'cudda'; did you mean 'cuda'"):
        find_device("cudda")


def test_a_folder_of_another_device_is_not_continued(tmp_path: Path) -> None:
    begun = {"width": 64, "height": 64, "device": "optix"}
    with WorldWriter(tmp_path, begun):
        pass
    with (
        pytest.raises(UserError, match="it has device = optix, not cpu"),
        WorldWriter(tmp_path, {**begun, "device": "cpu"}),
    ):
        pass


def test_qualities_are_declared_from_the_fastest_to_the_best() -> None:
    assert list(qualities()) == ["draft", "standard", "reference"]
    assert [each.microseconds for each in qualities().values()] == sorted(q.microseconds for q in qualities().values())
    assert read_quality("reference").samples == 512
