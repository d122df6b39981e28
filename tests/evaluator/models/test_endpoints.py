"""How endpoints differ: some only stream, some answer in parts, some are busy when a run begins."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image

from evaluator.models.api import RETRIES, TIMEOUT, answer_of, load_answering
from evaluator.models.contracts import FAILED, Answer, Chat, GenerationConfig
from evaluator.models.registry import name_of_spec
from generator.base.errors import UserError
from tests.evaluator.chat import Chat as Handler
from tests.evaluator.chat import Server, completion, serving

BUSY = 5
"""How often a busy server refuses, which is more than the retries of an endpoint that has never
answered."""


class Odd(Handler):
    """The name of the model says how it behaves."""

    def answer(self, request: dict[str, Any], pictures: list[int], text: str) -> None:
        model, times = request["model"], self.asked.total()
        if model == "busy" and times <= BUSY:
            self.fail(503 if times % 2 else 429, "the model is loading")
        elif model == "streams" and not request.get("stream"):
            self.fail(
                400, "This model only support stream mode, please enable the stream parameter."
            )
        elif model == "streams":
            parts = [
                {"reasoning_content": "Not A."},
                {"content": "The answer "},
                {"content": "is B."},
                {},
            ]
            lines = [self.part(delta) for delta in parts]
            usage = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}
            lines.append({**self.part({}), "choices": [], "usage": usage})
            body = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
            self.send(200, body.encode(), "text/event-stream")
        elif model == "wrong":
            self.fail(
                400,
                f"sorry, {self.headers['Authorization'].removeprefix('Bearer ')} is a sixth sense",
            )
        else:
            self.send(200, json.dumps(completion(model, "B")).encode())

    def part(self, delta: dict[str, str]) -> dict[str, Any]:
        finish = None if delta else "stop"
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "served",
            "choices": [choice],
        }


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", "s")
    with serving(Odd) as running:
        yield running


def answer(server: Server, model: str, **arguments: Any) -> Answer:
    """The answer to one question."""
    answers: list[Answer] = []
    chat = Chat("name", lambda: [Image.new("RGB", (8, 8))], "A or B?", 0)
    answerer = load_answering(server.spec(model).removeprefix("api:"), None, **arguments)
    answerer.answer_all(
        [chat], GenerationConfig(10, 0.0), keep=lambda _, reply: answers.append(reply)
    )
    return answers[0]


def test_a_server_that_only_streams_is_asked_to_stream(server: Server) -> None:
    reply = answer(server, "streams")
    assert reply == Answer("<think>Not A.</think>\nThe answer is B.", "stop", 30, 5, "served")


def test_a_server_that_is_busy_at_first_does_not_end_the_run(server: Server) -> None:
    assert answer(server, "busy").text == "B"
    assert BUSY < server.asked.total() <= RETRIES


def test_a_key_of_one_letter_hides_no_letters_in_messages(server: Server) -> None:
    reply = answer(server, "wrong")
    assert reply.finish.startswith(FAILED)
    assert "sorry, s is a sixth sense" in reply.finish


def test_a_long_key_is_hidden(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    assert "very-secret" not in answer(server, "wrong").finish


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("B", "B"),
        ([{"type": "text", "text": "The answer"}, {"type": "text", "text": " is B."}], "The answer is B."),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "A?"}]}, {"type": "text", "text": "B"}],
         "<think>A?</think>\nB"),
        (["B"], "B"),
        ([], ""),
        (None, ""),
    ],
)  # fmt: skip
def test_the_content_of_a_message_may_be_a_list(content: Any, text: str) -> None:
    message = {"role": "assistant", "content": content}
    assert answer_of({"choices": [{"message": message, "finish_reason": "stop"}]}).text == text


def test_a_timeout_is_an_argument_of_two_minutes_by_default() -> None:
    place = "http://localhost:1/v1@m"
    assert load_answering(place, None)._endpoint._client.timeout == TIMEOUT == 120
    assert load_answering(place, None, timeout=7)._endpoint._client.timeout == 7


def test_arguments_of_requests_are_not_in_the_name_of_a_model() -> None:
    spec = "api:http://localhost:1/v1@a/b"
    assert (
        name_of_spec(f"{spec},concurrency=3")
        == name_of_spec(f"{spec},timeout=9,concurrency=64")
        == spec
    )
    assert name_of_spec("vqa:x,concurrency=3") == "vqa:x,concurrency=3"


def test_a_server_that_is_down_is_said_soon(server: Server) -> None:
    spec = server.spec("plain")
    server.stop()
    with pytest.raises(UserError, match="does not answer"):
        load_answering(spec.removeprefix("api:"), None).answer_all(
            [Chat("name", list, "A or B?", 0)], GenerationConfig(10, 0.0), keep=lambda _, __: None
        )
