"""Folders, names on the Hub, damaged files, what is said of errors, and silence for libraries."""

import json
import logging
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import transformers
from safetensors.torch import load_file, save_file

from evaluator.models.hub import ModelSource, check_files, find_source, first_line, loading, quiet
from evaluator.models.registry import load_model
from generator.base.errors import UserError
from tests.evaluator.conftest import Tiny
from tests.evaluator.diffusers_folders import stable_diffusion
from tests.evaluator.models.test_vqa import make_llava
from tests.evaluator.tiny_models import make_blip, make_gpt2, make_vilt, open_clip_folder

MEND = "give vilt: a folder that save_pretrained wrote, or OWNER/NAME of the Hugging Face Hub"
HUB = ModelSource("owner/name", "owner/name", None, MEND)


def test_names_of_the_hub_may_have_a_revision() -> None:
    assert find_source("owner/name", "vilt:") == HUB
    source = find_source("owner/name@v1.0", "vilt:")
    assert (source.name, source.place, source.revision) == ("owner/name@v1.0", "owner/name", "v1.0")
    assert not source.is_local


def test_a_folder_holds_its_configuration(tmp_path: Path) -> None:
    with pytest.raises(
        UserError,
        match=r"has no config\.json; give vilt: a folder that save_pretrained wrote, or OWNER/NAME",
    ):
        find_source(str(tmp_path), "vilt:")
    (tmp_path / "open_clip_config.json").touch()
    with pytest.raises(
        UserError, match=r"has no config\.json; name a folder of open_clip as open_clip:local-dir:"
    ):
        find_source(str(tmp_path), "vilt:")
    (tmp_path / "config.json").touch()
    assert find_source(str(tmp_path), "vilt:") == ModelSource(
        str(tmp_path), str(tmp_path), None, MEND
    )
    assert find_source(str(tmp_path), "vilt:").is_local
    (
        tmp_path / "adapter_config.json"
    ).touch()  # it would name another model to load, which the user did not
    with pytest.raises(UserError, match="holds an adapter of another model; merge it"):
        find_source(str(tmp_path), "hf:")


@pytest.mark.parametrize("name", ["/nowhere/model", "./nowhere", "a/b/c", "bad name"])
def test_a_folder_that_is_not_there(name: str) -> None:
    with pytest.raises(
        UserError,
        match=(
            f"^There is no folder '{name}'; give hf: a folder that save_pretrained wrote, or "
            f"OWNER/NAME"
        ),
    ):
        load_model(f"hf:{name}", "cpu")


@pytest.mark.parametrize(
    "spec", ["hf:owner/none", "hf:owner/none@v1.0", "vilt:owner/none", "blind:lm:owner/none"]
)
def test_without_network_the_model_is_named_in_one_sentence(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    name = spec[spec.index("owner") :]
    message = rf"^'{name}' is not on this machine and cannot be downloaded \(.*\); check the name and the network\.$"
    with pytest.raises(UserError, match=message):
        load_model(spec, "cpu")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            OSError("We couldn't connect to the Hub\nand more"),
            r"cannot be downloaded \(We couldn't connect to the Hub\)",
        ),
        (
            RuntimeError("size mismatch for a"),
            r"do not fit its configuration \(tensors of other names or shapes\); give vilt:",
        ),
        (
            KeyError("x"),
            r"^'owner/name' cannot be loaded \('x'\); give vilt: a folder that save_pretrained wrote",
        ),
        (UserError("As it is."), r"^As it is\.$"),
    ],
)
def test_errors_of_the_library_become_one_sentence(error: Exception, message: str) -> None:
    with pytest.raises(UserError, match=message), loading(HUB):
        raise error


def test_the_first_line_of_an_error() -> None:
    assert first_line(ValueError("one.\ntwo")) == "one"
    assert first_line(ValueError()) == "ValueError"
    assert len(first_line(ValueError("x" * 1000))) == 160


LOAD = """
import json, sys
from evaluator.models.registry import load_model
print(json.dumps({spec: load_model(spec, "cpu").info["weights_sha256"] for spec in sys.argv[1:]}))
"""


@pytest.mark.full
def test_every_family_of_the_hub_takes_a_revision(
    tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    """Two versions of each model, as tags in a cache of the Hub, are those of their folders."""
    makers: dict[str, Callable[[Path], Any]] = {
        "vilt:": make_vilt,
        "blip:": make_blip,
        "hf:": make_blip,
        "vqa:": make_llava,
        "blind:lm:": make_gpt2,
        "diffusion:": lambda folder: shutil.copytree(
            stable_diffusion(tmp_path / folder.name), folder
        ),
        "open_clip:hf-hub:": lambda folder: open_clip_folder(tiny(), folder),
    }
    local: dict[str, str] = {}
    for family, make in makers.items():
        owner = family.rstrip(":").replace(":", "-").replace("_", "-")
        for tag in ("v1", "v2"):
            folder = tmp_path / "hub" / f"models--{owner}--tiny" / "snapshots" / (tag[1] * 40)
            folder.parent.mkdir(parents=True, exist_ok=True)
            make(folder)
            _scale(folder, 1.0 if tag == "v1" else 2.0)
            refs = folder.parents[1] / "refs"
            refs.mkdir(exist_ok=True)
            (refs / tag).write_text(folder.name)
            local[f"{family}{owner}/tiny@{tag}"] = (
                f"{family.replace('hf-hub', 'local-dir')}{folder}"
            )
    specs = [*local, *local.values(), "diffusion:diffusion/tiny@v2,samples=4"]
    env = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(tmp_path / "hub")}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *specs], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    for spec, folder_spec in local.items():
        assert report[spec] == report[folder_spec], spec
    assert len(set(report.values())) == 2 * (len(makers) - 1)  # hf: and blip: read the same folders
    assert report[specs[-1]] == report["diffusion:diffusion/tiny@v2"]


def _scale(folder: Path, factor: float) -> None:
    """Multiply all weights below a folder."""
    for path in folder.rglob("*.safetensors"):
        tensors = {
            name: tensor * factor if tensor.is_floating_point() else tensor
            for name, tensor in load_file(path).items()
        }
        save_file(tensors, path, metadata={"format": "pt"})


def test_a_pointer_of_git_lfs_is_not_taken_for_weights(tmp_path: Path) -> None:
    for name in ("model.safetensors", "old.bin"):
        (tmp_path / name).write_bytes(
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
        )
        with pytest.raises(
            UserError,
            match=rf"{name} is a pointer of Git LFS, not the weights; fetch them with `git",
        ):
            check_files(tmp_path)
        (tmp_path / name).unlink()


def test_nothing_is_heard_inside_and_everything_after(caplog: pytest.LogCaptureFixture) -> None:
    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.enable_progress_bar()
    with warnings.catch_warnings(record=True) as caught, quiet():
        warnings.simplefilter("always")
        logging.getLogger("library").error("inside")
        assert not transformers.utils.logging.is_progress_bar_enabled()
    logging.getLogger("library").error("after")
    assert [record.message for record in caplog.records] == ["after"]
    assert caught == []
    assert transformers.utils.logging.is_progress_bar_enabled()
    if not bars:
        transformers.utils.logging.disable_progress_bar()


def test_an_error_ends_the_silence() -> None:
    before = logging.root.manager.disable
    with pytest.raises(ValueError, match="inside"), quiet():
        raise ValueError("inside")
    assert logging.root.manager.disable == before
