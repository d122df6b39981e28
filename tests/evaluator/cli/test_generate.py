"""`score generate` draws with the model that `score train scratch` makes."""

import json
from pathlib import Path

import pytest
from PIL import Image

from evaluator.training import networks
from tests.evaluator.conftest import score_command
from tests.evaluator.training.test_new_diffusion import TINY


def test_a_trained_model_draws_seen_and_unseen_captions(
    class_lists: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(networks._UNETS, "tiny", TINY)
    name = ("--benchmark", "gzsl-relational-b0", "--device", "cpu")
    few = ("--architecture", "diffusion", "--epochs", "1", "--batch", "8")
    done = score_command("train", "scratch", class_lists, "--out", tmp_path / "m", *few, *name)
    assert done.exit_code == 0, done.stderr
    model, out = f"scratch=jackalope:{tmp_path / 'm'}", tmp_path / "out"
    done = score_command("generate", model, class_lists, "--out", out, "--captions", "1", "--steps", "2", *name)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == f"{out / 'sheet.png'}\n"
    record = json.loads((out / "drawings.json").read_text())
    assert [entry["split"] for entry in record["captions"]] == ["train", "id_test", "ood_test"]
    assert record["request"]["guidance"] == 7.0
    for entry in record["captions"]:
        assert Image.open(out / entry["images"]["scratch"]["drawn"]).size == (16, 16)
