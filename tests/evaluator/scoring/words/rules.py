"""A benchmark of every protocol whose captions name their picture, and a server that answers by
fixed rules."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from tests.evaluator.chat import Chat, completion
from tests.evaluator.synthetic import Builder, add_pair, one_of_each

PICTURE = re.compile(r"of picture (\d+)")
NO_PICTURE = 5000
"""False captions name pictures from here on, which do not exist."""


def write_benchmark(folder: Path, builder: Builder) -> Path:
    """Write the items of a builder as a table of `table:`, with a picture whose color is its number
    for each scene."""
    rows = pd.DataFrame(builder.candidates).merge(pd.DataFrame(builder.items), on="item_id")
    number = rows["scene_id"].str[1:].astype(int)
    true_of = dict(zip(rows["text_id"][rows["truth"]], number[rows["truth"]], strict=True))
    named = [true_of.get(text, NO_PICTURE + place) for place, text in enumerate(rows["text_id"])]
    rows["words"] = [
        f"caption {text} of picture {n}" for text, n in zip(rows["text_id"], named, strict=True)
    ]
    texts = pd.DataFrame(builder.texts).set_index("text_id")[
        ["level", "n_objects", "n_attributes", "n_relations"]
    ]
    table = pd.DataFrame(
        {
            "item": rows["item_id"],
            "protocol": rows["protocol"],
            "split": rows["split"],
            "kind": rows["kind_y"],
            "skill": rows["skill"],
            "cluster": rows["cluster_id"],
            "image": rows["scene_id"] + ".png",
            "text": rows["words"],
            "slot": rows["slot"],
            "truth": rows["truth"],
            "candidate_kind": rows["kind_x"],
        }
    ).join(texts, on=rows["text_id"])
    folder.mkdir(parents=True, exist_ok=True)
    for scene in set(rows["scene_id"]):
        n = int(scene[1:])
        Image.new("RGB", (16, 8), (n // 256, n % 256, 7)).save(folder / f"{scene}.png")
    table.to_csv(folder / "items.csv", index=False)
    return folder / "items.csv"


def every_protocol(folder: Path, times: int = 1) -> Path:
    """A benchmark with items of every protocol but retrieval."""
    builder = one_of_each(Builder(), times)
    for _ in range(times):
        add_pair(builder)
    return write_benchmark(folder, builder)


def captions_of_items(folder: Path, n: int) -> Path:
    """A benchmark of n items of `binary`."""
    builder = Builder(scenes=20)
    for _ in range(n):
        builder.add("binary", "swap", [("c", True, None), ("n", False, None)])
    return write_benchmark(folder, builder)


def items_of(run: Path) -> pd.DataFrame:
    """The items of a run in words; `even`: whether their scene has an even number."""
    items = pd.read_csv(run / "tables" / "items.csv")
    return items.assign(
        even=items["scene_id"].str.extract(r"(\d+)", expand=False).astype(int) % 2 == 0
    )


def answers_of(run: Path) -> pd.DataFrame:
    """The answers of a run in words."""
    return pd.read_parquet(run / "answers.parquet")


class Rules(Chat):
    """Answers by the rule that the model's name is."""

    answers = 10**9
    """How many requests are answered before the server breaks."""
    wait = 0.0

    def answer(self, request: dict[str, Any], pictures: list[int], text: str) -> None:
        model, broken = request["model"], self.asked.total() > self.answers
        time.sleep(self.wait)
        if model == "page":
            self.send(200, b"<html>welcome</html>", "text/html")
        elif model == "closed":
            self.fail(401, f"wrong key: {self.headers['Authorization'].removeprefix('Bearer ')}")
        elif model == "busy":
            self.fail(429, "slow down")
        elif model == "small" and any(picture % 2 for picture in pictures):
            self.fail(413, "the image is too large")
        elif model == "reasoner" and ("max_tokens" in request or "temperature" in request):
            name = "max_tokens" if "max_tokens" in request else "temperature"
            self.fail(400, f"Unsupported parameter: '{name}' is not supported with this model.")
        elif broken:
            self.fail(500, "out of order")
        else:
            reply = say(model, pictures, text, request.get("seed", 0))
            self.send(200, json.dumps(completion(model, *reply)).encode())


def say(rule: str, pictures: list[int], text: str, seed: int) -> tuple[str, str]:
    """The answer of a rule to a question, and why it ends.

    `first` says A, or yes; `true` the truth; `errs` reasons rightly and errs; `even` is right where
    the picture that
    is named first is even; `sometimes` is right by the seed; `blind` chooses by the words of the
    options alone.
    """
    if rule == "blind":
        options = sorted(
            re.findall(r"^([A-E])\. (.*)$", text, re.MULTILINE), key=lambda option: option[1]
        )
        return options[0][0] if options else "A", "stop"
    named = [int(n) for n in PICTURE.findall(text)]
    if (
        len(pictures) > 1 and len(named) > 1
    ):  # assignments: each option names the first picture's caption first
        right, n = named[::2].index(pictures[0]), 2
    elif len(pictures) > 1:
        right, n = pictures.index(named[0]), len(pictures)
    elif len(named) > 1:
        right, n = named.index(pictures[0]), len(named)
    else:
        right, n = int(named != pictures), 2
    labels = ("yes", "no") if len(named) == 1 and len(pictures) == 1 else "ABCDE"
    wrong = labels[(right + 1) % n]
    of = pictures[0] if len(pictures) == 1 else named[0]
    return {
        "first": (labels[0], "stop"),
        "true": (f"The answer is {labels[right]}.", "stop"),
        "reasoner": (labels[right], "stop"),
        "small": (labels[right], "stop"),
        "errs": (
            f"<think>It shows it. Answer: {labels[right]}</think>\nSo, my final answer: {wrong}",
            "stop",
        ),
        "refuses": ("I'm sorry, but I can't help with that.", "stop"),
        "filtered": ("", "content_filter"),
        "cut": (f"Let me see. The answer is {labels[right]}", "length"),
        "rambles": ("The picture is lovely.", "stop"),
        "even": (labels[right] if of % 2 == 0 else wrong, "stop"),
        "sometimes": (labels[right] if seed % 10 else wrong, "stop"),
    }[rule]
