"""The wheel works outside the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.paths import CHECKOUT

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
        "generator/_data/blender_assets/quality.toml",
        "evaluator/report/page.html.jinja",
    } <= set(names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"generator", "evaluator", "jackalope"}
    assert not [name for name in names if "__pycache__" in name]


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


@pytest.mark.full
def test_it_installs_into_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    bin_ = tmp_path / "venv" / "bin"
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    subprocess.run([bin_ / "pip", "install", "--quiet", wheel], check=True, env=env)
    subprocess.run([bin_ / "gen", *QUICK], check=True, env=env, cwd=tmp_path)
    subprocess.run([bin_ / "gen", "verify", "world"], check=True, env=env, cwd=tmp_path)
    train = [bin_ / "score", "train", "scratch", "world", "--out", "model", "--epochs", "1"]
    refused = subprocess.run(train, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "render more" in refused.stderr
