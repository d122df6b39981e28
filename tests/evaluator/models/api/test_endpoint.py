"""Where an endpoint is, and what is said of one that does not answer; against a real server."""

import base64
import io
import logging

import numpy as np
import pytest
from PIL import Image

from evaluator.models.api import Endpoint, RefusedError, data_url, parse_place
from generator.base.errors import UserError
from tests.evaluator.models.api.conftest import Server

IMAGE = data_url(Image.new("RGB", (4, 4), "red"))
ASKED = 'Does this show "red"?'


def endpoint(server: Server, model: str) -> Endpoint:
    url, name = parse_place(server.spec(model).removeprefix("api:"))
    return Endpoint(url, name, 4)


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
    assert parse_place("https://host.example/ai/v1/@@cf/llava") == ("https://host.example/ai/v1", "@cf/llava")
    assert parse_place("http://[::1]:80/v1@m") == ("http://[::1]:80/v1", "m")


def test_images_arrive_unchanged() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    sent = base64.b64decode(data_url(Image.fromarray(pixels)).partition(",")[2])
    assert np.array_equal(np.array(Image.open(io.BytesIO(sent))), pixels)


def test_what_is_busy_is_asked_again(server: Server) -> None:
    asked = endpoint(server, "busy")
    assert asked.ask(IMAGE, ASKED, max_tokens=1).choices
    assert len(server.requests()) == 3
    assert (asked.requests, asked.prompt_tokens, asked.completion_tokens) == (1, 100, 1)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("missing", r"refuses 'missing' \(.*no such model.*\); name a model that it serves"),
        ("closed", r"refuses 'closed' \(.*wrong key.*\); put its key in the environment variable OPENAI_API_KEY"),
    ],
)
def test_a_refusal_of_all_requests(server: Server, model: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        endpoint(server, model).ask(IMAGE, ASKED)


@pytest.mark.parametrize("model", ["breaking", "page"])
def test_a_refusal_of_one_request(server: Server, model: str) -> None:
    asked = endpoint(server, model)
    if model == "breaking":  # answers the first request alone
        asked.ask(IMAGE, ASKED)
    with pytest.raises(RefusedError):
        asked.ask(IMAGE, ASKED)


def test_a_server_that_is_down(server: Server) -> None:
    server.stop()
    with pytest.raises(UserError, match=r"does not answer \(.*\); start it or mend its URL"):
        endpoint(server, "plain").ask(IMAGE, ASKED, first=True)


def test_the_key_is_in_no_message_and_no_log(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with pytest.raises(UserError, match="wrong key: …") as caught:
        endpoint(server, "closed").ask(IMAGE, ASKED)
    assert "secret" not in caught.value.message + caplog.text
