"""Models behind a real server: scores, runs that are continued, and what is unscored."""

import base64
import io
import json
import logging
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evaluator.models.api import RETRIES, ApiScorer, data_url, load_api, parse_place
from evaluator.models.registry import load_model
from generator.base.errors import UserError
from generator.base.files import read_json
from tests.conftest import succeed
from tests.evaluator.chat import Chat, Server, completion, serving
from tests.evaluator.conftest import assert_one_sentence, score_command


def probability(text: str, picture: int) -> float:
    """P(yes) that the server gives a text, from its letters and the red of the image's corner."""
    return 0.05 + 0.9 * ((sum(map(ord, text)) * 31 + picture // 256) % 97) / 97


class Listing(Chat):
    """Lists the most likely tokens; the name of the model says how it behaves."""

    def answer(self, request: dict[str, Any], pictures: list[int], text: str) -> None:
        model, words = request["model"], re.findall('"(.*)"', text)[0]
        times = self.asked[model, tuple(pictures), text, None]
        if self.path == "/v1/chat/completions?to=other":
            self.complete(request, 0.5)
        elif self.path != "/v1/chat/completions" or model == "missing":
            self.fail(404, "no such model")
        elif model == "closed":
            self.fail(401, f"wrong key: {self.headers['Authorization'].removeprefix('Bearer ')}")
        elif model == "moved":
            self.send(
                307, b"", Location=f"http://{self.headers['Host']}/v1/chat/completions?to=other"
            )
        elif model == "page":
            self.send(200, b"<html>welcome</html>", "text/html")
        elif model == "busy" and times < 3:
            self.fail(429 if times == 1 else 500, "slow down")
        elif (model == "broken" and "blue" in words) or (
            model == "breaking" and self.asked.total() > 1
        ):
            self.fail(500, "out of order")
        elif model == "strict" and "blue" in words:
            self.fail(400, "I do not answer that")
        elif model == "sampling":
            self.fail(400, "logprobs are not supported")
        else:
            time.sleep(0.02 * (model == "slow"))
            self.complete(request, probability(words, pictures[0]))

    def complete(self, request: dict[str, Any], p_yes: float) -> None:
        """A chat completion: the listed tokens are those of a model that says yes with `p_yes` of
        0.9."""
        model, tokens = (
            request["model"],
            [(" Yes", 0.6 * p_yes), ("yes", 0.3 * p_yes), ("Perhaps", 0.05)],
        )
        if model == "prose":
            tokens = [("A", 0.7), ("The", 0.2)]
        elif model != "sure":
            tokens.append(("No", 0.9 * (1 - p_yes)))
        listed = [{"token": token, "logprob": math.log(p), "bytes": None} for token, p in tokens]
        listed.sort(key=lambda token: -token["logprob"])
        first = listed[0] | {"top_logprobs": listed[: request["top_logprobs"]]}
        more = {} if model == "quiet" else {"logprobs": {"content": [first]}}
        self.send(200, json.dumps(completion(model, "Yes.", **more)).encode())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving(Listing) as running:
        yield running


def load(server: Server, model: str) -> ApiScorer:
    return load_api(server.spec(model).removeprefix("api:"), None)


REDS = (3, 200)
IMAGES = [Image.new("RGB", (8, 8), (red, 0, 0)) for red in REDS]
TEXTS = ["a red cube", "a blue sphere", "two cones"]
PAIRS = [(i, text) for i in range(2) for text in TEXTS]


def test_log_probabilities(server: Server) -> None:
    """The server's own probabilities, in the order of the pairs, with several requests at once."""
    model = load_model(server.spec("slow", concurrency=3), None)
    scores = model.score_pairs(IMAGES, PAIRS)
    assert scores.dtype == np.float32
    for (image, text), (log_odds, p_yes) in zip(PAIRS, scores, strict=True):
        p = probability(text, 256 * REDS[image])
        assert (log_odds, p_yes) == (
            pytest.approx(math.log(p / (1 - p)), abs=1e-5),
            pytest.approx(0.9 * p),
        )
    assert server.asked.total() == 1 + len(PAIRS)
    assert server.handler.at_once["most"] == 3
    assert (
        server.handler.last.items()
        >= {"max_tokens": 1, "logprobs": True, "top_logprobs": 20}.items()
    )
    assert model.info["served"] == "slow-2026"


@pytest.mark.parametrize("name", ["sampling", "quiet"])
def test_without_log_probabilities_it_is_asked_in_words(server: Server, name: str) -> None:
    with pytest.raises(
        UserError, match=r"gives no log-probabilities .*; ask it in words with `score ask`"
    ):
        load(server, name)


def test_an_answer_that_is_not_listed_is_bounded_and_counted(server: Server) -> None:
    model = load(server, "sure")
    log_odds, p_yes = model.score_pairs(IMAGES, PAIRS).T
    assert log_odds == pytest.approx(
        np.log(p_yes / np.minimum(np.minimum(0.05, 0.3 / 0.9 * p_yes), 1 - p_yes - 0.05)), abs=1e-5
    )
    assert model.counts["bounded"] == len(PAIRS)


def test_prose_and_refusals_are_unscored_and_counted(server: Server) -> None:
    prose = load(server, "prose")
    assert np.isnan(prose.score_pairs(IMAGES, PAIRS)).all()
    assert prose.counts["neither yes nor no"] == len(PAIRS)
    for name in ("strict", "broken"):
        model = load(server, name)
        unscored = np.isnan(model.score_pairs(IMAGES, PAIRS)[:, 0])
        assert unscored.tolist() == ["blue" in text for _, text in PAIRS]
        assert (model.counts["refused"], model.counts["neither yes nor no"]) == (2, 0)


def test_an_endpoint_that_answers_nothing_ends_the_run(server: Server) -> None:
    model = load(server, "breaking")
    with pytest.raises(
        UserError,
        match=r"has stopped answering, 6 questions in a row \(.*out of order.*\); fix it",
    ):
        model.score_pairs(IMAGES, PAIRS)


def test_a_run_says_its_cost_and_continues(
    server: Server, drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run through an endpoint that is broken for some texts; a later run asks about those alone;
    the key is written nowhere."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    spec = server.spec("broken", concurrency=2)
    command = ("run", drawn, "--model", spec, "--protocol", "binary", "--limit", "12")
    first = succeed("score", *command, "--out", tmp_path / "a")
    record = read_json(tmp_path / "a" / "run.json")
    pairs = record["counts"]["requests"] - 1 + record["counts"]["refused"]
    assert f"{pairs} pairs of image and text to ask about, one request each" in first.stderr
    assert f"about {30 * pairs:,} prompt tokens" in first.stderr
    assert f"refused {record['counts']['refused']}" in first.stderr
    assert f"{record['model']},concurrency=2" == spec
    assert 0 < record["counts"]["refused"] < pairs
    rows = [
        row
        for row in read_json(tmp_path / "a" / "results.json")["rows"]
        if row["metric"] == "accuracy"
    ]
    assert 0 < sum(row["unscored"] or 0 for row in rows) < sum(row["items"] for row in rows)
    before = server.asked.total()
    succeed("score", *command, "--out", tmp_path / "b")
    retried = server.asked.total() - before - (1 + RETRIES) * record["counts"]["refused"]
    assert 1 < retried <= 4  # the first request, and one after each batch without an answer
    assert (tmp_path / "a" / "scores.parquet").read_bytes() == (
        tmp_path / "b" / "scores.parquet"
    ).read_bytes()
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert b"very-secret" not in file.read_bytes()


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("missing", (), "refuses 'missing' (Error code: 404"),
        ("closed", (), "put its key in the environment variable OPENAI_API_KEY"),
        ("page", (), "about an image with 'page' (its response is not a chat completion)"),
        ("plain", ("--device", "cpu"), "runs at its endpoint and not on 'cpu'"),
        ("", (), "start it or fix its URL"),
    ],
)
def test_one_sentence(
    server: Server,
    drawn: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    """Without the key, which a server may repeat; `""` is a server that is down."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    if not name:
        server.stop()
    done = score_command(
        "run", drawn, "--model", server.spec(name or "plain"), "--out", tmp_path / "run", *arguments
    )
    assert_one_sentence(done, message)
    assert "very-secret" not in done.stderr + caplog.text
    assert not (tmp_path / "run").exists()


def test_a_busy_server_is_asked_again(server: Server) -> None:
    model = load(server, "busy")
    assert np.isfinite(model.score_pairs(IMAGES, PAIRS)).all()
    assert model.counts["requests"] == 1 + len(PAIRS)
    assert server.asked.total() == 3 * (1 + len(PAIRS))


@pytest.mark.parametrize(
    "name",
    [
        "model",
        "http://host/v1",
        "http://host/v1@",
        "ftp://host@model",
        "http://me:secret@host/v1@model",
        "http:///v1@m",
        "http://h/v1?key=secret@m",
    ],
)
def test_places_that_are_refused_never_show_a_secret(name: str) -> None:
    with pytest.raises(UserError, match="Expected api:URL@MODEL") as caught:
        parse_place(name)
    assert "secret" not in caught.value.message


def test_a_model_may_begin_with_an_at() -> None:
    assert parse_place("https://host.example/ai/v1/@@cf/llava") == (
        "https://host.example/ai/v1",
        "@cf/llava",
    )
    assert parse_place("http://[::1]:80/v1@m") == ("http://[::1]:80/v1", "m")


def test_images_arrive_unchanged() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    sent = base64.b64decode(data_url(Image.fromarray(pixels)).partition(",")[2])
    assert np.array_equal(np.array(Image.open(io.BytesIO(sent))), pixels)


def test_a_redirect_is_not_followed(server: Server) -> None:
    """It would take images and questions to another host."""
    with pytest.raises(UserError, match=r"about an image with 'moved' \(Error code: 307"):
        load(server, "moved")
    assert server.asked.total() == 1
