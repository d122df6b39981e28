"""Qualities and devices: what is chosen, what is refused and why."""

import os
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.render import settings
from generator.render.farm import Farm
from generator.render.settings import find_device, find_gpus, qualities
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
    ("known", "auto", "message"),
    [
        ({"OPTIX": 1, "CUDA": 1, "HIP": 0}, "optix", "optix: a GPU; cuda: a GPU; cpu: a CPU"),
        ({"OPTIX": 0, "CUDA": 0, "HIP": 2}, "hip", "hip: a GPU, a GPU; cpu: a CPU"),
        ({"CUDA": 0}, "cpu", "cpu: a CPU"),
    ],
)
def test_auto_takes_the_first_kind_of_gpu_that_blender_finds(
    known: dict[str, int], auto: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bpy.py").write_text(FAKE_BPY.format(known=known))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{CHECKOUT}")
    monkeypatch.setattr(settings, "_may_have_gpu", lambda: True)
    assert find_device("auto") == auto
    assert find_device(auto) == auto
    with pytest.raises(
        UserError, match="--device oneapi: Blender finds no such device here"
    ) as refused:
        find_device("oneapi")
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("device", "seen", "visible"),
    [
        ("optix", None, "010"),
        ("cuda", "4,7", "474"),
        ("hip", "GPU-b, GPU-a", ("GPU-b", "GPU-a", "GPU-b")),
    ],
)
def test_each_worker_sees_one_gpu(
    device: str,
    seen: str | None,
    visible: str | tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "bpy.py").write_text(FAKE_BPY.format(known={device.upper(): 2}))
    variable = "HIP_VISIBLE_DEVICES" if device == "hip" else "CUDA_VISIBLE_DEVICES"
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{CHECKOUT}")
    monkeypatch.delenv(variable, raising=False)
    if seen:
        monkeypatch.setenv(variable, seen)
    gpus = find_gpus(device)
    assert gpus == ("a GPU", "a GPU")
    assert find_gpus("cpu") == find_gpus("oneapi") == ()
    (tmp_path / "bpy.py").write_text(
        f"import os\nraise ImportError('sees ' + os.environ['{variable}'])"
    )
    with caplog.at_level("INFO"):
        workers = Farm(3, gpus=gpus).local_workers(3, {"device": device}, 60.0)
    assert (
        "worker 1: a GPU (GPU 0), worker 2: a GPU (GPU 1), worker 3: a GPU (GPU 0)" in caplog.text
    )
    (job,) = prepare(
        WorldOptions(family="clevr", holdout="none", scenes="1", resolution="64x64")
    ).planned
    for worker, one in zip(workers, visible, strict=True):
        with pytest.raises(UserError, match=f"Blender cannot load: sees {one}[.]"):
            worker.render(job)


def test_the_real_blender_is_asked() -> None:
    devices = settings._list_devices()
    assert devices["CPU"]
    if set(devices) == {"CPU"}:
        assert find_device("auto") == "cpu"
        refuse(
            f"Blender finds no such device here (cpu: {devices['CPU'][0]}",
            "gen render",
            "--device",
            "optix",
        )


def test_the_cpu_needs_no_question_and_an_unknown_device_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "_list_devices", lambda: pytest.fail("asked"))
    assert find_device("cpu") == "cpu"
    with pytest.raises(UserError, match="Unknown device 'cudda'; did you mean 'cuda'"):
        find_device("cudda")


def test_qualities_are_declared_from_the_fastest_to_the_best() -> None:
    assert list(qualities()) == ["draft", "standard", "reference"]
    assert [quality.microseconds for quality in qualities().values()] == sorted(
        q.microseconds for q in qualities().values()
    )
