"""The wheel works outside the checkout."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import run_process
from tests.paths import CHECKOUT
from tests.test_readme import first_python

MODEL = """
import numpy as np

class Model:
    def encode_images(self, images):
        return np.stack([np.asarray(image.resize((4, 4)), np.float32).ravel() for image in images])

    def encode_texts(self, texts):
        return np.stack([np.resize(np.array([*text.encode()], np.float32), 48) for text in texts])

one = two = Model
"""

QUICK = [
    "render",
    "--scenes",
    "train=4,val=1,seen=1,partial=1,unseen=1",
    "--resolution",
    "32x32",
    "--quality",
    "draft",
    "--workers",
    "1",
    "--out",
    "world",
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, CHECKOUT],
        check=True,
        capture_output=True,
    )
    return next(out.glob("*.whl"))


def test_it_carries_the_declarations_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        "generator/_data/scenes/clevr.toml",
        "evaluator/experiments/recipes/pearson2025.py",
        "generator/_data/blender_assets/quality.toml",
        "evaluator/report/page.html.jinja",
    } <= set(names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"generator", "evaluator", "jackalope"}
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.full
def test_it_renders_and_verifies_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel],
        check=True,
        capture_output=True,
    )
    env = {**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}
    gen = site / "bin" / "gen"
    where = subprocess.run(
        [sys.executable, "-c", "import generator; print(generator.__file__)"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(site))
    subprocess.run([sys.executable, gen, *QUICK], env=env, cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, gen, "verify", "world"], env=env, cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "color-shape-3x3-b0: clean"
    subprocess.run(
        [sys.executable, site / "bin" / "score", "models"], env=env, cwd=tmp_path, check=True, capture_output=True
    )


def python_at_hand(version: str) -> Path | None:
    """The interpreter of a version, where this machine has one; None elsewhere."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return Path(sys.executable)
    homes = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [
        *sorted(homes.glob(f"{version}.*/bin/python")),
        *map(Path, filter(None, [shutil.which(f"python{version}")])),
    ]
    return found[0] if found else None


def environment(folder: Path, python: Path, *requirements: str | Path) -> tuple[Path, dict[str, str]]:
    """The programs of a new environment with some packages, and the variables to run them with."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", python, folder], check=True)
    install = [*uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python", *requirements]
    subprocess.run(install, check=True)
    return folder / "bin", env


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_it_scores_with_the_extra_score_alone_beside_numpy_2(
    version: str, wheel: Path, rendered: Path, tmp_path: Path
) -> None:
    python = python_at_hand(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    bin_, env = environment(tmp_path / "venv", python, f"{wheel}[score]", "numpy>=2")
    (tmp_path / "my_model.py").write_text(MODEL, encoding="utf-8")
    run = ["run", rendered, "--model", "python:my_model:Model", "--device", "cpu", "--json", "--out"]
    there = subprocess.run(
        [bin_ / "score", *run, "there"], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert there.returncode == 0, there.stderr
    here = run_process("score", *run, "here", cwd=tmp_path)
    found, expected = (json.loads(done.stdout)["rows"] for done in (there, here))
    assert [row["value"] for row in found] == pytest.approx([row["value"] for row in expected])
    assert json.loads((tmp_path / "there" / "run.json").read_text())["versions"]["numpy"] >= "2"
    code = first_python(tmp_path, rendered)
    python_there = subprocess.run(
        [bin_ / "python", "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert python_there.returncode == 0, python_there.stderr
    assert python_there.stdout.startswith("CLIP on color-shape-3x3-b0")
    refused = subprocess.run([bin_ / "gen", *QUICK], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "pip install 'jackalope[render]'" in refused.stderr.splitlines()[-1]


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_the_base_alone_reads_and_measures(version: str, wheel: Path, copied: Path, tmp_path: Path) -> None:
    python = python_at_hand(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    (tmp_path / "my_model.py").write_text(MODEL, encoding="utf-8")
    for name in ("one", "two"):
        done = run_process("score", "run", copied, "--model", f"python:my_model.py:{name}", "--out", name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    bin_, env = environment(tmp_path / "venv", python, wheel)
    listed = [sys.executable, "-m", "uv", "pip", "list", "--format", "json", "--python", bin_ / "python"]
    installed = {each["name"] for each in json.loads(subprocess.run(listed, check=True, capture_output=True).stdout)}
    assert not installed & {"torch", "bpy", "transformers", "diffusers"}
    for line in (
        "score measure one",
        "score report one two",
        "score compare one two",
        f"gen verify {copied}",
        f"gen split {copied} --holdout 2x2 --name other",
        f"gen describe {copied} --benchmark other --name asked",
    ):
        name, *rest = line.split()
        done = subprocess.run([bin_ / name, *rest], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    run = ["run", copied, "--benchmark", "other", "--model", "open_clip:ViT-B-32@openai", "--out", "run"]
    refused = subprocess.run([bin_ / "score", *run], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "pip install 'jackalope[score]'" in refused.stderr.splitlines()[-1]


@pytest.mark.full
def test_it_installs_into_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    bin_ = tmp_path / "venv" / "bin"
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    subprocess.run([bin_ / "pip", "install", "--quiet", f"{wheel}[all]"], check=True, env=env)
    subprocess.run([bin_ / "gen", *QUICK], check=True, env=env, cwd=tmp_path)
    subprocess.run([bin_ / "gen", "verify", "world"], check=True, env=env, cwd=tmp_path)
    train = [bin_ / "score", "train", "scratch", "world", "--out", "model", "--epochs", "1"]
    refused = subprocess.run(train, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "render more" in refused.stderr
