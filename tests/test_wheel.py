"""The wheel works outside the checkout."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from generator.dataset.reader import Dataset
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

QUICK = shlex.split(
    "render --scenes train=4,val=1,seen=1,partial=1,unseen=1 --resolution 32x32 --quality draft "
    "--workers 1 --out world"
)


def run(*command: str | Path, **more: Any) -> str:
    """Run a command that must succeed; returns what it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def refused(*command: str | Path, **more: Any) -> str:
    """Run a command that must be refused; returns its last line of stderr."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 2, done.stderr
    return done.stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, CHECKOUT)
    return next(out.glob("*.whl"))


def test_it_carries_the_declarations_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        "generator/_data/scenes/clevr.toml",
        "generator/dataset/card.md.jinja",
        "evaluator/papers/pearson2025/recipe.py",
        "evaluator/papers/pearson2025/presets.toml",
        "generator/_data/blender_assets/quality.toml",
        "evaluator/report/assets/page.html.jinja",
        "evaluator/report/assets/page.js",
        "evaluator/report/assets/datatables.min.js",
        "evaluator/report/assets/datatables.LICENSE.txt",
        "evaluator/report/charts/splits.json",
        "generator/base/pages/gallery.js",
        "generator/inspection/assets/world.html.jinja",
    } <= set(names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {
        "generator",
        "evaluator",
        "jackalope",
    }
    assert not [name for name in names if "__pycache__" in name]


def test_each_file_that_is_not_ours_has_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (info,) = {
            name.split("/")[0] for name in names if name.split("/")[0].endswith(".dist-info")
        }
        declared = tomllib.loads(archive.read(f"{info}/licenses/REUSE.toml").decode())[
            "annotations"
        ]
        metadata = archive.read(f"{info}/METADATA").decode()
    others = {
        "generator/_data/blender_assets/panoramas/*.exr": ("CC0-1.0", 16),
        "generator/_data/blender_assets/things/*.npz": ("CC0-1.0", 12),
        "evaluator/report/assets/datatables*": ("MIT", 2),
    }
    licence = {
        name: of for pattern, (of, _) in others.items() for name in names if fnmatch(name, pattern)
    }
    for name in names:
        path = name.removeprefix("generator/_data/")
        last = [
            annotation["SPDX-License-Identifier"]
            for annotation in declared
            if any(fnmatch(path, pattern) for pattern in np.atleast_1d(annotation["path"]))
        ][-1]
        assert last == licence.get(name, "Apache-2.0"), name
    for pattern, (_, count) in others.items():
        assert len([name for name in licence if fnmatch(name, pattern)]) == count
    assert "License-Expression: Apache-2.0 AND CC0-1.0 AND MIT" in metadata
    own = [f"blender_assets/{name}/LICENCE.txt" for name in ("panoramas", "things")]
    for licence_file in ("LICENSE", *own, "evaluator/report/assets/datatables.LICENSE.txt"):
        assert f"{info}/licenses/{licence_file}" in names


def test_the_release_builds_what_is_tested() -> None:
    workflow = yaml.safe_load((CHECKOUT / ".github/workflows/release.yml").read_text("utf-8"))
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
    blender = [
        requirement
        for requirement in project["optional-dependencies"]["render"]
        if requirement.startswith("bpy")
    ]
    pythons = workflow["jobs"]["try"]["strategy"]["matrix"]["python"]
    assert len(blender) == 2
    assert all(
        f"python_version == '{python}'" in line
        for python, line in zip(pythons, blender, strict=True)
    )
    packages = next(
        step["run"] for step in workflow["jobs"]["try"]["steps"] if "apt-get" in step.get("run", "")
    )
    stated = (
        (CHECKOUT / "docs/install.md")
        .read_text("utf-8")
        .partition("apt-get install ")[2]
        .splitlines()[0]
    )
    assert packages.endswith(stated)
    assert workflow["jobs"]["publish"]["needs"] == "try"
    assert workflow["jobs"]["try"]["needs"] == "build"


@pytest.mark.full
def test_it_renders_and_verifies_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel)
    env = {**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}
    there: dict[str, Any] = {"env": env, "cwd": tmp_path}
    assert run(
        sys.executable, "-c", "import generator; print(generator.__file__)", **there
    ).startswith(str(site))
    run(sys.executable, site / "bin" / "gen", *QUICK, **there)
    judged = run(sys.executable, site / "bin" / "gen", "verify", "world", **there)
    assert judged.strip() == "color-shape-3x3-b0: clean"
    run(sys.executable, site / "bin" / "score", "models", **there)


def python_at_hand(version: str) -> Path:
    """The interpreter of a version; where this machine has none, the test is skipped."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return Path(sys.executable)
    homes = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    pythons = [
        *sorted(homes.glob(f"{version}.*/bin/python")),
        *map(Path, filter(None, [shutil.which(f"python{version}")])),
    ]
    if not pythons:
        pytest.skip(f"there is no Python {version} on this machine")
    return pythons[0]


