"""Pipelines that can be loaded, and what is said of those that cannot."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from evaluator.models.diffusion.loading import load_diffusion
from generator.base.errors import UserError
from tests.evaluator import diffusers_folders


def refused(name: str) -> str:
    """The one sentence that loading ends in."""
    with pytest.raises(UserError) as raised:
        load_diffusion(name, "cpu")
    message = raised.value.message
    assert "\n" not in message
    assert message.endswith((".", "?"))
    return message


def changed(folder: Path, to: Path, **entries: Any) -> Path:
    """A copy with entries of model_index.json changed, or taken out where None."""
    shutil.copytree(folder, to)
    index = json.loads((to / "model_index.json").read_text()) | entries
    (to / "model_index.json").write_text(json.dumps({key: value for key, value in index.items() if value is not None}))
    return to


def test_bad_places(folders: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, no pipeline, no network, no such preset."""
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert "There is no folder" in refused(str(tmp_path / "none"))
    assert "There is no folder 'a/b/c'" in refused("a/b/c")
    assert "no model_index.json" in refused(str(tmp_path))
    assert "cannot be downloaded" in refused("somebody/some-model")
    assert "'somebody/some-model@v1' is not on this machine" in refused("somebody/some-model@v1")
    (tmp_path / "model_index.json").write_text("{")
    assert "cannot be loaded" in refused(str(tmp_path))


def test_other_pipelines(folders: Callable[[str], Path], tmp_path: Path) -> None:
    """What does not make images of texts."""
    video = changed(folders("epsilon"), tmp_path / "a", _class_name="TextToVideoSDPipeline")
    assert "is a TextToVideoSDPipeline, not a text-to-image pipeline" in refused(str(video))
    edits = changed(folders("epsilon"), tmp_path / "b", _class_name="StableDiffusionImg2ImgPipeline")
    assert "did you mean 'StableDiffusionPipeline'?" in refused(str(edits))
    foreign = changed(folders("epsilon"), tmp_path / "c", unet=["my_code", "MyUNet"])
    assert "of the library 'my_code', whose code is not run here" in refused(str(foreign))
    shutil.copytree(folders("epsilon"), tmp_path / "d")
    config = tmp_path / "d" / "unet"
    diffusers_folders.unet(in_channels=9).save_pretrained(config)
    assert "takes 9 channels and the VAE gives 4" in refused(str(tmp_path / "d"))
    shutil.copytree(folders("epsilon"), tmp_path / "e")
    scheduler = tmp_path / "e" / "scheduler" / "scheduler_config.json"
    scheduler.write_text(scheduler.read_text().replace('"epsilon"', '"sample"'))
    assert "predicts epsilon or v_prediction, got 'sample'" in refused(str(tmp_path / "e"))


def test_incomplete_pipelines(folders: Callable[[str], Path], tmp_path: Path) -> None:
    """A component that is not listed, has no folder, or has too few tensors."""
    assert "has no vae; give one that is complete" in refused(
        str(changed(folders("epsilon"), tmp_path / "a", vae=None))
    )
    folder = tmp_path / "b"
    shutil.copytree(folders("epsilon"), folder)
    shutil.move(folder / "unet", tmp_path / "unet")
    assert "lacks the folder 'unet'" in refused(str(folder))
    shutil.move(tmp_path / "unet", folder / "unet")
    encoder = folder / "text_encoder" / "model.safetensors"
    tensors = load_file(encoder)
    tensors.pop(next(name for name in tensors if name.endswith("fc1.weight")))
    save_file(tensors, encoder, metadata={"format": "pt"})
    assert "text_encoder" in (said := refused(str(folder)))
    assert "fc1.weight (1 in all)" in said


@pytest.mark.parametrize(
    ("part", "library"),
    [
        ("scheduler", "diffusers"),
        ("tokenizer", "transformers"),
        ("unet", "diffusers"),
        ("text_encoder", "transformers"),
    ],
)
def test_a_file_that_stands_for_a_library_is_not_run(
    folders: Callable[[str], Path], tmp_path: Path, part: str, library: str
) -> None:
    """diffusers takes scheduler/diffusers.py for the library that model_index.json names."""
    folder = Path(shutil.copytree(folders("epsilon"), tmp_path / "a"))
    (folder / part / f"{library}.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w')\n")
    assert f"has code of its own, {library}.py, which is not run" in refused(str(folder))
    assert not (tmp_path / "trace").exists()


def test_a_tokenizer_that_brings_its_class_is_refused(
    folders: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """transformers would ask whether to run it, and whoever says yes would have run it."""
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder = changed(folders("epsilon"), tmp_path / "a", tokenizer=["transformers", "AutoTokenizer"])
    (folder / "tokenizer" / "own.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w')\nclass Own: pass\n")
    (folder / "tokenizer" / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", None]}})
    )
    assert "is of the class AutoTokenizer, which looks for code" in refused(str(folder))
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("name", [["pipeline", "StableDiffusionPipeline"], "pipeline", ["own", "Own"]])
def test_a_pipeline_of_its_own_is_refused(folders: Callable[[str], Path], tmp_path: Path, name: object) -> None:
    folder = changed(folders("epsilon"), tmp_path / "a", _class_name=name)
    for file in ("pipeline.py", "own.py"):
        (folder / file).write_text(f"open({str(tmp_path / 'trace')!r}, 'w')\n")
    assert "not a text-to-image pipeline that is read here" in refused(str(folder))
    assert not (tmp_path / "trace").exists()


def test_a_component_that_no_pipeline_needs_may_not_bring_a_library(
    folders: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = changed(folders("epsilon"), tmp_path / "a", extra=["os", "system"])
    assert "of the library 'os', whose code is not run here" in refused(str(folder))
