"""An OpenAI-compatible endpoint: where it is, requests to it with retries, and what is said when it does not answer."""

import base64
import io
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from PIL import Image

from evaluator.models.pretrained.source import first_line
from generator.base.errors import UserError

KEY = "OPENAI_API_KEY"
"""The environment variable with the endpoint's key."""
_AT_FIRST = 2
"""How often the first requests are repeated, since an endpoint that is down should be said soon."""
_FOR_ALL = (401, 402, 403, 404, 429)
"""Statuses that the next request would get too."""
_LONGEST = 160


class RefusedError(Exception):
    """The endpoint did not answer one request, and may answer others."""


class Endpoint:
    """A model at an endpoint. `requests`, `prompt_tokens` and `completion_tokens` count what was answered.

    The key is read from the environment variable OPENAI_API_KEY and is in no message and no file. Methods may be called from
    several threads.
    """

    def __init__(self, url: str, model: str, retries: int):
        from openai import OpenAI

        self.url, self.model = url, model
        self._key = os.environ.get(KEY) or "none"
        self._client = OpenAI(base_url=url, api_key=self._key, max_retries=retries)
        self._lock = threading.Lock()
        self.requests = self.prompt_tokens = self.completion_tokens = 0

    def ask(self, image: str, question: str, first: bool = False, **more: Any) -> Any:
        """The chat completion for an image (a data URL) and a question. `more`: parameters of the request. first: few retries.

        A connection that fails, too many requests and errors of the server are tried again, later and later. Raises RefusedError where
        this request gets no answer, and UserError where no other would get one either.
        """
        client = (
            self._client.with_options(max_retries=min(_AT_FIRST, self._client.max_retries)) if first else self._client
        )
        content = [{"type": "image_url", "image_url": {"url": image}}, {"type": "text", "text": question}]
        with self._explained():
            found = client.chat.completions.create(
                model=self.model, messages=[{"role": "user", "content": content}], **more
            )
        if not getattr(found, "choices", None):
            raise RefusedError("what it gave is no chat completion")
        with self._lock:
            self.requests += 1
            usage = getattr(found, "usage", None)
            self.prompt_tokens += getattr(usage, "prompt_tokens", None) or 0
            self.completion_tokens += getattr(usage, "completion_tokens", None) or 0
        return found

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            if error.status_code in _FOR_ALL:
                raise UserError(
                    f"The endpoint {self.url} refuses '{self.model}' ({self._said(error)}); {self._mend(error.status_code)}. Finished scores "
                    "are kept."
                ) from None
            raise RefusedError(self._said(error)) from None
        except openai.APITimeoutError as error:
            raise RefusedError(self._said(error)) from None
        except openai.APIConnectionError as error:
            raise UserError(
                f"The endpoint {self.url} does not answer ({self._said(error.__cause__ or error)}); start it or mend its URL, then run the "
                "same command again. Finished scores are kept."
            ) from None
        except (openai.OpenAIError, ValueError) as error:  # ValueError: JSON that cannot be read
            raise RefusedError(self._said(error)) from None

    def _said(self, error: BaseException) -> str:
        """The first line of an error, without the key, which a server may repeat."""
        line = first_line(error) if str(error) else type(error).__name__
        return line.replace(self._key, "…")[:_LONGEST].rstrip(" .")

    def _mend(self, status: int) -> str:
        if status in (401, 403):
            return f"put its key in the environment variable {KEY}"
        if status == 404:
            return "name a model that it serves, and a URL that ends as its documentation says, such as /v1"
        return "run the same command again later, or with --model-args concurrency=2"


def parse_place(name: str) -> tuple[str, str]:
    """URL and model of `URL@MODEL`, divided at the first "@".

    >>> parse_place("http://localhost:8000/v1@Qwen/Qwen3-VL-4B-Instruct")
    ('http://localhost:8000/v1', 'Qwen/Qwen3-VL-4B-Instruct')

    Raises UserError for what is no such place, and for a URL with a password or a query, which would be recorded.
    """
    url, at, model = name.partition("@")
    expected = "Expected api:URL@MODEL, such as api:http://localhost:8000/v1@MODEL, with the key in OPENAI_API_KEY and not in the URL"
    parts = urlsplit(url)
    if not (
        at
        and model
        and parts.scheme in ("http", "https")
        and re.fullmatch(r"[\w.-]+(:\d+)?|\[[\da-f:]+\](:\d+)?", parts.netloc)
    ):
        raise UserError(f"{expected}.")
    if parts.query or parts.fragment:
        raise UserError(f"{expected}; the URL has a query.")
    return url.rstrip("/"), model


def data_url(image: Image.Image) -> str:
    """An RGB image as a data URL of a PNG, which loses nothing."""
    file = io.BytesIO()
    image.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def listed_tokens(completion: Any) -> list[tuple[str, float]]:
    """The most likely first tokens of a completion and their log-probabilities; empty where the endpoint gives none."""
    logprobs = getattr(completion.choices[0], "logprobs", None)
    content = getattr(logprobs, "content", None) or []
    top = getattr(content[0], "top_logprobs", None) if content else None
    return [(str(each.token), float(each.logprob)) for each in top or []]


def texts_of(completion: Any) -> list[str]:
    """The texts of a completion's choices."""
    return [str(getattr(choice.message, "content", None) or "") for choice in completion.choices]
