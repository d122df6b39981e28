"""A benchmark of every protocol whose captions name their picture, and a server that answers by fixed rules."""

import base64
import io
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image

from tests.evaluator.synthetic import Builder, add_pair, one_of_each

PICTURE = re.compile(r"of picture (\d+)")
NO_PICTURE = 5000
"""False captions name pictures from here on, which do not exist."""


def write_benchmark(folder: Path, builder: Builder) -> Path:
    """Write the items of a builder as a table of `table:`, with a picture whose color is its number for each scene."""
    rows = pd.DataFrame(builder.candidates).merge(pd.DataFrame(builder.items), on="item_id")
    number = rows["scene_id"].str[1:].astype(int)
    true_of = dict(zip(rows["text_id"][rows["truth"]], number[rows["truth"]], strict=True))
    named = [true_of.get(text, NO_PICTURE + place) for place, text in enumerate(rows["text_id"])]
    rows["words"] = [f"caption {text} of picture {n}" for text, n in zip(rows["text_id"], named, strict=True)]
    texts = pd.DataFrame(builder.texts).set_index("text_id")[["level", "n_objects", "n_attributes", "n_relations"]]
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


class Rules(BaseHTTPRequestHandler):
    """Answers POST /v1/chat/completions by the rule that the model's name is."""

    protocol_version = "HTTP/1.1"
    asked: Counter[tuple[Any, ...]]
    at_once: Counter[str]
    answers: int
    """How many requests are answered before the server breaks."""
    wait: float
    lock: threading.Lock

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        *shown, words = request["messages"][0]["content"]
        pictures = []
        for each in shown:
            data = base64.b64decode(each["image_url"]["url"].partition(",")[2])
            red, green, _ = Image.open(io.BytesIO(data)).getpixel((0, 0))  # type: ignore[misc]
            pictures.append(256 * red + green)
        model, text = request["model"], words["text"]
        with self.lock:
            self.asked[model, tuple(pictures), text, request.get("seed")] += 1
            self.at_once["now"] += 1
            self.at_once["most"] = max(self.at_once.values())
            broken = self.asked.total() > self.answers
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
            said, finish = say(model, pictures, text, request.get("seed", 0))
            self.send(200, json.dumps(completion(model, said, finish)).encode())

    def fail(self, status: int, message: str) -> None:
        """An error as OpenAI gives it."""
        self.send(status, json.dumps({"error": {"message": message}}).encode())

    def send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        """A response. The next request may come before this method ends."""
        with self.lock:
            self.at_once["now"] -= 1
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(body)


def completion(model: str, said: str, finish: str) -> dict[str, Any]:
    """A chat completion."""
    message = {"role": "assistant", "content": said}
    usage = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": f"{model}-2026",
        "choices": choices,
        "usage": usage,
    }


def say(rule: str, pictures: list[int], text: str, seed: int) -> tuple[str, str]:
    """The answer of a rule to a question, and why it ends.

    `first` says A, or yes; `true` the truth; `errs` reasons rightly and errs; `even` is right where the picture that
    is named first is even; `sometimes` is right by the seed.
    """
    named = [int(n) for n in PICTURE.findall(text)]
    if len(pictures) > 1:
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
        "errs": (f"<think>It shows it. Answer: {labels[right]}</think>\nSo, my final answer: {wrong}", "stop"),
        "refuses": ("I'm sorry, but I can't help with that.", "stop"),
        "filtered": ("", "content_filter"),
        "cut": (f"Let me see. The answer is {labels[right]}", "length"),
        "rambles": ("The picture is lovely.", "stop"),
        "even": (labels[right] if of % 2 == 0 else wrong, "stop"),
        "sometimes": (labels[right] if seed % 10 else wrong, "stop"),
    }[rule]


class Server:
    """A running server. asked: how often each question was asked. at_once: the most requests at once."""

    def __init__(self, answers: int = 10**9, wait: float = 0.0):
        shared = {"asked": Counter(), "at_once": Counter(), "answers": answers, "wait": wait, "lock": threading.Lock()}
        self.handler: Any = type("Handler", (Rules,), shared)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def asked(self) -> Counter[tuple[Any, ...]]:
        """How often each question was asked: model, pictures, words, seed."""
        asked: Counter[tuple[Any, ...]] = self.handler.asked
        return asked

    def spec(self, rule: str, **more: object) -> str:
        """How the model of a rule is named."""
        arguments = "".join(f",{name}={value}" for name, value in more.items())
        return f"api:http://127.0.0.1:{self._server.server_address[1]}/v1@{rule}{arguments}"

    def stop(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serving(**how: Any) -> Iterator[Server]:
    """A server while the context lasts."""
    running = Server(**how)
    try:
        yield running
    finally:
        running.stop()
