"""A server of OpenAI's chat completions, in threads of this process; a class of its own says what
it answers."""

import base64
import io
import json
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image


class Chat(BaseHTTPRequestHandler, ABC):
    """Answers POST. What the requests of a server share are attributes of its handler."""

    protocol_version = "HTTP/1.1"
    asked: Counter[tuple[Any, ...]]
    at_once: Counter[str]
    lock: threading.Lock
    last: dict[str, Any]

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        *image_parts, words = request["messages"][0]["content"]
        pictures = []
        for image_part in image_parts:
            data = base64.b64decode(image_part["image_url"]["url"].partition(",")[2])
            red, green, _ = Image.open(io.BytesIO(data)).getpixel((0, 0))  # type: ignore[misc]
            pictures.append(256 * red + green)
        with self.lock:
            type(self).last = request
            self.asked[request["model"], tuple(pictures), words["text"], request.get("seed")] += 1
            self.at_once["now"] += 1
            self.at_once["most"] = max(self.at_once.values())
        self.answer(request, pictures, words["text"])

    @abstractmethod
    def answer(self, request: dict[str, Any], pictures: list[int], text: str) -> None:
        """Answer a question about pictures, which are numbered by their colors."""

    def fail(self, status: int, message: str) -> None:
        """An error as OpenAI gives it."""
        self.send(status, json.dumps({"error": {"message": message}}).encode())

    def send(
        self, status: int, body: bytes, kind: str = "application/json", **headers: str
    ) -> None:
        """A response. The next request may come before this method ends."""
        with self.lock:
            self.at_once["now"] -= 1
        self.send_response(status)
        length = str(len(body))
        for name, value in {
            "Content-Type": kind,
            "Content-Length": length,
            "retry-after-ms": "1",
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def completion(model: str, text: str, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A chat completion. more: of its choice."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": f"{model}-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, **more}],
        "usage": {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35},
    }


class Server:
    """A running server. asked: how often each question was asked: model, pictures, words, seed."""

    def __init__(self, handler: type[Chat], **shared: Any):
        self.asked: Counter[tuple[Any, ...]] = Counter()
        shared |= {"asked": self.asked, "at_once": Counter(), "lock": threading.Lock()}
        self.handler: Any = type("Handler", (handler,), shared)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def spec(self, model: str, **more: object) -> str:
        """How a model of the server is named."""
        arguments = "".join(f",{name}={value}" for name, value in more.items())
        return f"api:http://127.0.0.1:{self._server.server_address[1]}/v1@{model}{arguments}"

    def stop(self) -> None:
        """End the server; its port answers no more."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def serving(handler: type[Chat], **shared: Any) -> Iterator[Server]:
    """A server while the context lasts."""
    running = Server(handler, **shared)
    try:
        yield running
    finally:
        running.stop()
