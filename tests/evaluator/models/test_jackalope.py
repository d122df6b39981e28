"""`jackalope:` folders that are not what they should be."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.models.jackalope import is_cross_encoder
from evaluator.models.registry import load_model
from evaluator.provenance.exposure import Exposure
from generator.base.errors import UserError
from tests.evaluator import diffusers_folders
from tests.evaluator.conftest import Tiny, assert_one_sentence, score_command
from tests.evaluator.tiny_models import make_clip, make_vilt, open_clip_folder

RECORD = {
    "name": "b",
    "benchmark": "0",
    "world": "1",
    "method": "scratch",
    "recipe": {"epochs": 1},
    "losses": [1.0],
}


@pytest.fixture
def model(tiny: Callable[..., Tiny], tmp_path: Path) -> Path:
    folder = open_clip_folder(tiny(), tmp_path / "model")
    (folder / "jackalope.json").write_text(json.dumps(RECORD))
    return folder


def test_a_model_says_what_it_was_trained_on(model: Path) -> None:
    info = load_model(f"jackalope:{model}", "cpu").info
    assert info["weights"] == str(model)
    assert info["trained_on"] == {
        key: RECORD[key] for key in ("name", "benchmark", "world", "method", "recipe")
    }


def test_folders_may_be_in_the_home(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(model.parent))
    keys = {
        load_model(spec, "cpu").key for spec in ("jackalope:~/model", "open_clip:local-dir:~/model")
    }
    make_vilt(model.parent / "vilt")
    assert len(keys) == 1
    assert is_cross_encoder("jackalope:~/vilt")
    assert not is_cross_encoder("jackalope:~/model")


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("", "There is no file or folder"),
        (
            "jackalope.json",
            "is not a model trained here: it has no jackalope.json; give a folder written by "
            "`score train`.",
        ),
        (
            "open_clip_config.json",
            "is not a folder with open_clip_config.json; give a folder that open_clip wrote.",
        ),
        ("open_clip_model.safetensors", "cannot be loaded"),
    ],
)
def test_a_folder_that_lacks_something_is_refused(
    model: Path, drawn: Path, tmp_path: Path, missing: str, message: str
) -> None:
    if missing:
        (model / missing).unlink()
    else:
        shutil.rmtree(model)
    assert_one_sentence(
        score_command("run", drawn, "--model", f"jackalope:{model}", "--out", tmp_path / "run"),
        message,
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"name": "b"}'])
def test_a_damaged_record_is_refused(model: Path, text: str) -> None:
    (model / "jackalope.json").write_text(text)
    with pytest.raises(UserError, match=r"jackalope\.json is damaged"):
        load_model(f"jackalope:{model}", "cpu")


@pytest.mark.parametrize(
    "name", ["tokenizer_config.json", "own.py", "a.bin", "open_clip_model.pth", "sub"]
)
def test_a_folder_that_holds_anything_else_is_refused(model: Path, name: str) -> None:
    (model / name).mkdir() if name == "sub" else (model / name).write_text("")
    with pytest.raises(UserError, match=f"holds {name}, which `score train` does not write"):
        load_model(f"jackalope:{model}", "cpu")


def test_a_folder_with_a_link_is_refused(model: Path) -> None:
    (model / "jackalope.json").rename(model.parent / "record.json")
    (model / "jackalope.json").symlink_to(model.parent / "record.json")
    with pytest.raises(UserError, match="is a link"):
        load_model(f"jackalope:{model}", "cpu")


@pytest.mark.parametrize("family", ["hf", "vilt", "diffusion"])
def test_every_family_reads_what_a_folder_records_of_its_training(
    tmp_path: Path, family: str
) -> None:
    """So that contamination is seen, by whichever family the folder is loaded."""
    make = {"hf": make_clip, "vilt": make_vilt, "diffusion": diffusers_folders.stable_diffusion}[
        family
    ]
    folder = make(tmp_path / "model")
    assert load_model(f"{family}:{folder}", "cpu").exposure is None
    exposure = Exposure(objects=frozenset({("color", "red", "cube")}), scenes=frozenset({"0" * 16}))
    (folder / "jackalope.json").write_text(json.dumps({**RECORD, "exposure": exposure.to_dict()}))
    assert load_model(f"{family}:{folder}", "cpu").exposure == exposure
