"""Captioners: training from descriptions, what is saved, and what they answer."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from evaluator.models.captioner import (
    load_captioner,
    save_captioner,
    split_pieces,
)
from evaluator.models.contracts import Answer, Answerer, Chat, GenerationConfig
from evaluator.models.registry import load_answering
from evaluator.runs.asking import load_images
from evaluator.runs.describe import describe_images
from evaluator.runs.request import AskRequest
from evaluator.training import networks
from evaluator.training.captioning import Captioning
from evaluator.training.data import Steps
from evaluator.training.methods import Scratch
from evaluator.training.session import train
from generator.base.errors import UserError
from generator.dataset.descriptions.description import description_of
from generator.dataset.descriptions.json_reader import write_json
from generator.dataset.image_truths import read_truths
from generator.dataset.reader import Benchmark, World
from tests.conftest import refuse
from tests.evaluator.conftest import succeed

GREEDY = GenerationConfig(max_tokens=1024, temperature=0.0)
FEW = 6


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """New captioners are small enough for a test."""
    size = {"image_size": 32, "width": 32, "layers": 1, "heads": 2}
    monkeypatch.setitem(networks.NETWORKS["captioner"], "tiny", size)


def trained(drawn: Path, out: Path, seed: int = 0) -> dict[str, Any]:
    recipe = Scratch(architecture="captioner", batch=24, steps=4, seed=seed)
    return train(recipe, recipe.source([drawn]), out, device="cpu")


def described(captioner: Answerer, world: World, scenes: list[str]) -> list[Answer]:
    """The captioner's answers about some images."""
    answers: dict[str, Answer] = {}

    def keep(chat: Chat, answer: Answer) -> None:
        answers[chat.name] = answer

    chats = []
    for scene in scenes:
        chats.append(Chat(scene, partial(load_images, world, [scene]), "Describe.", schema={}))
    captioner.answer_all(chats, GREEDY, keep=keep)
    return [answers[scene] for scene in scenes]


def test_a_description_is_its_pieces() -> None:
    text = '[{"category": "cube", "color": "red"}, {"category": "cone", "color": "blue"}]'
    pieces = split_pieces(text)
    assert "".join(pieces) == text
    assert pieces[:4] == ["[{", '"category": "cube"', ", ", '"color": "red"']
    assert split_pieces("[]") == ["[]"]


def test_the_same_seed_trains_the_same_captioner(drawn: Path, world: World, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        trained(drawn, tmp_path / name, seed=seed)
    first, same, other = (
        load_answering(f"jackalope:{tmp_path / name}", "cpu") for name in ("a", "b", "c")
    )
    assert first.key == same.key != other.key
    scenes = ["000000", "000001"]
    assert described(first, world, scenes) == described(same, world, scenes)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        "captioner.json",
        "captioner.safetensors",
        "jackalope.json",
    ]


def test_only_the_train_split_is_learnt_and_recorded(
    drawn: Path, world: World, benchmark: Benchmark, tmp_path: Path
) -> None:
    source = Scratch(architecture="captioner").source([drawn])
    truths = {truth.scene_id: truth for truth in read_truths(world, benchmark, ["train"])}
    assert set(source.data.scenes) == truths.keys()
    for row, scene in enumerate(source.data.scenes):
        (text,) = source.data.captions[row]
        assert source.data.texts[text] == write_json(description_of(truths[scene]))

    record = trained(drawn, tmp_path / "model")
    held_out = next(iter(truths.values())).held_out
    exposure = load_answering(f"jackalope:{tmp_path / 'model'}", "cpu").exposure
    assert exposure is not None
    bindings = {(value, category) for kind, value, category in exposure.objects if kind == "color"}
    assert bindings
    assert not bindings & held_out
    assert exposure.complete
    assert record["losses"]


def test_what_is_saved_answers_as_before(drawn: Path, world: World, tmp_path: Path) -> None:
    recipe = Scratch(architecture="captioner", batch=24, steps=4)
    source = recipe.source([drawn])
    model = recipe.begin(source.data, "", "cpu").model
    out = tmp_path / "untrained"
    out.mkdir()
    save_captioner(model, out)
    scenes = source.data.scenes[:3]
    assert described(load_captioner(out, "cpu"), world, scenes) == described(model, world, scenes)

    (out / "captioner.safetensors").write_bytes(b"nothing")
    with pytest.raises(UserError, match="is damaged"):
        load_captioner(out, "cpu")


