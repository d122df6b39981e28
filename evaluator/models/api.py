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
    GenerationConfig,
    ImageTextPairs,
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
"""Retries of a request to an endpoint that has answered before."""
_FIRST_RETRIES = 2
"""Retries while the endpoint has answered nothing: few, so that one that is down is reported
soon."""
TIMEOUT = 120
"""Seconds after which a request without an answer is repeated."""
_SHORTEST_KEY = 8
"""Shortest key, in characters, that messages hide: a shorter one is a placeholder, and hiding it
garbles words."""
_FINAL_STATUSES = (401, 402, 403, 404, 429)
"""Statuses that all further requests would get too."""
_BATCH = 128
"""Pairs whose scores are saved together; `concurrency` limits the requests at once."""
_LISTED_TOKENS = 20
"""Number of most likely tokens requested: the maximum of OpenAI and vLLM."""
_MOST_FAILURES = 16
"""An endpoint counts as broken after more failures in a row than this plus `concurrency`."""
_UNKNOWN_INFO = {
    "preprocessing": "the endpoint's own, from PNG",
    "precision": "its own",
    "device": "its own",
}
_TRIAL_SIZE = (320, 240)
"""Size in pixels of the image of the first request."""
_TRIAL_TEXT = "a gray wall"
_OPTIONAL_PARAMETERS = ("max_tokens", "temperature", "seed", "response_format")
"""Parameters of a request that some endpoints reject."""
Count = Annotated[int, Field(ge=1, le=1024)]
Seconds = Annotated[int, Field(ge=1, le=86_400)]


class RefusedError(Exception):
    """The endpoint did not answer a request, but may answer others."""


