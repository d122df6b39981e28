"""The commands `score train`: their recipes, their records, and what they print."""

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from evaluator.training import session
from evaluator.training.methods import METHODS, Labclip, Method, Scratch
from generator.dataset.reader import Dataset
from tests.evaluator.conftest import (
    SHORT_TRAINING,
    Tiny,
    assert_one_sentence,
    score_command,
    score_json,
    succeed,
)
from tests.evaluator.training.conftest import read


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Stands for training, which takes minutes; holds the arguments of each call by name."""
    calls: list[dict[str, Any]] = []
    parameters = inspect.signature(session.train)

    def train(*arguments: Any, **named: Any) -> dict[str, Any]:
        calls.append(parameters.bind(*arguments, **named).arguments)
        return {"losses": [3.5]}

    monkeypatch.setattr(session, "train", train)
    return calls


def test_options_become_a_recipe(
    trained: list[dict[str, Any]], drawn: Path, tmp_path: Path
) -> None:
    options = (
        "--epochs",
        "1",
        "--seed",
        "4",
        "--texts",
        "graded",
        "--negatives",
        "none",
        "--positives",
        "swap,replace",
    )
    more = (
        "--batch",
        "8",
        "--rate",
        "0.5",
        "--images-per-class",
        "3",
        "--architecture",
        "dual-vit",
        "--size",
        "small",
    )
    done = succeed("train", "scratch", drawn, "--out", tmp_path / "m", *options, *more)
    (call,) = trained
    kinds = {"texts": "graded", "negatives": "none", "positives": "swap,replace"}
    numbers = {"epochs": 1, "seed": 4, "batch": 8, "rate": 0.5, "images_per_class": 3}
    assert call["method"] == Scratch(**kinds, **numbers, architecture="dual-vit", size="small")
    assert (call["out"], call["model"], call["device"]) == (tmp_path / "m", "", None)
    assert call["source"].record["name"]
    assert done.stdout == f"{tmp_path / 'm'}\n"
    assert (
        f"Loss 3.50 → 3.50. Next: score run {drawn} --model jackalope:{tmp_path / 'm'}"
        in done.stderr
    )
    done = score_command("train", "scratch", drawn, "--out", tmp_path / "m", "--json")
    assert json.loads(done.stdout) == {"model": str(tmp_path / "m"), "losses": [3.5]}
    assert trained[1]["method"] == Scratch()


@pytest.mark.parametrize("method", METHODS.values())
def test_a_command_has_the_options_of_its_method(method: type[Method]) -> None:
    known = {field.name for field in fields(method)}
    assert set(method.options) <= known
    help_text = score_command("train", method.name, "--help").stdout
    for name in method.options:
        assert f"--{name.replace('_', '-')}" in help_text
    assert ("--preset" in help_text) is method.continues_model


def test_a_preset_is_changed_by_options_and_says_what_was_chosen(
    trained: list[dict[str, Any]], drawn: Path, tmp_path: Path
) -> None:
    done = succeed(
        "train",
        "labclip",
        drawn,
        "--model",
        "open_clip:a@b",
        "--out",
        tmp_path / "m",
        "--batch",
        "8",
    )
    talk = (
        "Preset labclip-pug. Published (Koishigarina et al. 2026): epochs, rate, decay, negatives. "
        "Given by you: "
        "batch.\n"
    )
    assert talk in done.stderr
    assert trained[0]["method"] == Labclip(epochs=50, batch=8, rate=1e-2)
    assert trained[0]["model"] == "open_clip:a@b"


def test_a_result_of_another_base_is_refused(
    drawn: Path, tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    """The same recipe and data, and the base has other weights now."""
    base = f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"
    arguments = (
        "train",
        "finetune",
        drawn,
        "--model",
        base,
        "--out",
        tmp_path / "m",
        *SHORT_TRAINING,
    )
    for line in ("Loss ", "is finished: it holds the result of this training"):
        done = succeed(*arguments)
        assert line in done.stderr
    state = {
        name: weight + 1 if weight.is_floating_point() else weight
        for name, weight in tiny().state.items()
    }
    Tiny("tiny", tiny().config, state).save(tmp_path / "tiny.pt")
    done = score_command(*arguments)
    assert done.exit_code == 2
    assert "is not empty; choose another --out" in done.stderr


@pytest.fixture
def corpus(drawn: Path, tmp_path: Path) -> Path:
    """Two images with a caption and a swap each."""
    lines = []
    for name, image in zip("ab", (drawn / "world" / "images").iterdir(), strict=False):
        (tmp_path / f"{name}.png").write_bytes(image.read_bytes())
        negatives = {"swap": [f"a cube and a {name}"]}
        lines.append(
            {"image": f"{name}.png", "caption": f"a {name} and a cube", "negatives": negatives}
        )
    path = tmp_path / "corpus.json"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_every_recipe_trains_on_a_corpus(corpus: Path, tmp_path: Path, little: None) -> None:
    """A file of JSON lines, whatever it is called. It has no questions, so the next command is on a
    dataset."""
    few = ("--epochs", "1", "--batch", "2", "--device", "cpu")
    for arguments in (
        ("scratch", corpus, "--out", tmp_path / "scratch", "--negatives", "swap"),
        (
            "labclip",
            corpus,
            "--model",
            f"jackalope:{tmp_path / 'scratch'}",
            "--out",
            tmp_path / "labclip",
        ),
        (
            "finetune",
            corpus,
            "--model",
            f"jackalope:{tmp_path / 'labclip'}",
            "--out",
            tmp_path / "finetune",
        ),
    ):
        done = succeed("train", *arguments, *few)
        model = tmp_path / arguments[0]
        assert f"Next: score run DATASET --model jackalope:{model}\n" in done.stderr
        assert json.loads((model / "jackalope.json").read_text())["name"] == "corpus.json"


def test_a_diffusion_model_learns_from_the_captions_of_a_corpus_alone(
    trained: list[dict[str, Any]], corpus: Path, tmp_path: Path
) -> None:
    scratch = ("train", "scratch", corpus, "--out", tmp_path / "m")
    succeed(*scratch, "--architecture", "diffusion")
    assert trained[0]["method"].negatives == "none"


def test_the_next_command_names_the_benchmark(
    trained: list[dict[str, Any]], class_lists: Path, tmp_path: Path
) -> None:
    """Where a dataset has several, the command would be refused without it."""
    options = (
        "--benchmark",
        "gzsl-single-b0",
        "--negatives",
        "none",
        "--out",
        tmp_path / "a model",
    )
    done = score_command("train", "finetune", class_lists, "--model", "open_clip:a@b", *options)
    next_command = (
        f"Next: score run {class_lists} --benchmark gzsl-single-b0 --model "
        f"'jackalope:{tmp_path / 'a model'}'"
    )
    assert next_command in done.stderr


@pytest.mark.parametrize(
    "task",
    [
        "single",
        "relational",
        *(pytest.param(n, marks=pytest.mark.full) for n in ("two-object", "three-object")),
    ],
)
def test_every_recipe_trains_on_class_lists(
    class_lists: Path, tmp_path: Path, little: None, task: str
) -> None:
    """Each image has one caption, its label, which of the relational dataset states a relation; and
    no negatives."""
    opened = Dataset.open(class_lists)
    name = f"gzsl-{task}-b0"
    data = read(opened.world, opened.benchmark(name))
    assert data.captions.shape == (24, 1)
    assert all(re.search("to the (left|right) of", text) for text in data.texts) is (
        task == "relational"
    )
    assert data.mirrored is (task != "relational")
    few = ("--benchmark", name, "--epochs", "2", "--batch", "8", "--device", "cpu")
    for arguments in (
        ("scratch", class_lists, "--out", tmp_path / "scratch"),
        ("pretrain", class_lists, "--out", tmp_path / "pretrain"),
        (
            "labclip",
            class_lists,
            "--model",
            f"jackalope:{tmp_path / 'scratch'}",
            "--out",
            tmp_path / "labclip",
        ),
        (
            "finetune",
            class_lists,
            "--model",
            f"jackalope:{tmp_path / 'labclip'}",
            "--out",
            tmp_path / "finetune",
        ),
    ):
        done = score_command("train", *arguments, *few)
        if (arguments[0], task) == ("pretrain", "relational"):
            assert_one_sentence(done, "No text of these benchmarks names one object")
        else:
            assert done.exit_code == 0, done.stderr
    scored = (
        "run",
        class_lists,
        "--benchmark",
        name,
        "--model",
        f"jackalope:{tmp_path / 'finetune'}",
    )
    rows = score_json(*scored, "--device", "cpu", "--out", tmp_path / "run")["rows"]
    assert {row["split"] for row in rows if row["metric"] == "GZSL"} == {
        "id_val",
        "id_test",
        "ood_val",
        "ood_test",
    }
