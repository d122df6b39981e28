"""Why bpy cannot be loaded, in one sentence."""

from generator.render.blender.system import PACKAGES, load_fault


def test_each_library_is_named_with_its_package() -> None:
    for library, package in PACKAGES.items():
        error = ImportError(f"{library}: cannot open shared object file: No such file or directory")
        assert load_fault(error) == f"Blender cannot load because {library} is missing: apt-get install {package}"


def test_a_missing_bpy_and_any_other_error() -> None:
    assert "pip install 'bpy==4.5.*'" in load_fault(ImportError("No module named 'bpy'", name="bpy"))
    assert load_fault(ImportError("libfoo.so: bad")) == "Blender cannot load: libfoo.so: bad"
