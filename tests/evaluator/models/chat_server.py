"""A server in a process of its own that speaks the chat completions of OpenAI; the name of the model says how it
behaves.

`python chat_server.py` prints its port. Each request is a line of the file that is given as an argument.
"""

import base64
import io
import json
import math
import re
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

SEEN: Counter[str] = Counter()
AT_ONCE = {"now": 0, "most": 0}
LOCK = threading.Lock()


def probability(text: str, image: Image.Image) -> float:
    """P(yes) that the server gives a text, from its letters and the image's corner."""
    red = image.getpixel((0, 0))[0]  # type: ignore[index]
    return 0.05 + 0.9 * ((sum(map(ord, text)) * 31 + red) % 97) / 97


class Chat(BaseHTTPRequestHandler):
    """Answers POST /v1/chat/completions."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with LOCK:
            AT_ONCE["now"] += 1
            AT_ONCE["most"] = max(AT_ONCE.values())
            with open(sys.argv[1], "a") as log:
                log.write(json.dumps({key: request[key] for key in request if key != "messages"} | AT_ONCE) + "\n")
        try:
            self.answer(request)
        finally:
            with LOCK:
                AT_ONCE["now"] -= 1

    def answer(self, request: dict[str, Any]) -> None:
        """One answer, as the model's name asks for it."""
        model = request["model"]
        picture, words = request["messages"][0]["content"]
        image = Image.open(io.BytesIO(base64.b64decode(picture["image_url"]["url"].partition(",")[2])))
        text = re.findall('"(.*)"', words["text"])[0]
        SEEN[model + text] += 1
        if self.path == "/v1/chat/completions?to=other":
            return self.complete(request, 0.5)
        if self.path != "/v1/chat/completions" or model == "missing":
            return self.fail(404, "no such model")
        if model == "closed":
            return self.fail(401, f"wrong key: {self.headers['Authorization'].removeprefix('Bearer ')}")
        if model == "moved":
            return self.send(307, b"", to=f"http://{self.headers['Host']}/v1/chat/completions?to=other")
        if model == "page":
            return self.send(200, b"<html>welcome</html>", "text/html")
        if model == "busy" and SEEN[model + text] < 3:
            return self.fail(429 if SEEN[model + text] == 1 else 500, "slow down")
        if (model == "broken" and "blue" in text) or (model == "breaking" and SEEN.total() > 1):
            return self.fail(500, "out of order")
        if model == "strict" and "blue" in text:
            return self.fail(400, "I do not answer that")
        if model == "slow":
            time.sleep(0.02)
        if model == "sampling":
            return self.fail(400, "logprobs are not supported")
        return self.complete(request, probability(text, image))

    def complete(self, request: dict[str, Any], p_yes: float) -> None:
        """A chat completion: the listed tokens are those of a model that says yes with `p_yes` of 0.9."""
        model = request["model"]
        message = {"role": "assistant", "content": "A picture of" if model == "prose" else "Yes."}
        choices: list[dict[str, Any]] = [{"index": 0, "message": message, "finish_reason": "stop"}]
        if model != "quiet":
            tokens = [(" Yes", 0.6 * p_yes), ("yes", 0.3 * p_yes), ("No", 0.9 * (1 - p_yes)), ("Perhaps", 0.05)]
            if model == "sure":
                tokens = [each for each in tokens if each[0] != "No"]
            if model == "prose":
                tokens = [("A", 0.7), ("The", 0.2)]
            top = [
                {"token": token, "logprob": math.log(p), "bytes": None}
                for token, p in sorted(tokens, key=lambda t: -t[1])
            ]
            choices[0]["logprobs"] = {"content": [top[0] | {"top_logprobs": top[: request["top_logprobs"]]}]}
        self.send(
            200,
            json.dumps(
                {
                    "id": "x",
                    "object": "chat.completion",
                    "created": 0,
                    "model": f"{model}-2026",
                    "choices": choices,
                    "usage": {
                        "prompt_tokens": 100,
                        "completion_tokens": len(choices),
                        "total_tokens": 100 + len(choices),
                    },
                }
            ).encode(),
        )

    def fail(self, status: int, message: str) -> None:
        """An error as OpenAI gives it."""
        self.send(status, json.dumps({"error": {"message": message}}).encode())

    def send(self, status: int, body: bytes, kind: str = "application/json", to: str | None = None) -> None:
        """A response."""
        self.send_response(status)
        if to is not None:
            self.send_header("Location", to)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status in (429, 500):
            self.send_header("retry-after-ms", "10")
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Chat)
    print(server.server_address[1], flush=True)
    server.serve_forever()