def test_a_captioner_that_learns_few_images_by_heart_describes_them(
    drawn: Path, world: World
) -> None:
    recipe = Scratch(architecture="captioner", batch=FEW, steps=150, rate=3e-3)
    data = recipe.source([drawn]).data.subset(range(FEW))
    training = recipe.begin(data, "", "cpu")
    # Shifts of the images are left out, so that there is nothing but these images to learn.
    learner = Captioning(training.model, data, recipe=recipe)
    optimizer = torch.optim.AdamW(learner.network.parameters(), lr=recipe.rate)
    steps = Steps(data, batch=FEW, epochs=1, seed=0, count=recipe.steps)
    for number in range(len(steps)):
        optimizer.zero_grad()
        learner.loss(steps[number], number).backward()
        optimizer.step()
    answers = described(training.model, world, data.scenes)
    texts = [data.texts[text] for (text,) in data.captions]
    assert [answer.text for answer in answers] == texts
    assert {answer.finish for answer in answers} == {"stop"}
    assert answers[0].completion_tokens == len(split_pieces(texts[0]))


def test_the_commands_train_and_ask(drawn: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    train_options = ("--architecture", "captioner", "--steps", "2", "--batch", "24")
    done = succeed("train", "scratch", drawn, *train_options, "--out", model, "--device", "cpu")
    assert f"Next: score ask {drawn} --form describe --model jackalope:{model}" in done.stderr
    request = AskRequest(
        dataset=str(drawn), model=f"jackalope:{model}", form="describe", device="cpu", limit=4
    )
    results = describe_images(request, tmp_path / "run")
    assert results["answers"]["images"] == 12
    assert "CONTAMINATED" not in results["training"]
    assert results["info"]["trained_on"]["method"] == "scratch"
    assert json.loads((model / "jackalope.json").read_text())["recipe"]["negatives"] == "none"


def test_other_questions_are_refused(drawn: Path, tmp_path: Path) -> None:
    trained(drawn, tmp_path / "model")
    spec = f"jackalope:{tmp_path / 'model'}"
    asked_model = ("--model", spec, "--device", "cpu", "--out")
    refuse(
        "describes images and scores no texts",
        *("score", "run", drawn, *asked_model, tmp_path / "run"),
    )
    other_questions: dict[str, tuple[str, ...]] = {
        "choices": (),
        "attributes": ("--form", "attributes"),
        "prose": ("--form", "describe", "--answer", "prose"),
    }
    for name, options in other_questions.items():
        message = "describes images as JSON and answers no other question"
        refuse(message, "score", "ask", drawn, *options, *asked_model, tmp_path / name)
    sampled = ("score", "ask", drawn, "--form", "describe", "--temperature", "0.5")
    refuse("A captioner answers at temperature 0", *sampled, *asked_model, tmp_path / "sampled")


def test_a_model_that_scores_texts_is_not_asked(drawn: Path, tmp_path: Path, little: None) -> None:
    recipe = Scratch(steps=1, batch=8)
    train(recipe, recipe.source([drawn]), tmp_path / "dual", device="cpu")
    with pytest.raises(UserError, match="does not answer in words; name a captioner"):
        load_answering(f"jackalope:{tmp_path / 'dual'}", "cpu")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--negatives", "swap"), "A captioner learns from captions, not from negatives"),
        (("--texts", "plain"), "A captioner learns from descriptions"),
        (("--positives", "swap"), "A captioner learns from descriptions"),
    ],
)
def test_options_without_effect_are_refused(
    drawn: Path, tmp_path: Path, options: tuple[str, str], message: str
) -> None:
    architecture = ("--architecture", "captioner")
    refuse(
        message,
        "score",
        "train",
        "scratch",
        drawn,
        *architecture,
        *options,
        "--out",
        tmp_path / "m",
    )


def test_a_corpus_is_refused(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"image": "a.png", "caption": "a red cube"}\n')
    with pytest.raises(UserError, match="has no record of its scenes"):
        Scratch(architecture="captioner").source([corpus])
