"""`api:` models: a model behind an OpenAI-compatible endpoint, as a PairScorer by log-probabilities
or as an Answerer in words. Requests run in threads."""

import base64
import io
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from typing import Annotated, Any

import numpy as np
from PIL import Image
from pydantic import Field

from evaluator.models.bases import PAIR
from evaluator.models.contracts import (
    FAILED,
    Answer,
    Answerer,
    BatchSize,
    Chat,
    Contests,
    How,
    Pairs,
    PairScorer,
    cache_key,
)
from evaluator.models.hub import first_line
from evaluator.models.names import parse_place
from evaluator.models.yes_no import CHANNELS, QUESTION, Score, question, score_of_tokens
from generator.base.errors import UserError
from generator.base.extras import check_installed

KEY = "OPENAI_API_KEY"
"""The environment variable with the endpoint's key."""
RETRIES = 8
_FIRST_RETRIES = 2
"""Retries while the endpoint has answered nothing: few, so that one that is down is reported
soon."""
TIMEOUT = 120
"""Seconds after which a request without an answer is repeated."""
_SHORTEST_KEY = 8
"""Shortest key, in characters, that messages hide: a shorter one is a placeholder, and hiding it
garbles words."""
_FOR_ALL = (401, 402, 403, 404, 429)
"""Statuses that all further requests would get too."""
_BATCH = 128
"""Pairs whose scores are saved together; `concurrency` limits the requests at once."""
_LISTED = 20
"""Number of most likely tokens requested: the maximum of OpenAI and vLLM."""
_PATIENCE = 16
"""An endpoint counts as broken after more failures in a row than this plus `concurrency`."""
_OWN = {
    "preprocessing": "the endpoint's own, from PNG",
    "precision": "its own",
    "device": "its own",
}
_TRIAL = (320, 240)
"""Size in pixels of the image of the first request."""
Count = Annotated[int, Field(ge=1, le=1024)]
Seconds = Annotated[int, Field(ge=1, le=86_400)]


class RefusedError(Exception):
    """The endpoint did not answer a request, but may answer others."""


class Endpoint:
    """A model at an endpoint. `counts` has the answered requests, their tokens, and counts that
    scorers add.

    The key is read from the environment variable OPENAI_API_KEY and never written to messages or
    files. Methods are thread-safe.
    """

    def __init__(self, url: str, model: str, timeout: float = TIMEOUT):
        from openai import DefaultHttpxClient, OpenAI

        self.url, self.model = url, model
        self._key = os.environ.get(KEY) or "none"
        client = DefaultHttpxClient(
            follow_redirects=False
        )  # send images and questions only to the given URL
        self._client = OpenAI(
            base_url=url,
            api_key=self._key,
            max_retries=_FIRST_RETRIES,
            timeout=timeout,
            http_client=client,
        )
        self._streams = False  # whether the server only streams
        self._lock = threading.Lock()
        self.counts = Counter({"requests": 0, "prompt_tokens": 0, "completion_tokens": 0})

    def ask(self, images: Sequence[str], question: str, **more: Any) -> Any:
        """The chat completion for images (data URLs) and a question. `more`: parameters of the
        request.

        Failed connections, rate limits and server errors are retried with growing delays. Raises
        RefusedError if this request gets no answer, and UserError if no further request would get
        an answer.
        """
        try:
            found = self._create(images, question, **more)
        except RefusedError as refusal:
            if self._streams or "stream" not in str(refusal).lower():
                raise
            self._streams = True
            found = self._create(images, question, **more)
        if not getattr(found, "choices", None):
            raise RefusedError("its response is no chat completion")
        usage = getattr(found, "usage", None)
        with self._lock:
            self.counts["requests"] += 1
            for name in ("prompt_tokens", "completion_tokens"):
                self.counts[name] += getattr(usage, name, None) or 0
        return found

    def _create(self, images: Sequence[str], question: str, **more: Any) -> Any:
        """A chat completion, put together from its parts if the server only streams."""
        asked = {"model": self.model, "messages": messages(images, question), **more}
        if self._streams:
            asked |= {"stream": True, "stream_options": {"include_usage": True}}
        with self._explained():
            try:
                found = self._client.chat.completions.create(**asked)
            except self._unavailable:
                # A server that answers with a status is up: a model that it is still loading needs
                # more patience.
                if self._client.max_retries == RETRIES:
                    raise
                self.be_patient()
                found = self._client.chat.completions.create(**asked)
            return completion_of_parts(found) if self._streams else found

    @property
    def _unavailable(self) -> tuple[type[Exception], ...]:
        import openai

        return openai.RateLimitError, openai.InternalServerError

    def broken(self, n: int, reason: str) -> UserError:
        """The error that ends a run after n questions in a row without an answer."""
        return UserError(
            f"The endpoint {self.url} has stopped answering, {n} questions in a row ({reason}); "
            f"mend it, then run "
            "the same command again. Finished work is kept."
        )

    def be_patient(self) -> None:
        """Allow more retries, once the endpoint has answered."""
        if self._client.max_retries < RETRIES:
            self._client = self._client.with_options(max_retries=RETRIES)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            if error.status_code in _FOR_ALL:
                raise UserError(
                    f"The endpoint {self.url} refuses '{self.model}' ({self._said(error)}); put "
                    f"its key in the "
                    f"environment variable {KEY}, name a model that it serves, and a URL that ends "
                    f"as documented, such "
                    "as /v1; or run the same command again later. Finished work is kept."
                ) from None
            raise RefusedError(self._said(error)) from None
        except openai.APIConnectionError as error:
            if isinstance(error, openai.APITimeoutError):
                raise RefusedError(self._said(error)) from None
            raise UserError(
                f"The endpoint {self.url} does not answer "
                f"({self._said(error.__cause__ or error)}); start it or mend "
                "its URL, then run the same command again. Finished work is kept."
            ) from None
        except (openai.OpenAIError, ValueError) as error:  # ValueError: JSON that cannot be read
            raise RefusedError(self._said(error)) from None

    def _said(self, error: BaseException) -> str:
        """The first line of an error, without the key, which a server may echo."""
        line = first_line(error)
        return line.replace(self._key, "…") if len(self._key) >= _SHORTEST_KEY else line