class Endpoint:
    """A model at an endpoint. `counts` has the answered requests, their tokens, and counts that
    scorers add.

    The key is read from the environment variable OPENAI_API_KEY and never written to messages or
    files. Methods are thread-safe.

    Args:
        url: The URL of the endpoint.
        model: The name of the model there.
        timeout: Seconds after which a request without an answer is repeated.
    """

    def __init__(self, url: str, model: str, timeout: float = TIMEOUT):
        from openai import DefaultHttpxClient, OpenAI

        self.url = url
        self.model = model
        self._key = os.environ.get(KEY) or "none"
        # Without redirects, so that images, questions and the key go to the named URL alone.
        client = DefaultHttpxClient(follow_redirects=False)
        self._client = OpenAI(
            base_url=url,
            api_key=self._key,
            max_retries=_FIRST_RETRIES,
            timeout=timeout,
            http_client=client,
        )
        self._only_streams = False
        self._lock = threading.Lock()
        self.counts = Counter({"requests": 0, "prompt_tokens": 0, "completion_tokens": 0})

    def ask(self, images: Sequence[str], question: str, **parameters: Any) -> Any:
        """Ask a question about images.

        Failed connections, rate limits and server errors are retried with growing delays.

        Args:
            images: Data URLs.
            question: The question.
            parameters: Further parameters of the request.

        Returns:
            The chat completion.

        Raises:
            RefusedError: This request gets no answer.
            UserError: No further request would get an answer.
        """
        try:
            completion = self._create(images, question, **parameters)
        except RefusedError as refusal:
            # Some servers only stream, and say so when they are asked for a whole answer.
            if self._only_streams or "stream" not in str(refusal).lower():
                raise
            self._only_streams = True
            completion = self._create(images, question, **parameters)
        if not getattr(completion, "choices", None):
            raise RefusedError("its response is not a chat completion")
        usage = getattr(completion, "usage", None)
        with self._lock:
            self.counts["requests"] += 1
            for name in ("prompt_tokens", "completion_tokens"):
                self.counts[name] += getattr(usage, name, None) or 0
        return completion

    def _create(self, images: Sequence[str], question: str, **parameters: Any) -> Any:
        """A chat completion, put together from its parts if the server only streams."""
        request = {"model": self.model, "messages": messages(images, question), **parameters}
        if self._only_streams:
            request |= {"stream": True, "stream_options": {"include_usage": True}}
        with self._explained_errors():
            try:
                response = self._client.chat.completions.create(**request)
            except self._unavailable:
                # A server that answers with a status is up: a model that it is still loading needs
                # more patience.
                if self._client.max_retries == RETRIES:
                    raise
                self.be_patient()
                response = self._client.chat.completions.create(**request)
            return completion_of_parts(response) if self._only_streams else response

    @property
    def _unavailable(self) -> tuple[type[Exception], ...]:
        import openai

        return openai.RateLimitError, openai.InternalServerError

    def broken(self, n: int, reason: str) -> UserError:
        """The error that ends a run after n questions in a row without an answer."""
        return UserError(
            f"The endpoint {self.url} has stopped answering, {n} questions in a row ({reason}); "
            "fix it, then run the same command again. Finished work is kept."
        )

    def be_patient(self) -> None:
        """Allow more retries, once the endpoint has answered."""
        if self._client.max_retries < RETRIES:
            self._client = self._client.with_options(max_retries=RETRIES)

    @contextmanager
    def _explained_errors(self) -> Iterator[None]:
        """Context that turns the client's errors into RefusedError, or into UserError if further
        requests would fail too."""
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            if error.status_code in _FINAL_STATUSES:
                raise UserError(
                    f"The endpoint {self.url} refuses '{self.model}' ({self._reason(error)}); put "
                    f"its key in the environment variable {KEY}, name a model that it serves, and "
                    "a URL that ends as documented, such as /v1; or run the same command again "
                    "later. Finished work is kept."
                ) from None
            raise RefusedError(self._reason(error)) from None
        except openai.APITimeoutError as error:
            raise RefusedError(self._reason(error)) from None
        except openai.APIConnectionError as error:
            raise UserError(
                f"The endpoint {self.url} does not answer "
                f"({self._reason(error.__cause__ or error)}); start it or fix its URL, then run "
                "the same command again. Finished work is kept."
            ) from None
        except (openai.OpenAIError, ValueError) as error:  # ValueError: JSON that cannot be read
            raise RefusedError(self._reason(error)) from None

    def _reason(self, error: BaseException) -> str:
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
        self._endpoint = endpoint
        self._concurrency = concurrency
        self.counts = endpoint.counts
        self.batch = BatchSize(_BATCH, PAIR)
        served = self._make_trial_request()
        counts = endpoint.counts
        self._tokens_of_request = counts["prompt_tokens"] // max(1, counts["requests"])
        identity = {"weights": endpoint.model, "endpoint": endpoint.url, "served": served}
        self.info: dict[str, Any] = identity | {"question": QUESTION, **_UNKNOWN_INFO}
        self.key = cache_key("api", identity, QUESTION)

    def describe_cost(self, pairs: int, images: int) -> str:
        """A sentence with the maximum number of requests for `pairs`, and of tokens if the endpoint
        counts them."""
        tokens = ""
        if self._tokens_of_request:
            width, height = _TRIAL_SIZE
            tokens = (
                f"about {pairs * self._tokens_of_request:,} prompt tokens for images of "
                f"{width}×{height}, "
            )
        return (
            f"{pairs:,} pairs of image and text to ask about, one request each, {tokens}fewer "
            "where cached."
        )

    def score_pairs(
        self, images: Sequence[Image.Image], pairs: ImageTextPairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs. Raises UserError if the endpoint has stopped answering."""
        # Each image is encoded once, however many texts are asked about it.
        urls = {image: data_url(images[image]) for image, _ in pairs}
        scores = np.full((len(pairs), len(self.channels)), np.nan, dtype=np.float32)
        refusals: list[str] = []

        def score(pair: tuple[int, str]) -> Score | None:
            image, text = pair
            try:
                completion = self._ask(urls[image], question(text))
            except RefusedError as refusal:
                refusals.append(str(refusal))
                return None
            return score_of_tokens(_listed_tokens(completion))

        pool = ThreadPoolExecutor(self._concurrency)
        try:
            for row, answer in enumerate(pool.map(score, pairs)):
                if answer is not None:
                    scores[row] = answer.log_odds, answer.p_yes
                    self._endpoint.counts["bounded"] += answer.bounded
        finally:
            pool.shutdown(cancel_futures=True)
        # If all pairs were refused, a harmless question tells whether the endpoint is down.
        all_refused = refusals and len(refusals) == len(pairs)
        if all_refused and score((0, _TRIAL_TEXT)) is None:
            raise self._endpoint.broken(len(pairs), refusals[0])
        unscored = int(np.isnan(scores[:, 0]).sum())
        self._endpoint.counts.update(
            {"refused": len(refusals), "neither yes nor no": unscored - len(refusals)}
        )
        return scores

    def _ask(self, image: str, question: str) -> Any:
        # Temperature 1: some endpoints list probabilities after the temperature is applied.
        return self._endpoint.ask(
            [image],
            question,
            max_tokens=1,
            temperature=1,
            logprobs=True,
            top_logprobs=_LISTED_TOKENS,
        )

    def _make_trial_request(self) -> str | None:
        """Ask about a gray image; returns the model name in the reply. Raises UserError without
        log-probabilities."""
        image = data_url(Image.new("RGB", _TRIAL_SIZE, "gray"))
        refusal = ""
        completion = None
        try:
            completion = self._ask(image, question(_TRIAL_TEXT))
            if not _listed_tokens(completion):
                refusal = "it lists no tokens"
        except RefusedError as error:
            refusal = str(error)
        if refusal:
            raise UserError(
                f"The endpoint {self._endpoint.url} gives no log-probabilities of answers about an "
                f"image with '{self._endpoint.model}' ({refusal}); ask it in words with `score "
                "ask`, or name a chat model that reads images."
            )
        self._endpoint.be_patient()
        return getattr(completion, "model", None)


class ApiAnswerer(Answerer):
    """A model behind an endpoint that answers in words. `counts` has its requests and tokens.

    A request parameter that the endpoint rejects is renamed or omitted; `info["not_taken"]` lists
    them.
    """

    def __init__(self, endpoint: Endpoint, concurrency: int):
        self._endpoint = endpoint
        self._concurrency = concurrency
        self.counts = endpoint.counts
        self._lock = threading.Lock()
        identity = {"weights": endpoint.model, "endpoint": endpoint.url}
        self._not_taken: list[str] = []
        self.info = {**identity, **_UNKNOWN_INFO, "not_taken": self._not_taken}
        self.key = cache_key("api", identity, "in words")

    def request(self, chat: Chat, generation: GenerationConfig) -> dict[str, Any]:
        """Make the body of the request for a question, which batch files hold too.

        Args:
            chat: The question; its images are loaded.
            generation: How the answer is generated.

        Returns:
            The body of a chat completion, as JSON data.
        """
        urls = [data_url(image) for image in chat.show()]
        return {
            "model": self._endpoint.model,
            "messages": messages(urls, chat.text),
            **self._parameters(chat, generation),
        }

    def answer_all(
        self,
        chats: Iterable[Chat],
        generation: GenerationConfig,
        *,
        keep: Callable[[Chat, Answer], None],
    ) -> None:
        """As Answerer.answer_all. When interrupted, requests in progress are still finished and
        kept."""

        def ask(chat: Chat) -> str:
            """Ask a question; returns why it has no answer, "" if it has one."""
            urls = [data_url(image) for image in chat.show()]
            try:
                keep(chat, self._ask(urls, chat, generation))
            except (RefusedError, ValueError) as refusal:
                keep(chat, Answer("", f"{FAILED}{refusal}"))
                return str(refusal)
            return ""

        remaining = iter(chats)
        running = set[Future[str]]()
        failures_in_a_row = 0
        pool = ThreadPoolExecutor(self._concurrency)
        try:
            while True:
                # Questions are read only as threads become free, since each loads its images.
                free = self._concurrency - len(running)
                running |= {pool.submit(ask, chat) for chat in islice(remaining, free)}
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    refusal = future.result()
                    if not refusal:
                        failures_in_a_row = 0
                        self._endpoint.be_patient()
                        continue
                    failures_in_a_row += 1
                    if failures_in_a_row > _MOST_FAILURES + self._concurrency:
                        raise self._endpoint.broken(failures_in_a_row, refusal)
        finally:
            pool.shutdown(cancel_futures=True)

    def _ask(self, images: Sequence[str], chat: Chat, generation: GenerationConfig) -> Answer:
        """Ask a question. A parameter that the endpoint rejects is left out from then on: reasoning
        models use another name for the limit, and only one temperature."""
        parameters = self._parameters(chat, generation)
        try:
            completion = self._endpoint.ask(images, chat.text, **parameters)
        except RefusedError as refusal:
            rejected = [name for name in _OPTIONAL_PARAMETERS if f"'{name}'" in str(refusal)]
            if not rejected or rejected[0] not in parameters:
                raise
            with self._lock:
                # Other threads may be refused the same parameter meanwhile.
                if rejected[0] not in self._not_taken:
                    self._not_taken.append(rejected[0])
            return self._ask(images, chat, generation)
        return answer_of(completion.model_dump())

    def _parameters(self, chat: Chat, generation: GenerationConfig) -> dict[str, Any]:
        values: dict[str, Any] = {
            "max_tokens": generation.max_tokens,
            "temperature": generation.temperature,
            "seed": chat.seed,
        }
        if chat.schema is not None:
            structure = {"name": "answer", "schema": chat.schema, "strict": True}
            values["response_format"] = {"type": "json_schema", "json_schema": structure}
        parameters = {name: value for name, value in values.items() if name not in self._not_taken}
        if "max_tokens" not in parameters:
            parameters["max_completion_tokens"] = generation.max_tokens
        return parameters


def answer_of(completion: dict[str, Any]) -> Answer:
    """The answer in a chat completion. Reasoning that an endpoint returns separately is put before
    it.

    Raises ValueError for anything but a chat completion.
    """
    try:
        choice = completion["choices"][0]
        usage = completion.get("usage") or {}
        message = choice["message"]
        content, reasoning_in_content = _split_content(message.get("content"))
        # Servers differ in the name of the field; OpenAI's own endpoint returns none.
        reasoning = message.get("reasoning_content") or message.get("reasoning")
        reasoning = reasoning or reasoning_in_content
        refusal = message.get("refusal")
        # In the form of models that write their reasoning into the answer, so that one reader cuts
        # it off.
        if reasoning:
            text = f"<think>{reasoning}</think>\n{content}"
        else:
            text = content or str(refusal or "")
        return Answer(
            text=text,
            finish="refusal" if refusal else str(choice.get("finish_reason") or "stop"),
            prompt_tokens=int(usage.get("prompt_tokens") or 0),
            completion_tokens=int(usage.get("completion_tokens") or 0),
            served=str(completion.get("model") or ""),
        )
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("it is not a chat completion") from None


def _split_content(content: Any) -> tuple[str, str]:
    """The answer and the reasoning in the content of a message: a text, or a list of parts with a
    type."""
    if not isinstance(content, list):
        return str(content or ""), ""
    answer, reasoning = "", ""
    for part in content:
        if not isinstance(part, dict):
            answer += str(part)
        elif part.get("type") in ("thinking", "reasoning"):
            nested = part.get("thinking") or part.get("text") or part.get("reasoning")
            reasoning += _split_content(nested)[0]
        else:
            answer += str(part.get("text") or "")
    return answer, reasoning


def completion_of_parts(parts: Iterable[Any]) -> Any:
    """The chat completion whose parts a server streamed, with the texts of its message and its last
    usage.

    Raises RefusedError if the stream has no message.
    """
    from openai.types.chat import ChatCompletion

    message: dict[str, Any] = {"role": "assistant", "content": ""}
    finish = ""
    served = ""
    usage = None
    logprobs = None
    has_message = False
    for part in parts:
        usage = getattr(part, "usage", None) or usage
        served = getattr(part, "model", None) or served
        # The last part of a stream has the usage and no choice.
        for choice in part.choices[:1]:
            has_message = True
            delta = choice.delta.model_dump()
            for name in ("content", "reasoning_content", "reasoning", "refusal"):
                if delta.get(name):
                    message[name] = message.get(name, "") + delta[name]
            finish = choice.finish_reason or finish
            logprobs = logprobs or choice.logprobs
    if not has_message:
        raise RefusedError("its stream has no chat completion")
    whole_choice = {
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
        choices=[_make_choice(whole_choice)],
        usage=usage,
    )


def _make_choice(choice: dict[str, Any]) -> Any:
    from openai.types.chat.chat_completion import Choice
    from openai.types.chat.chat_completion_message import ChatCompletionMessage

    # model_construct does not validate: servers leave fields out, or add some.
    message = ChatCompletionMessage.model_construct(**choice["message"])
    return Choice.model_construct(**{**choice, "message": message})


def messages(images: Sequence[str], question: str) -> list[dict[str, Any]]:
    """Write the messages of a request.

    Args:
        images: Data URLs, shown before the question.
        question: The question.

    Returns:
        One message of the user, in the format of OpenAI.
    """
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": image}} for image in images
    ]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": question}]}]


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
    return [(str(token.token), float(token.logprob)) for token in top or []]


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
    return ApiScorer(_open_endpoint(name, device, timeout), concurrency)


def load_answering(
    name: str, device: str | None, *, concurrency: Count = 16, timeout: Seconds = TIMEOUT
) -> ApiAnswerer:
    """Make the model of `URL@MODEL` that is asked in words. Makes no request.

    Args:
        name: URL@MODEL.
        device: None; anything else is refused.
        concurrency: Requests at the same time.
        timeout: Seconds after which a request is repeated.

    Returns:
        The model.

    Raises:
        UserError: A device is named, or as for `load_api`.
    """
    return ApiAnswerer(_open_endpoint(name, device, timeout), concurrency)


def _open_endpoint(name: str, device: str | None, timeout: float) -> Endpoint:
    url, model = parse_place(name)
    if device is not None:
        raise UserError(
            f"The model of api: runs at its endpoint and not on '{device}'; leave --device out."
        )
    check_installed("openai")
    return Endpoint(url, model, timeout)
