"""`api:` models: a model behind an OpenAI-compatible endpoint as a PairScorer, asked the question of `vqa:` in
threads."""

import base64
import io
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Annotated, Any
from urllib.parse import urlsplit

import numpy as np
from PIL import Image
from pydantic import Field

from evaluator.models.bases import PAIR
from evaluator.models.contracts import BatchSize, Contests, Pairs, PairScorer, cache_key
from evaluator.models.hub import first_line
from evaluator.models.yes_no import CHANNELS, QUESTION, Score, question, score_of_samples, score_of_tokens
from generator.base.errors import UserError
from generator.base.extras import check_installed

KEY = "OPENAI_API_KEY"
"""The environment variable with the endpoint's key."""
RETRIES = 8
_FIRST_RETRIES = 2
"""How often the first requests are repeated, since an endpoint that is down should be said soon."""
_FOR_ALL = (401, 402, 403, 404, 429)
"""Statuses that the next request would get too."""
_BATCH = 128
"""Pairs that are kept at once; fewer are asked at the same time."""
_LISTED = 20
"""Most likely tokens that are asked for: the most that OpenAI and vLLM give."""
_FIRST_WORDS = 4
"""Tokens of a sampled answer."""
_TRIAL = (320, 240)
"""Size in pixels of the image of the first request."""
Count = Annotated[int, Field(ge=1, le=1024)]


class RefusedError(Exception):
    """The endpoint did not answer one request, and may answer others."""


class Endpoint:
    """A model at an endpoint. `counts` has the requests that were answered, and their tokens.

    The key is read from the environment variable OPENAI_API_KEY and is in no message and no file. Methods may be called
    from several threads.
    """

    def __init__(self, url: str, model: str):
        from openai import DefaultHttpxClient, OpenAI

        self.url, self.model = url, model
        self._key = os.environ.get(KEY) or "none"
        client = DefaultHttpxClient(follow_redirects=False)  # images and questions go to the URL that was given alone
        self._client = OpenAI(base_url=url, api_key=self._key, max_retries=_FIRST_RETRIES, http_client=client)
        self._lock = threading.Lock()
        self.counts = Counter({"requests": 0, "prompt_tokens": 0, "completion_tokens": 0})

    def ask(self, image: str, question: str, **more: Any) -> Any:
        """The chat completion for an image (a data URL) and a question. `more`: parameters of the request.

        A connection that fails, too many requests and errors of the server are tried again, later and later. Raises
        RefusedError where this request gets no answer, and UserError where no other would get one either.
        """
        content = [{"type": "image_url", "image_url": {"url": image}}, {"type": "text", "text": question}]
        with self._explained():
            found = self._client.chat.completions.create(
                model=self.model, messages=[{"role": "user", "content": content}], **more
            )
        if not getattr(found, "choices", None):
            raise RefusedError("what it gave is no chat completion")
        usage = getattr(found, "usage", None)
        with self._lock:
            self.counts["requests"] += 1
            for name in ("prompt_tokens", "completion_tokens"):
                self.counts[name] += getattr(usage, name, None) or 0
        return found

    def be_patient(self) -> None:
        """Try requests again more often: the endpoint has answered once."""
        self._client = self._client.with_options(max_retries=RETRIES)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            if error.status_code in _FOR_ALL:
                raise UserError(
                    f"The endpoint {self.url} refuses '{self.model}' ({self._said(error)}); put its key in the "
                    f"environment variable {KEY}, name a model that it serves, and a URL that ends as documented, such "
                    "as /v1; or run the same command again later. Finished scores are kept."
                ) from None
            raise RefusedError(self._said(error)) from None
        except openai.APIConnectionError as error:
            if isinstance(error, openai.APITimeoutError):
                raise RefusedError(self._said(error)) from None
            raise UserError(
                f"The endpoint {self.url} does not answer ({self._said(error.__cause__ or error)}); start it or mend "
                "its URL, then run the same command again. Finished scores are kept."
            ) from None
        except (openai.OpenAIError, ValueError) as error:  # ValueError: JSON that cannot be read
            raise RefusedError(self._said(error)) from None

    def _said(self, error: BaseException) -> str:
        """The first line of an error, without the key, which a server may repeat."""
        return first_line(error).replace(self._key, "…")