class ApiScorer(PairScorer):
    """A model behind an endpoint, asked for yes or no, scored by the log-probabilities of the
    answer's first token.

    A pair is NaN if the endpoint refuses it or answers neither yes nor no; later runs ask it again.
    `counts` also has these pairs, and the pairs whose score is only a bound.
    """

    channels = CHANNELS
    passes = 1
    asks_again = True

    def __init__(self, endpoint: Endpoint, concurrency: int):
        self._endpoint, self._concurrency = endpoint, concurrency
        self.counts = endpoint.counts
        self.batch = BatchSize(_BATCH, PAIR)
        served = self._tried()
        self._tokens = endpoint.counts["prompt_tokens"] // max(1, endpoint.counts["requests"])
        identity = {"weights": endpoint.model, "endpoint": endpoint.url, "served": served}
        self.info: dict[str, Any] = identity | {"question": QUESTION, **_OWN}
        self.key = cache_key("api", identity, QUESTION)

    def describe_cost(self, pairs: int, images: int) -> str:
        """A sentence with the maximum number of requests for `pairs`, and of tokens if the endpoint
        counts them."""
        tokens = (
            f"about {pairs * self._tokens:,} prompt tokens for images of {_TRIAL[0]}×{_TRIAL[1]}, "
        )
        return (
            f"{pairs:,} pairs of image and text to ask about, one request each, "
            f"{tokens * bool(self._tokens)}fewer "
            "where cached."
        )

    def score_pairs(
        self, images: Sequence[Image.Image], pairs: Pairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs. Raises UserError if the endpoint has stopped answering."""
        shown = {image: data_url(images[image]) for image, _ in pairs}
        scores = np.full((len(pairs), len(self.channels)), np.nan, dtype=np.float32)
        refusals: list[str] = []

        def score(pair: tuple[int, str]) -> Score | None:
            try:
                return score_of_tokens(_listed_tokens(self._ask(shown[pair[0]], question(pair[1]))))
            except RefusedError as refusal:
                refusals.append(str(refusal))
                return None

        pool = ThreadPoolExecutor(self._concurrency)
        try:
            for row, found in enumerate(pool.map(score, pairs)):
                if found is not None:
                    scores[row] = found.log_odds, found.p_yes
                    self._endpoint.counts["bounded"] += found.bounded
        finally:
            pool.shutdown(cancel_futures=True)
        if refusals and len(refusals) == len(pairs) and score((0, "a gray wall")) is None:
            raise self._endpoint.broken(len(pairs), refusals[0])
        unscored = int(np.isnan(scores[:, 0]).sum())
        self._endpoint.counts.update(
            {"refused": len(refusals), "neither yes nor no": unscored - len(refusals)}
        )
        return scores

    def _ask(self, image: str, asked: str) -> Any:
        # temperature 1: some endpoints list probabilities after the temperature is applied
        return self._endpoint.ask(
            [image], asked, max_tokens=1, temperature=1, logprobs=True, top_logprobs=_LISTED
        )

    def _tried(self) -> str | None:
        """Make a trial request; returns the model name in the reply. Raises UserError without
        log-probabilities."""
        try:
            completion = self._ask(
                data_url(Image.new("RGB", _TRIAL, "gray")), question("a gray wall")
            )
            refusal = "" if _listed_tokens(completion) else "it lists no tokens"
        except RefusedError as error:
            refusal = str(error)
        if refusal:
            raise UserError(
                f"The endpoint {self._endpoint.url} gives no log-probabilities of answers about an "
                f"image with "
                f"'{self._endpoint.model}' ({refusal}); ask it in words with `score ask`, or name "
                f"a chat model that "
                "reads images."
            )
        self._endpoint.be_patient()
        return getattr(completion, "model", None)


class ApiAnswerer(Answerer):
    """A model behind an endpoint that answers in words. `counts` has its requests and tokens.

    A request parameter that the endpoint rejects is renamed or omitted; `info["not_taken"]` lists
    them.
    """

    def __init__(self, endpoint: Endpoint, concurrency: int):
        self._endpoint, self._concurrency, self.counts = endpoint, concurrency, endpoint.counts
        self._lock = threading.Lock()
        identity = {"weights": endpoint.model, "endpoint": endpoint.url}
        self.info = {**identity, **_OWN, "not_taken": []}
        self.key = cache_key("api", identity, "in words")

    def request(self, chat: Chat, how: How) -> dict[str, Any]:
        """The body of the request for a question."""
        shown = [data_url(image) for image in chat.show()]
        return {
            "model": self._endpoint.model,
            "messages": messages(shown, chat.text),
            **self._parameters(chat, how),
        }

    def answer_all(
        self, chats: Iterable[Chat], how: How, keep: Callable[[Chat, Answer], None]
    ) -> None:
        """As Answerer.answer_all. When interrupted, requests in progress are still finished and
        kept."""
        failed = 0

        def ask(chat: Chat) -> str:
            shown = [data_url(image) for image in chat.show()]
            try:
                keep(chat, self._answered(shown, chat, how))
            except (RefusedError, ValueError) as refusal:
                keep(chat, Answer("", f"{FAILED}{refusal}"))
                return str(refusal)
            return ""

        source, waiting = iter(chats), set[Future[str]]()
        pool = ThreadPoolExecutor(self._concurrency)
        try:
            while True:
                waiting |= {
                    pool.submit(ask, chat)
                    for chat in islice(source, self._concurrency - len(waiting))
                }
                if not waiting:
                    return
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for refusal in [each.result() for each in done]:
                    failed = failed + 1 if refusal else 0
                    if not refusal:
                        self._endpoint.be_patient()
                    elif failed > _PATIENCE + self._concurrency:
                        raise self._endpoint.broken(failed, refusal)
        finally:
            pool.shutdown(cancel_futures=True)

    def _answered(self, shown: Sequence[str], chat: Chat, how: How) -> Answer:
        asked = self._parameters(chat, how)
        try:
            found = self._endpoint.ask(shown, chat.text, **asked)
        except RefusedError as refusal:
            # reasoning models use another name for the limit, and only one temperature
            name = next(
                (
                    each
                    for each in ("max_tokens", "temperature", "seed")
                    if f"'{each}'" in str(refusal)
                ),
                None,
            )
            if name not in asked:
                raise
            with self._lock:  # other threads may be refused the same parameter meanwhile
                self.info["not_taken"] += [name] * (name not in self.info["not_taken"])
            return self._answered(shown, chat, how)
        return answer_of(found.model_dump())

    def _parameters(self, chat: Chat, how: How) -> dict[str, Any]:
        asked = {"max_tokens": how.max_tokens, "temperature": how.temperature, "seed": chat.seed}
        taken = {name: value for name, value in asked.items() if name not in self.info["not_taken"]}
        return taken | ({} if "max_tokens" in taken else {"max_completion_tokens": how.max_tokens})


def answer_of(completion: dict[str, Any]) -> Answer:
    """The answer in a chat completion. Reasoning that an endpoint returns separately is put before
    it.

    Raises ValueError for anything but a chat completion.
    """
    try:
        choice, usage = completion["choices"][0], completion.get("usage") or {}
        message = choice["message"]
        thought = message.get("reasoning_content") or message.get("reasoning") or ""
        said, thought_in_content = _texts_of(message.get("content"))
        thought = thought or thought_in_content
        return Answer(
            f"<think>{thought}</think>\n{said}"
            if thought
            else said or str(message.get("refusal") or ""),
            "refusal" if message.get("refusal") else str(choice.get("finish_reason") or "stop"),
            int(usage.get("prompt_tokens") or 0),
            int(usage.get("completion_tokens") or 0),
            str(completion.get("model") or ""),
        )
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("it is no chat completion") from None


def _texts_of(content: Any) -> tuple[str, str]:
    """The answer and the reasoning in the content of a message: a text, or a list of parts with a
    type."""
    if not isinstance(content, list):
        return str(content or ""), ""
    said, thought = "", ""
    for part in content:
        if not isinstance(part, dict):
            said += str(part)
        elif part.get("type") in ("thinking", "reasoning"):
            thought += _texts_of(part.get("thinking") or part.get("text") or part.get("reasoning"))[
                0
            ]
        else:
            said += str(part.get("text") or "")
    return said, thought


def completion_of_parts(parts: Iterable[Any]) -> Any:
    """The chat completion whose parts a server streamed, with the texts of its message and its last
    usage.

    Raises RefusedError if the stream has no message.
    """
    from openai.types.chat import ChatCompletion

    message: dict[str, Any] = {"role": "assistant", "content": ""}
    finish, usage, served, logprobs = "", None, "", None
    seen = False
    for part in parts:
        usage, served = (
            getattr(part, "usage", None) or usage,
            getattr(part, "model", None) or served,
        )
        for choice in part.choices[:1]:
            seen = True
            delta = choice.delta.model_dump()
            for name in ("content", "reasoning_content", "reasoning", "refusal"):
                if delta.get(name):
                    message[name] = message.get(name, "") + delta[name]
            finish = choice.finish_reason or finish
            logprobs = logprobs or choice.logprobs
    if not seen:
        raise RefusedError("its stream has no chat completion")
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": finish or "stop",
        "logprobs": logprobs,
    }
    return ChatCompletion.model_construct(
        id="",
        object="chat.completion",
        created=0,
        model=served,
        choices=[_built(choice)],
        usage=usage,
    )


def _built(choice: dict[str, Any]) -> Any:
    from openai.types.chat.chat_completion import Choice
    from openai.types.chat.chat_completion_message import ChatCompletionMessage

    return Choice.model_construct(
        **{**choice, "message": ChatCompletionMessage.model_construct(**choice["message"])}
    )


def messages(images: Sequence[str], question: str) -> list[dict[str, Any]]:
    """The messages of a request: images (data URLs), then the question."""
    shown: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": image}} for image in images
    ]
    return [{"role": "user", "content": [*shown, {"type": "text", "text": question}]}]


def data_url(image: Image.Image) -> str:
    """An RGB image as a data URL of a lossless PNG."""
    file = io.BytesIO()
    image.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _listed_tokens(completion: Any) -> list[tuple[str, float]]:
    """The most likely first tokens of a completion and their log-probabilities; [] if the endpoint
    gives none."""
    logprobs = getattr(completion.choices[0], "logprobs", None)
    content = getattr(logprobs, "content", None) or []
    top = getattr(content[0], "top_logprobs", None) if content else None
    return [(str(each.token), float(each.logprob)) for each in top or []]


def load_api(
    name: str, device: str | None, *, concurrency: Count = 16, timeout: Seconds = TIMEOUT
) -> ApiScorer:
    """The model of `URL@MODEL`, read by log-probabilities.

    Args:
        name: The URL and the name of the model.
        device: None: the model runs at its endpoint.
        concurrency: Requests at once.
        timeout: Seconds after which a request without an answer is repeated.

    Returns:
        The scorer, after one request.

    Raises:
        UserError: The endpoint is down or refuses the request, or a device is given.
    """
    return ApiScorer(_endpoint(name, device, timeout), concurrency)


def load_answering(
    name: str, device: str | None, *, concurrency: Count = 16, timeout: Seconds = TIMEOUT
) -> ApiAnswerer:
    """The model of `URL@MODEL`, asked in words; arguments as of load_api. Makes no request. Raises
    UserError for a device."""
    return ApiAnswerer(_endpoint(name, device, timeout), concurrency)


def _endpoint(name: str, device: str | None, timeout: float) -> Endpoint:
    url, model = parse_place(name)
    if device is not None:
        raise UserError(
            f"The model of api: runs at its endpoint and not on '{device}'; leave --device out."
        )
    check_installed("openai")
    return Endpoint(url, model, timeout)
