"""Models on this machine that answer in words: a tiny LLaVA that is set to one answer, and objects
of a user's own."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from PIL import Image

from evaluator.api import ask
from generator.base.errors import UserError
from generator.base.files import read_json
from tests.conftest import succeed
from tests.evaluator.conftest import Tiny, assert_one_sentence, score_command
from tests.evaluator.models.test_vqa import make_llava
from tests.evaluator.scoring.words.rules import (
    answers_of,
    captions_of_items,
    every_protocol,
    items_of,
    say,
)


def stubborn(folder: Path, *answer: str, ends: bool = True) -> Path:
    """A tiny LLaVA whose answer to everything is these words, since each token alone decides the
    next one."""
    import transformers as t

    model = t.AutoModelForImageTextToText.from_pretrained(make_llava(folder))
    tokenizer = t.AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "language_model" in name and name.endswith(("o_proj.weight", "down_proj.weight")):
                weights.zero_()
        words = torch.nn.functional.normalize(
            torch.randn(len(tokenizer), model.config.text_config.hidden_size), dim=1
        )
        model.get_input_embeddings().weight.copy_(words)
        model.model.language_model.norm.weight.fill_(1.0)
        model.lm_head.weight.zero_()
        tokens = [
            *tokenizer.convert_tokens_to_ids([":", *answer]),
            *[tokenizer.eos_token_id] * ends,
        ]
        for before, after in pairwise(tokens):
            model.lm_head.weight[after] += 20 * words[before]
    model.save_pretrained(folder)
    return folder


def ask_llava(tmp_path: Path, folder: Path, *more: str) -> tuple[dict[str, Any], pd.DataFrame]:
    """The results of a run, and its answers."""
    benchmark, run = captions_of_items(tmp_path / "items", 12), tmp_path / "run"
    place = (
        "ask",
        f"table:{benchmark}",
        "--model",
        f"vqa:{folder}",
        "--device",
        "cpu",
        "--out",
        run,
    )
    succeed("score", *place, *more)
    return read_json(run / "results.json"), answers_of(run)


def test_a_llava_that_always_says_a(tmp_path: Path) -> None:
    """It is right in no item by all orders, and in one order exactly where the true caption comes
    first."""
    folder = stubborn(tmp_path / "llava", "a")
    results, answers = ask_llava(tmp_path, folder)
    assert set(answers["answer"]) == {"a"}
    assert {row["value"] for row in results["rows"] if row["unit"] == "share"} == {0.0}
    (tmp_path / "one").mkdir()
    results, answers = ask_llava(tmp_path / "one", folder, "--orders", "1")
    first = [
        options[0] == true
        for options, true in zip(answers["options"], answers["true"], strict=True)
    ]
    items = items_of(tmp_path / "one" / "run").set_index("item_id")["value"]
    assert items.to_dict() == dict(zip(answers["item_id"], map(float, first), strict=True))
    assert 0 < sum(first) < len(first)
    right = {position["label"]: position["right"] for position in results["answers"]["positions"]}
    assert right["A"] == pytest.approx(sum(first) / len(first))


@pytest.mark.full
@pytest.mark.parametrize(("form", "word"), [("choice", "a"), ("yes-no", "Yes")])
def test_a_llava_that_always_says_the_same_is_never_right(
    tmp_path: Path, form: str, word: str
) -> None:
    """In every protocol, with two images too."""
    folder, benchmark = stubborn(tmp_path / "llava", word), every_protocol(tmp_path / "items")
    place = (
        "ask",
        f"table:{benchmark}",
        "--model",
        f"vqa:{folder}",
        "--device",
        "cpu",
        "--out",
        tmp_path / "run",
    )
    succeed("score", *place, "--form", form, "--max-tokens", "4")
    rows = [
        row
        for row in read_json(tmp_path / "run" / "results.json")["rows"]
        if row["unit"] == "share"
    ]
    right = [
        row
        for row in rows
        if row["error"] is None and row["items"] and row["metric"] != "brittleness"
    ]
    assert len({row["protocol"] for row in right}) == 10
    assert {row["value"] for row in right} == {0.0}
    assert all(row["ties"] == row["items"] for row in right if form == "yes-no")


def test_a_llava_that_never_ends(tmp_path: Path) -> None:
    folder = stubborn(tmp_path / "llava", "Yes", "Yes", ends=False)
    results, answers = ask_llava(tmp_path, folder, "--max-tokens", "5", "--form", "yes-no")
    assert set(answers["finish"]) == {"length"}
    assert results["answers"]["cut_off"] == results["answers"]["answers"] == 24
    # An answer that is cut off is wrong, and no answer is left that was read.
    shares = [row for row in results["rows"] if not row["is_gap"]]
    assert {(row["value"], row["value_read"]) for row in shares} == {(0.0, None)}
    assert all(row["unread"] == row["items"] > 0 for row in shares)


class Right:
    """A model that tells the truth, and counts how often it is asked."""

    key = "right"
    question_count = 0

    def answer(self, images: list[Image.Image], question: str, sample: int) -> str:
        red, green, _ = images[0].getpixel((0, 0))  # type: ignore[misc]
        Right.question_count += 1
        return say("true", [256 * red + green], question, sample)[0]


def test_an_object_in_memory_and_a_clip_are_compared_item_by_item(
    tmp_path: Path, tiny: Callable[..., Tiny]
) -> None:
    """`score compare` puts a model that answers in words beside one that gives scores, on the same
    items."""
    benchmark = captions_of_items(tmp_path / "items", 30)
    evaluation = ask(Right(), f"table:{benchmark}", out=tmp_path / "words")
    assert {
        row["value"]
        for row in evaluation.results["rows"]
        if row["metric"] == "accuracy" and not row["is_gap"]
    } == {1.0}
    before = Right.question_count
    assert ask(Right(), f"table:{benchmark}", name="Right").results["rows"]
    assert Right.question_count == before
    clip = tiny("long", context_length=40)
    spec = f"open_clip:long@{clip.save(tmp_path / 'clip.pt')}"
    succeed(
        "score run",
        f"table:{benchmark}",
        "--model",
        spec,
        "--device",
        "cpu",
        "--out",
        tmp_path / "scores",
    )
    compared = succeed("score compare", tmp_path / "words", tmp_path / "scores")
    assert "30 of 30 items are compared" in compared.stdout
    with pytest.raises(UserError, match="has no method answer"):
        ask(object(), f"table:{benchmark}")
    assert_one_sentence(
        score_command("measure", tmp_path / "words", "--channel", "cosine"),
        "The run has no channel 'cosine'",
    )
