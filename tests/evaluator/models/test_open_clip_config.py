"""Configurations of open_clip that come from someone else run nothing and read nothing
elsewhere."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import transformers
from open_clip.tokenizer import HFTokenizer

from evaluator.models.open_clip import check_open_clip_config, check_plain_sizes
from evaluator.models.registry import load_model
from generator.base.errors import UserError
from tests.evaluator.conftest import Tiny
from tests.evaluator.models.test_jackalope import RECORD
from tests.evaluator.tiny_models import bert_tokenizer, open_clip_folder

Trap = Callable[[Path], Path]


def with_code(folder: Path, trap: Trap, model_type: str = "own") -> Path:
    """A text model whose tokenizer and configuration only its own Python file can make."""
    bert_tokenizer(folder).save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    return trap(folder)


def test_the_trap_works(tmp_path: Path, trap: Trap) -> None:
    folder = with_code(tmp_path / "model", trap)
    with suppress(AttributeError):  # raised once it has run
        HFTokenizer(str(folder), trust_remote_code=True)
    (tmp_path / "trace").unlink()


@pytest.mark.parametrize("family", ["open_clip:local-dir", "jackalope"])
@pytest.mark.parametrize(
    "kwargs", [{"trust_remote_code": True}, {}, {"clean": "lower", "use_fast": False}]
)
def test_a_tokenizer_with_code_does_not_run(
    tiny: Callable[..., Tiny], tmp_path: Path, trap: Trap, family: str, kwargs: dict[str, Any]
) -> None:
    folder = open_clip_folder(
        tiny(), tmp_path / "model", hf_tokenizer_name="own/own", tokenizer_kwargs=kwargs
    )
    with_code(folder, trap)
    (folder / "jackalope.json").write_text(json.dumps(RECORD))
    with pytest.raises(UserError):
        load_model(f"{family}:{folder}", "cpu")


def test_a_hub_repository_with_code_does_not_run(
    tiny: Callable[..., Tiny], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trap: Trap
) -> None:
    """hf-hub: takes the same path once its configuration is downloaded."""
    foreign = {"trust_remote_code": True}
    folder = open_clip_folder(
        tiny(), tmp_path / "model", hf_tokenizer_name="model", tokenizer_kwargs=foreign
    )
    with_code(folder, trap)
    monkeypatch.setattr(
        "open_clip.factory.download_pretrained_from_hf",
        lambda _, filename="open_clip_model.safetensors", **__: str(folder / filename),
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="trust_remote_code, which could run code"):
        load_model("open_clip:hf-hub:some/one", "cpu")
    path = folder / "open_clip_config.json"
    path.write_text(path.read_text().replace('"trust_remote_code": true', ""))
    with pytest.raises(UserError):
        load_model("open_clip:hf-hub:some/one", "cpu")


@pytest.mark.parametrize("model_type", ["own", "bert"])
def test_a_text_model_with_code_does_not_run(
    tiny: Callable[..., Tiny],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trap: Trap,
    model_type: str,
) -> None:
    with_code(tmp_path / "text", trap, model_type)
    monkeypatch.chdir(tmp_path)
    folder = open_clip_folder(tiny(), tmp_path / "model", hf_model_name="text")
    with pytest.raises(UserError, match=r"code of its own, which is not run|contains custom code"):
        load_model(f"open_clip:local-dir:{folder}", "cpu")


def test_a_tokenizer_of_the_library_is_read(tiny: Callable[..., Tiny], tmp_path: Path) -> None:
    folder = open_clip_folder(
        tiny(), tmp_path / "model", hf_tokenizer_name="own/own", tokenizer_kwargs={"clean": "lower"}
    )
    bert_tokenizer(folder).save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(transformers.BertConfig().to_dict()))
    assert load_model(f"open_clip:local-dir:{folder}", "cpu").tokens(["a red cube"]).shape == (
        1,
        16,
    )


@pytest.mark.parametrize(
    ("part", "more"),
    [
        ("text_cfg", {"tokenizer_kwargs": {"bpe_path": "/etc/passwd"}}),
        ("text_cfg", {"tokenizer_kwargs": {"trust_remote_code": False}}),
        ("text_cfg", {"tokenizer_kwargs": ["trust_remote_code"]}),
        ("text_cfg", {"hf_tokenizer_name": "../x"}),
        ("text_cfg", {"hf_tokenizer_name": ["x"]}),
        ("text_cfg", {"hf_model_name": "/home/x"}),
        ("text_cfg", {"hf_model_name": "https://example.org/x"}),
        ("vision_cfg", {"timm_model_name": "hf-hub:x/y"}),
        ("vision_cfg", {"timm_model_name": "local-dir:/x"}),
    ],
)
def test_configurations_that_reach_outside_the_folder_are_refused(
    tiny: Callable[..., Tiny], part: str, more: dict[str, Any]
) -> None:
    config = {**tiny().config, part: {**tiny().config[part], **more}}
    with pytest.raises(
        UserError,
        match=f"open_clip_config.json of 'given' (gives the tokenizer|has {next(iter(more))})",
    ):
        check_open_clip_config(config, "given")


@pytest.mark.parametrize(
    "config", [None, [], {}, {"text_cfg": {}}, {"text_cfg": [], "vision_cfg": {}}]
)
def test_a_file_that_is_not_a_configuration_is_refused(config: Any) -> None:
    with pytest.raises(UserError, match="has no text_cfg and vision_cfg"):
        check_open_clip_config(config, "given")


def test_every_configuration_of_the_library_passes() -> None:
    import open_clip

    for name in open_clip.list_models():
        config = open_clip.get_model_config(name)
        config["text_cfg"].pop("hf_model_name", None)  # it would be downloaded
        check_open_clip_config(config, name)


@pytest.mark.parametrize(
    "more", [{"hf_model_name": "x"}, {"act_kwargs": {}}, {"tokenizer_kwargs": {}}, {"width": ["a"]}]
)
def test_a_trained_model_has_sizes_alone(tiny: Callable[..., Tiny], more: dict[str, Any]) -> None:
    check_plain_sizes(tiny().config, "given")
    for part in ("text_cfg", "vision_cfg"):
        with pytest.raises(UserError, match="`score train` writes only numbers"):
            check_plain_sizes({**tiny().config, part: {**tiny().config[part], **more}}, "given")
    with pytest.raises(UserError, match="writes only numbers"):
        check_plain_sizes({**tiny().config, "custom": "x"}, "given")
