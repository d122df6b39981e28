"""What a worker process sees of the environment."""

import os

import pytest

from generator.base.process import worker_environment

READ_BY_BLENDER = [
    *(
        "OCIO",
        "OCIO_ACTIVE_DISPLAYS",
        "BLENDER_SYSTEM_SCRIPTS",
        "BLENDER_USER_SCRIPTS",
        "BLENDER_USER_CONFIG",
    ),
    *(
        "CYCLES_CPU_NO_AVX2",
        "CYCLES_BVH_LAYOUT",
        "OPENIMAGEIO_OPTIONS",
        "OIDN_VERBOSE",
        "PXR_PLUGINPATH_NAME",
    ),
    "XDG_CONFIG_HOME",
]
READ_BY_PYTHON = [
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PYTHONWARNINGS",
    "PYTHONPYCACHEPREFIX",
]
NEEDED = [
    "PATH",
    "HOME",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "LC_ALL",
    "CUDA_VISIBLE_DEVICES",
    "JACKALOPE_ASSETS",
]


def test_workers_see_only_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*READ_BY_BLENDER, *READ_BY_PYTHON, *NEEDED, "SECRET_TOKEN"):
        monkeypatch.setenv(name, os.environ.get(name, "1"))
    environment = worker_environment()
    assert environment.keys() >= set(NEEDED)
    assert environment.keys().isdisjoint({*READ_BY_BLENDER, *READ_BY_PYTHON, "SECRET_TOKEN"})