class ApiScorer(PairScorer):
    """A model behind an endpoint. The first request finds out how it is asked: by the log-probabilities of the answer's
    first token, or by sampled answers.

    A pair without an answer of yes or no, and one that the endpoint refuses, is NaN and is asked again in a later run.
    `counts` counts them.
    """

    channels = CHANNELS
    passes = 1
    asks_again = True

    def __init__(self, endpoint: Endpoint, samples: int, concurrency: int):
        self._endpoint, self._concurrency = endpoint, concurrency
        self._unscored: Counter[str] = Counter()
        self._samples, self._several = samples, False
        self.batch = BatchSize(_BATCH, PAIR)
        served = self._tried()
        self._tokens = endpoint.counts["prompt_tokens"] // max(1, endpoint.counts["requests"])
        way = f"{samples} sampled answers" if self._samples else "log-probabilities"
        identity = {"weights": endpoint.model, "endpoint": endpoint.url, "served": served, "answers": way}
        self.info: dict[str, Any] = identity | {
            "question": QUESTION,
            "preprocessing": "the endpoint's own, from PNG",
            "precision": "its own",
            "device": "its own",
        }
        self.key = cache_key("api", identity, QUESTION)

    def describe_cost(self, pairs: int) -> str:
        """One sentence: how many requests `pairs` take at most, and how many tokens if the endpoint counts them."""
        each = 1 if self._several or not self._samples else self._samples
        way = f"{self._samples} sampled answers a pair" if self._samples else "log-probabilities of the answer"
        tokens = f"about {pairs * each * self._tokens:,} prompt tokens by an image of {_TRIAL[0]}×{_TRIAL[1]}, "
        return (
            f"{pairs:,} pairs of image and text to ask about, {pairs * each:,} requests ({way}), "
            f"{tokens * bool(self._tokens)}fewer where cached."
        )

    @property
    def counts(self) -> dict[str, int]:  # type: ignore[override]
        """Requests that were answered and their tokens, and how many pairs are unscored or bounded, and why."""
        return {**self._endpoint.counts, **dict(sorted(self._unscored.items()))}

    def score_pairs(self, images: Sequence[Image.Image], pairs: Pairs, contests: Contests = None) -> np.ndarray:
        """As PairScorer.score_pairs. Raises UserError where the endpoint answers no more."""
        shown = {image: data_url(images[image]) for image, _ in pairs}
        scores = np.full((len(pairs), len(self.channels)), np.nan, dtype=np.float32)
        refusals: list[str] = []

        def score(pair: tuple[int, str]) -> Score | None:
            try:
                return self._score(shown[pair[0]], question(pair[1]))
            except RefusedError as refusal:
                refusals.append(str(refusal))
                return None

        pool = ThreadPoolExecutor(self._concurrency)
        try:
            for row, found in enumerate(pool.map(score, pairs)):
                if found is not None:
                    scores[row] = found.log_odds, found.p_yes
                    self._unscored["bounded"] += found.bounded
        finally:
            pool.shutdown(cancel_futures=True)
        if refusals and len(refusals) == len(pairs) and score((0, "a gray wall")) is None:
            raise UserError(
                f"The endpoint {self._endpoint.url} answers no more, none of the last {len(pairs)} questions "
                f"({refusals[0]}); mend it, then run the same command again. Finished scores are kept."
            )
        unscored = int(np.isnan(scores[:, 0]).sum())
        self._unscored.update({"refused": len(refusals), "neither yes nor no": unscored - len(refusals)})
        return scores

    def _score(self, image: str, asked: str) -> Score | None:
        if not self._samples:
            return score_of_tokens(_listed_tokens(self._ask_tokens(image, asked)))
        answers: list[str] = []
        while len(answers) < self._samples:
            answers += self._sampled(image, asked, self._samples - len(answers) if self._several else 1, len(answers))
        return score_of_samples(answers[: self._samples])

    def _ask_tokens(self, image: str, asked: str) -> Any:
        # temperature 1, so that endpoints that list probabilities after it list the model's own
        return self._endpoint.ask(image, asked, max_tokens=1, temperature=1, logprobs=True, top_logprobs=_LISTED)

    def _sampled(self, image: str, asked: str, n: int, seed: int) -> list[str]:
        """Up to n answers. Each request has a seed of its own, since an endpoint would else repeat its answer."""
        several = {"n": n} if n > 1 else {}
        found = self._endpoint.ask(image, asked, max_tokens=_FIRST_WORDS, temperature=1, seed=seed, **several)
        return [str(getattr(choice.message, "content", None) or "") for choice in found.choices]

    def _tried(self) -> str | None:
        """The name under which the endpoint answers with log-probabilities; None where answers are sampled.

        Raises UserError where it answers in neither way.
        """
        trial = data_url(Image.new("RGB", _TRIAL, "gray")), question("a gray wall")
        served = None
        try:
            completion = self._ask_tokens(*trial)
            if _listed_tokens(completion):
                self._samples, served = 0, getattr(completion, "model", None)
        except RefusedError:
            pass
        try:
            self._several = bool(self._samples) and len(self._sampled(*trial, 2, 0)) > 1
        except RefusedError:
            try:
                self._sampled(*trial, 1, 0)
            except RefusedError as refusal:
                raise UserError(
                    f"The endpoint {self._endpoint.url} does not answer questions about an image with "
                    f"'{self._endpoint.model}' ({refusal}); name a chat model that reads images."
                ) from None
        self._endpoint.be_patient()
        return served


