"""Exports in the real trainers: verifiers against an endpoint on loopback, and TRL's GRPO with a
tiny vision-language model. Each library is installed into a folder of its own."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import mean
from typing import Any

import pyarrow.parquet as pq
import pytest

from generator.dataset.descriptions.tasks import gold_answer
from generator.dataset.reader import Dataset
from tests.conftest import succeed
from tests.generator.dataset.descriptions.worlds import make_world
from tests.test_wheel import environment, run

UNREADABLE = "I cannot tell."


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A world of two to four objects in all relations."""
    return make_world(tmp_path_factory, "clevr-relations", (2, 4))


class Endpoint(BaseHTTPRequestHandler):
    """Answers chat completions with the right answer, but counts with words that say nothing."""

    answers: dict[tuple[str, str], str]
    """By digest of the image and words of the question, the right answer."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        parts = {part["type"]: part for part in body["messages"][-1]["content"]}
        _, encoded = parts["image_url"]["image_url"]["url"].split(",", 1)
        digest = hashlib.sha256(base64.b64decode(encoded)).hexdigest()
        words = parts["text"]["text"]
        answer = UNREADABLE if "How many" in words else self.answers[digest, words]
        message = {"role": "assistant", "content": answer}
        is_stream = body.get("stream", False)
        reply = {
            "id": "1",
            "object": "chat.completion.chunk" if is_stream else "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "delta" if is_stream else "message": message,
                }
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        text = json.dumps(reply)
        data = (f"data: {text}\n\ndata: [DONE]\n\n" if is_stream else text).encode()
        self.send_response(200)
        kind = "text/event-stream" if is_stream else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serving(answers: dict[tuple[str, str], str]) -> Iterator[str]:
    """The URL of a running endpoint with these answers."""
    handler = type("Answering", (Endpoint,), {"answers": answers})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def rewards_by_task(folder: Path) -> dict[str, list[float]]:
    """The rewards in the traces of a run of verifiers, by task of the export."""
    (path,) = folder.glob("*/traces.jsonl")
    rewards: dict[str, list[float]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        (trace,) = json.loads(line)["traces"]
        reward = trace["rewards"]["truth_reward"]["score"]
        rewards.setdefault(trace["task"]["data"]["task"], []).append(reward)
    return rewards


@pytest.mark.full
def test_verifiers_validates_and_rolls_out_the_package(dataset: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "export"
    succeed("gen export rl", dataset.root, "--format", "verifiers", "--out", out)
    bin_, there = environment(tmp_path / "venv", Path(sys.executable), out)
    (data,) = out.glob("*/data")
    name = data.parent.name.replace("_", "-")
    local = ("--runtime.type", "subprocess", "--no-rich")
    run(bin_ / "vf-validate", name, "--only-gold", *local, "-o", tmp_path / "valid", **there)
    (summary,) = (tmp_path / "valid").glob("*/summary.json")
    outcomes = json.loads(summary.read_text(encoding="utf-8"))
    assert outcomes["total"] == outcomes["outcomes"]["valid"] == 150

    answers = {}
    for row in pq.read_table(data / "unseen.parquet").to_pylist():
        digest = hashlib.sha256(row["image"]).hexdigest()
        answers[digest, row["prompt"]] = gold_answer(row["truth"])
    there["env"] |= {"KEY": "none", "NO_PROXY": "127.0.0.1"}
    with serving(answers) as url:
        run(
            *(
                bin_ / "vf-eval",
                name,
                "--env.taskset.split",
                "unseen",
                "-n",
                "10",
                "-m",
                "scripted",
            ),
            *("--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess"),
            *("--client.base-url", url, "--client.api-key-var", "KEY"),
            *("--no-push", "--no-rich", "-o", tmp_path / "rolled"),
            **there,
        )
    rewards = rewards_by_task(tmp_path / "rolled")
    assert {task: set(values) for task, values in rewards.items()} == {
        "describe": {1.0},
        "relations": {1.0},
        "attributes": {1.0},
        "choice": {1.0},
        "count": {0.0},
    }


@pytest.mark.full
def test_the_reward_rises_when_trl_trains_a_tiny_model(dataset: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "export"
    succeed("gen export rl", dataset.root, "--format", "trl", "--tasks", "count", "--out", out)
    library = tmp_path / "library"
    install = ("uv", "pip", "install", "--quiet", "--no-deps", "--target", library, "trl>=1")
    run(sys.executable, "-m", *install, env=dict(os.environ), cwd=tmp_path)
    env: dict[str, Any] = {
        **os.environ,
        "PYTHONPATH": str(library),
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path / "home"),
    }
    program = Path(__file__).with_name("trl_training.py")
    done = subprocess.run(
        [sys.executable, program, out, tmp_path],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rewards = json.loads(done.stdout.splitlines()[-1])
    assert len(rewards) == 15
    assert mean(rewards[:3]) < 0.6
    assert mean(rewards[-3:]) > 0.9
