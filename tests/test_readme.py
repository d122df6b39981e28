"""The README's commands work as they stand, in its order, for someone who has just installed."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from generator.vocabulary.schema import read_vocabulary
from tests.conftest import succeed
from tests.paths import CHECKOUT

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
DEFAULT_RENDER = "gen render --holdout 3x3"
FAMILY = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)[0]


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    return [line.split("  #")[0].strip() for block in blocks for line in block.strip().splitlines()]


def on_path(home: Path) -> dict[str, str]:
    """The environment with the commands of this very Python first, and no asset sets but those in
    `home`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "JACKALOPE_ASSETS": str(home / "assets")}


def test_it_starts_with_the_two_commands_that_make_has() -> None:
    assert commands()[:2] == ["make demo", "make test"]
    makefile = (CHECKOUT / "Makefile").read_text()
    for target in re.findall(r"`?make ([a-z-]+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_its_badges_are_true() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [
        classifier.split(" :: ")[-1]
        for classifier in project["classifiers"]
        if " :: Python :: 3." in classifier
    ]
    assert f"Python {versions[0]} to {versions[-1]}]" in README
    assert project["license"].startswith("Apache-2.0")
    assert "[![Apache-2.0]" in README


def each_command(folder: Path) -> list[str]:
    """What is run in a folder with what the README says to put there."""
    run = [line for line in commands() if not line.startswith("make ") and line != DEFAULT_RENDER]
    assert {line.split()[0] for line in run} == {"gen", "score"}
    (folder / "zoo.toml").write_text(FAMILY, encoding="utf-8")
    (folder / "docs").symlink_to(CHECKOUT / "docs")
    return run


SMALLER = {
    "--scenes 400 --resolution 64x64": "--scenes 150 --resolution 64x64 --workers 1",
    "--scenes 60 --resolution 96x96": (
        "--scenes train=6,val=1,seen=1,partial=1,unseen=1 --resolution 64x64 --workers 1"
    ),
    "--epochs 2": "--epochs 1",
}
"""What the README's commands ask for, and what is enough to see that they work."""


def test_its_commands_run_one_after_another_with_fewer_scenes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKALOPE_ASSETS", str(tmp_path / "assets"))
    lines = "\n".join(each_command(tmp_path))
    for command, enough in SMALLER.items():
        assert command in lines
        lines = lines.replace(command, enough)
    for line in lines.splitlines():
        succeed(line, cwd=tmp_path)
    assert (tmp_path / "report.html").exists()


@pytest.mark.full
def test_its_commands_run_one_after_another_as_they_stand(tmp_path: Path) -> None:
    for line in each_command(tmp_path):
        done = subprocess.run(
            shlex.split(line),
            cwd=tmp_path,
            env=on_path(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert (tmp_path / "report.html").exists()


TINY = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}
"""A configuration of open_clip."""


def first_python(folder: Path, dataset: Path) -> str:
    """The README's first lines of Python, for an open_clip of random weights on a dataset of
    another name."""
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    assert len([line for line in code.splitlines() if line.strip()]) == 5
    (folder / "tiny.json").write_text(json.dumps(TINY))
    for written, here in {
        '"ViT-B-32", pretrained="openai"': '"tiny"',
        '"ViT-B-32"': '"tiny"',
        '"small"': repr(str(dataset)),
    }.items():
        assert written in code
        code = code.replace(written, here)
    return f"import open_clip; open_clip.add_model_config({str(folder / 'tiny.json')!r})\n{code}"


@pytest.mark.full
def test_its_first_python_scores_a_model_without_blender(rendered: Path, tmp_path: Path) -> None:
    code = f"import sys; sys.modules['bpy'] = None\n{first_python(tmp_path, rendered)}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("R@1 (retrieval, grid) of CLIP ")  # the verdict comes first
    assert "\nCLIP on color-shape-3x3-b0 (dataset " in done.stdout
    assert "retrieval" in done.stdout


def test_the_default_render_says_what_it_will_do(tmp_path: Path) -> None:
    assert DEFAULT_RENDER in commands()
    process = subprocess.Popen(
        shlex.split(DEFAULT_RENDER),
        cwd=tmp_path,
        env=on_path(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    lines = [process.stderr.readline(), process.stderr.readline()]
    process.kill()
    process.communicate()
    assert lines[0] == "Planning 3,000 scenes.\n"
    assert re.match(
        r"3,000 images of 320x240 \(standard\) into clevr-3x3-b0-s0-320x240, about .* with \d+ worker",
        lines[1],
    )


def test_its_family_adds_a_colour_a_texture_and_an_imported_animal(tmp_path: Path) -> None:
    (tmp_path / "zoo.toml").write_text(FAMILY, encoding="utf-8")
    family, pug = read_vocabulary(str(tmp_path / "zoo.toml")), read_vocabulary("pug")
    for kind, added in (("color", "pink"), ("texture", "stripes")):
        assert family.values(kind) == [*pug.values(kind), added]
    assert set(family.objects) - set(pug.objects) == {"jackalope"}
    assert "mine/jackalope" in family.asset_meshes