def environment(
    folder: Path, python: Path, *requirements: str | Path
) -> tuple[Path, dict[str, Any]]:
    """The programs of a new environment with some packages, and how to run them: its variables, and
    where."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", python, folder)
    run(
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--quiet",
        "--python",
        folder / "bin/python",
        *requirements,
    )
    return folder / "bin", {"env": env, "cwd": folder.parent}


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_it_scores_with_the_extra_score_alone_beside_numpy_2(
    version: str, wheel: Path, rendered: Path, tmp_path: Path
) -> None:
    python = python_at_hand(version)
    bin_, there = environment(tmp_path / "venv", python, f"{wheel}[score]", "numpy>=2")
    (tmp_path / "my_model.py").write_text(MODEL, encoding="utf-8")
    scoring = [
        "run",
        rendered,
        "--model",
        "python:my_model:Model",
        "--device",
        "cpu",
        "--json",
        "--out",
    ]
    rows_there = json.loads(run(bin_ / "score", *scoring, "there", **there))["rows"]
    expected = json.loads(run_process("score", *scoring, "here", cwd=tmp_path).stdout)["rows"]
    assert [row["value"] for row in rows_there] == pytest.approx([row["value"] for row in expected])
    assert json.loads((tmp_path / "there" / "run.json").read_text())["versions"]["numpy"] >= "2"
    printed = run(bin_ / "python", "-c", first_python(tmp_path, rendered), **there)
    assert printed.startswith("R@1 (retrieval, grid) of CLIP ")  # the verdict comes first
    assert "\nCLIP on color-shape-3x3-b0" in printed
    assert "pip install 'jackalope[render]'" in refused(bin_ / "gen", *QUICK, **there)


@pytest.mark.full
@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_the_base_alone_reads_and_measures(
    version: str, wheel: Path, copied: Path, tmp_path: Path
) -> None:
    python = python_at_hand(version)
    (tmp_path / "my_model.py").write_text(MODEL, encoding="utf-8")
    for name in ("one", "two"):  # in a process: this one may know a module of that name
        scored = run_process(
            "score",
            "run",
            copied,
            "--model",
            f"python:my_model.py:{name}",
            "--out",
            name,
            cwd=tmp_path,
        )
        assert scored.returncode == 0, scored.stderr
    bin_, there = environment(tmp_path / "venv", python, wheel)
    listed = run(
        sys.executable, "-m", "uv", "pip", "list", "--format", "json", "--python", bin_ / "python"
    )
    assert not {package["name"] for package in json.loads(listed)} & {
        "torch",
        "bpy",
        "transformers",
        "diffusers",
    }
    for line in (
        "score measure one",
        "score report one two",
        "score compare one two",
        f"gen verify {copied}",
        f"gen split {copied} --holdout 4x6 --name other",
        f"gen describe {copied} --benchmark other --name asked",
    ):
        name, *rest = line.split()
        run(bin_ / name, *rest, **there)
    model = ["--benchmark", "other", "--model", "open_clip:ViT-B-32@openai", "--out", "run"]
    assert "pip install 'jackalope[score]'" in refused(
        bin_ / "score", "run", copied, *model, **there
    )


@pytest.mark.full
@pytest.mark.parametrize(
    "family", ["clevr-original", "clevr", "clevr-many", "clevr-relations", "pug", "photo", "things"]
)
def test_it_renders_the_same_with_the_other_blender(
    family: str, wheel: Path, tmp_path: Path
) -> None:
    version = {(3, 11): "3.13", (3, 13): "3.11"}[sys.version_info[:2]]
    python = python_at_hand(version)
    scenes = [
        "--scenes",
        "train=4,val=1,seen=1,partial=1,unseen=1",
        "--holdout",
        "2x2",
        "--objects",
        "2",
    ]
    quick = [
        "render",
        "--family",
        family,
        *scenes,
        "--resolution",
        "96x72",
        "--workers",
        "1",
        "--device",
        "cpu",
    ]
    here = run_process("gen", *quick, "--out", "here", cwd=tmp_path)
    assert here.returncode == 0, here.stderr
    bin_, there = environment(tmp_path / "venv", python, f"{wheel}[render]")
    run(bin_ / "gen", *quick, "--out", "there", **there)
    ours, theirs = (Dataset.open(tmp_path / name) for name in ("here", "there"))
    builds = {dataset.world.manifest["request"]["blender"][:3] for dataset in (ours, theirs)}
    assert builds == {"4.5", "5.2"}
    # The judge runs there too: the other Blender comes with the other major version of NumPy.
    assert run(bin_ / "gen", "verify", "there", **there).strip().endswith(": clean")
    tables = [
        *ours.world.folder.glob("*.parquet"),
        *ours.world.folder.parent.glob("benchmarks/*/*.parquet"),
    ]
    assert {"plan", "scenes", "splits", "texts", "items"} <= {table.stem for table in tables}
    for table in tables:
        assert pq.read_table(table).equals(
            pq.read_table(tmp_path / "there" / table.relative_to(tmp_path / "here"))
        )
    errors = [
        np.square(
            np.asarray(ours.world.image(name), float) - np.asarray(theirs.world.image(name), float)
        ).mean()
        for name in ours.world.scenes["scene_id"].to_pylist()
    ]
    assert 10 * np.log10(255**2 / np.median(errors)) > (66 if family == "things" else 68)
    assert 10 * np.log10(255**2 / np.max(errors)) > 55
    assert "holds another world: it has blender = " in refused(
        bin_ / "gen", *quick, "--out", "here", **there
    )


@pytest.mark.full
def test_it_installs_into_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    bin_, there = environment(tmp_path / "venv", Path(sys.executable), f"{wheel}[all]")
    run(bin_ / "gen", *QUICK, **there)
    run(bin_ / "gen", "verify", "world", **there)
    assert "render more" in refused(
        bin_ / "score", *shlex.split("train scratch world --out model --epochs 1"), **there
    )