def parse_place(name: str) -> tuple[str, str]:
    """URL and model of `URL@MODEL`, divided at the first "@".

    >>> parse_place("http://localhost:8000/v1@Qwen/Qwen3-VL-4B-Instruct")
    ('http://localhost:8000/v1', 'Qwen/Qwen3-VL-4B-Instruct')

    Raises UserError for what is no such place, and for a URL with a password or a query, which would be recorded.
    """
    url, _, model = name.partition("@")
    parts = urlsplit(url)
    plain = re.fullmatch(r"([\w.-]+|\[[\da-f:]+\])(:\d+)?", parts.netloc) and not (parts.query or parts.fragment)
    if not (model and parts.scheme in ("http", "https") and plain):
        raise UserError(
            "Expected api:URL@MODEL, such as api:http://localhost:8000/v1@MODEL, with the key in OPENAI_API_KEY and "
            "neither key nor query in the URL."
        )
    return url.rstrip("/"), model


def data_url(image: Image.Image) -> str:
    """An RGB image as a data URL of a PNG, which loses nothing."""
    file = io.BytesIO()
    image.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _listed_tokens(completion: Any) -> list[tuple[str, float]]:
    """The most likely first tokens of a completion and their log-probabilities; empty where the endpoint gives none."""
    logprobs = getattr(completion.choices[0], "logprobs", None)
    content = getattr(logprobs, "content", None) or []
    top = getattr(content[0], "top_logprobs", None) if content else None
    return [(str(each.token), float(each.logprob)) for each in top or []]


def load_api(name: str, device: str | None, *, samples: Count = 16, concurrency: Count = 16) -> ApiScorer:
    """The model of `URL@MODEL`. samples: sampled answers a pair, where the endpoint gives no log-probabilities.
    concurrency: requests at once.

    Makes one to three requests. Raises UserError when the endpoint is down or refuses them, and for a device.
    """
    url, model = parse_place(name)
    if device is not None:
        raise UserError(f"The model of api: runs at its endpoint and not on '{device}'; leave --device out.")
    check_installed("openai")
    return ApiScorer(Endpoint(url, model), samples, concurrency)
