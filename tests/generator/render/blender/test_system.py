"""Why bpy cannot be loaded, in one sentence."""

import resource
import subprocess
import sys

import pytest

from generator.render.blender.system import PACKAGES, load_fault


def test_each_library_is_named_with_its_package() -> None:
    for library, package in PACKAGES.items():
        error = ImportError(f"{library}: cannot open shared object file: No such file or directory")
        assert load_fault(error) == f"Blender cannot load because {library} is missing: apt-get install {package}"


def test_a_missing_bpy_and_any_other_error() -> None:
    assert "pip install 'jackalope[render]'" in load_fault(ModuleNotFoundError("No module named 'bpy'", name="bpy"))
    assert load_fault(ImportError("libfoo.so: bad", name="bpy")) == "Blender cannot load: libfoo.so: bad"
    assert load_fault(ImportError("libfoo.so: bad")) == "Blender cannot load: libfoo.so: bad"


@pytest.mark.parametrize(
    "error", [MemoryError(), ImportError("libosl.so: failed to map segment from shared object", name="bpy")]
)
def test_a_lack_of_memory_is_not_called_a_lack_of_blender(error: ImportError | MemoryError) -> None:
    assert load_fault(error).startswith("There is not enough memory to load Blender: end other programs")


def test_blender_in_too_little_memory_says_so() -> None:
    code = """
from generator.render.blender.system import load_fault
try:
    import bpy
except (ImportError, MemoryError) as error:
    print(load_fault(error))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20)),
    )  # fmt: skip
    assert done.stdout.startswith("There is not enough memory to load Blender"), done.stderr
