"""Pipelines that can be loaded, and what is said of those that cannot."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from evaluator.models.diffusion.loading import load_diffusion
from generator.base.errors import UserError
from tests.evaluator import diffusers_folders
from tests.evaluator.models.conftest import change_json


@pytest.fixture
def pipeline(folders: Callable[[str], Path], tmp_path: Path) -> Path:
    """A pipeline that a test may damage."""
    return Path(shutil.copytree(folders("epsilon"), tmp_path / "pipeline"))


def refused(name: object) -> str:
    """The one sentence that loading ends in."""
    with pytest.raises(UserError) as raised:
        load_diffusion(str(name), "cpu")
    message = raised.value.message
    assert "\n" not in message
    assert message.endswith((".", "?"))
    return message


def test_bad_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, no pipeline, no network."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "There is no folder" in refused(tmp_path / "none")
    assert "There is no folder 'a/b/c'" in refused("a/b/c")
    assert "no model_index.json" in refused(tmp_path)
    assert "cannot be downloaded" in refused("somebody/some-model")
    assert "'somebody/some-model@v1' is not on this machine" in refused("somebody/some-model@v1")
    (tmp_path / "model_index.json").write_text("{")
    assert "cannot be loaded" in refused(tmp_path)


FOREIGN = "not a supported text-to-image pipeline"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"_class_name": "TextToVideoSDPipeline"}, f"is a TextToVideoSDPipeline, {FOREIGN}"),
        (
            {"_class_name": "StableDiffusionImg2ImgPipeline"},
            "did you mean 'StableDiffusionPipeline'?",
        ),
        ({"_class_name": ["pipeline", "StableDiffusionPipeline"]}, FOREIGN),
        ({"_class_name": ["own", "Own"]}, FOREIGN),
        ({"_class_name": "pipeline"}, FOREIGN),
        ({"vae": None}, "has no vae; give one that is complete"),
        ({"unet": ["my_code", "MyUNet"]}, "of the library 'my_code', whose code is not run here"),
        ({"extra": ["os", "system"]}, "of the library 'os', whose code is not run here"),
        (
            {"tokenizer": ["transformers", "AutoTokenizer"]},
            "is of the class AutoTokenizer, which may run foreign code",
        ),
    ],
)
def test_a_folder_that_is_not_a_pipeline_is_refused_and_its_code_never_run(
    pipeline: Path, trap: Callable[[Path], Path], entries: dict[str, Any], message: str
) -> None:
    trap(pipeline / "tokenizer")
    shutil.copy(trap(pipeline) / "own.py", pipeline / "pipeline.py")
    change_json(pipeline / "model_index.json", **entries)
    assert message in refused(pipeline)


@pytest.mark.parametrize(
    ("part", "library"), [("scheduler", "diffusers"), ("text_encoder", "transformers")]
)
def test_a_file_that_stands_for_a_library_is_not_run(
    pipeline: Path, trap: Callable[[Path], Path], part: str, library: str
) -> None:
    """diffusers takes scheduler/diffusers.py for the library that model_index.json names."""
    code = trap(pipeline / part) / "own.py"
    code.rename(code.with_stem(library))
    assert f"has code of its own, {library}.py, which is not run" in refused(pipeline)


def test_parts_that_do_not_fit(pipeline: Path) -> None:
    scheduler = pipeline / "scheduler" / "scheduler_config.json"
    before = scheduler.read_text()
    scheduler.write_text(before.replace('"epsilon"', '"sample"'))
    assert "predicts epsilon or v_prediction, got 'sample'" in refused(pipeline)
    scheduler.write_text(before)
    diffusers_folders.unet(in_channels=9).save_pretrained(pipeline / "unet")
    assert "takes 9 channels and the VAE gives 4" in refused(pipeline)


def test_incomplete_pipelines(pipeline: Path) -> None:
    """A component has too few tensors, or no folder."""
    encoder = pipeline / "text_encoder" / "model.safetensors"
    tensors = load_file(encoder)
    tensors.pop(next(name for name in tensors if name.endswith("fc1.weight")))
    save_file(tensors, encoder, metadata={"format": "pt"})
    assert "text_encoder" in (message := refused(pipeline))
    assert "fc1.weight (1 in all)" in message
    shutil.rmtree(pipeline / "unet")
    assert "lacks the folder 'unet'" in refused(pipeline)
