"""Make a run in words: ask one model the questions of one benchmark, directly or by OpenAI's batch
files, and measure its answers."""

import hashlib
import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.benchmarks.tables import rows_of
from evaluator.models.api import answer_of
from evaluator.models.contracts import FAILED, Answer, Answerer, Chat, GenerationConfig
from evaluator.models.python import check_device, from_memory
from evaluator.models.registry import load_answering
from evaluator.models.user_objects import adapt_answering
from evaluator.protocols.records import Results
from evaluator.runs.lock import locked_run
from evaluator.runs.measure import measure_locked
from evaluator.runs.request import AskRequest
from evaluator.runs.run import CACHE, Begun, announce, begin, check_training, counted, finish, start
from evaluator.scoring.store import Process
from evaluator.scoring.words.answers import describe_answers
from evaluator.scoring.words.files import AnswerStore, write_answers
from evaluator.scoring.words.prompt import Prompt, read_prompt
from evaluator.scoring.words.reader import read_answer
from generator.base.errors import UserError
from generator.base.files import draft_of
from generator.base.limits import MOST_JSON, check_file
from generator.base.progress import SILENT, Progress
from generator.dataset.questions import Candidates, Question, make_questions

logger = logging.getLogger(__name__)
_LETTERS, _PIXELS = 4, 28 * 28
"""Letters and pixels per token, roughly."""
_POOLED = "its false texts are in a pool, and a question in words cannot include a pool"


@dataclass(frozen=True)
class Asked:
    """The questions of a run, each with its sample number, and the chats that put them to the
    model."""

    questions: list[tuple[Question, int]]
    chats: list[Chat]

    @property
    def names(self) -> dict[str, Chat]:
        """The distinct chats by name."""
        return {chat.name: chat for chat in self.chats}


def ask(
    request: AskRequest, out: Path, progress: Progress = SILENT, answers: Sequence[Path] = ()
) -> Results:
    """Ask the questions, and measure the run, in the folder `out`; returns the results.

    answers: batch files to read instead of asking. The folder is locked until the end
        (evaluator.runs.lock). Raises
    UserError for an invalid request, if the budget runs out, and if nothing is answered.
    """
    with locked_run(out):
        return _ask(request, out, progress, answers)


def _ask(request: AskRequest, out: Path, progress: Progress, answers: Sequence[Path]) -> Results:
    begun, prompt, model, cache = _begin(request, out)
    asked, not_asked = _questions(request, begun, prompt)
    rows = Candidates(begun.benchmark)
    training = check_training(
        model, begun, sorted({rows.scene[q.options[0]] for q, _ in asked.questions}), request
    )
    with AnswerStore(model.key, cache) as store:
        if answers:
            _take(answers, asked, store)
        known = store.get(asked.names)
        left = [] if answers else [chat for name, chat in asked.names.items() if name not in known]
        cost = _cost(left, len(known), request.max_tokens)
        announce(
            model.info, f"{cost} Dataset certificate: {begun.certificate}.", training, not_asked
        )
        start(begun, out, Process())
        spending = _Spending(request, store, known, _prompt_tokens(left[:1]))
        with progress.track("questions", len(asked.names), len(known)) as advance:
            spending.answer(model, left, advance)
    given = [
        spending.answers.get(chat.name, Answer("", f"{FAILED}it has no answer"))
        for chat in asked.chats
    ]
    answered = [
        read_answer(question, answer, sample=sample, rows=rows, prompt=prompt)
        for (question, sample), answer in zip(asked.questions, given, strict=True)
    ]
    _check_answered(given)
    write_answers(out, answered)
    served = sorted({answer.served for answer in given} - {""})
    protocols = [name for name in begun.protocols if name not in not_asked]
    record = {
        "protocols": protocols,
        "training": training,
        "info": {**model.info, "served": ", ".join(served)} if served else model.info,
        "indistinct_texts": {},
        "channels": [request.form],
        "channel": request.form,
        "image_channel": None,
        "not_asked": not_asked,
        "counts": counted(model),
        "words": {
            "form": request.form,
            "prompt": asdict(prompt),
            "digest": prompt.digest,
            "samples": request.samples,
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "orders": request.orders,
        },
    }
    finish(begun, out, record, protocols, cache)
    results = measure_locked(out)
    for line in describe_answers(results["answers"]):
        logger.info(line)
    return results


def write_questions(request: AskRequest, out: Path, path: Path) -> tuple[list[Path], int]:
    """Write the unanswered questions of a run as batch files; returns the files and the number of
    questions.

    Raises UserError as `ask`, and for a model without an API endpoint.
    """
    begun, prompt, model, cache = _begin(request, out)
    if not hasattr(model, "request"):
        raise UserError(
            f"Batch files are for models of api:; leave --to out to ask {request.model_name}."
        )
    asked, _ = _questions(request, begun, prompt)
    with AnswerStore(model.key, cache) as store:
        known = store.get(asked.names)
    left = [chat for name, chat in asked.names.items() if name not in known]
    how = GenerationConfig(request.max_tokens, request.temperature)
    return write_batch(path, left, lambda chat: model.request(chat, how)), len(left)


def _begin(request: AskRequest, out: Path) -> tuple[Begun, Prompt, Any, Path | None]:
    """The checked request, the prompt, the model, and the cache folder of its answers (None: the
    user's cache)."""
    if (count := Process.from_environment().count) > 1:
        raise UserError(
            f"`score ask` runs in one process, not in {count}; start it without torchrun."
        )
    if request.samples > 1 and not request.temperature:
        raise UserError(
            f"{request.samples} samples at temperature 0 are all alike; give a --temperature such "
            f"as 0.7."
        )
    prompt = read_prompt(None if request.prompt is None else Path(request.prompt))
    orders = "all orders" if request.orders is None else f"{request.orders} orders"
    question = (
        f"{request.form}, prompt {prompt.digest}, {orders}, {request.samples} samples at "
        f"temperature {request.temperature:g}, {request.max_tokens} tokens"
    )
    begun = begin(request, out, Process(), question)
    if isinstance(request.model, str):
        model = load_answering(request.model, request.device)
    else:
        check_device(request.device)
        model = _from_memory(request.model, request.model_name)
    return begun, prompt, model, None if model.reusable else out / CACHE


def _from_memory(model: Any, name: str) -> Answerer:
    if not isinstance(model, tuple):
        return adapt_answering(model, name, source=type(model), device=None)
    found: Any = from_memory(model, name)
    if not hasattr(found, "answer_all"):
        raise UserError(
            f"{name} does not answer in words; give a generative model of transformers with its "
            f"processor."
        )
    return found


def _questions(request: AskRequest, begun: Begun, prompt: Prompt) -> tuple[Asked, dict[str, str]]:
    """Questions, and {protocol: why it is not asked}. Raises UserError if none, or not all
    requested, can be asked."""
    rows, world = Candidates(begun.benchmark), begun.dataset.world
    made = make_questions(
        begun.benchmark,
        rows,
        protocols=begun.protocols,
        form=request.form,
        orders=request.orders,
    )
    protocol_of = dict(rows_of(begun.benchmark.items, "item_id", "protocol"))
    there = {protocol_of[question.item] for question in made}
    not_asked = {name: _POOLED for name in begun.protocols if name not in there}
    if not there or (request.protocols and not_asked):
        raise UserError(
            f"'{next(iter(not_asked))}' cannot be asked in words: {_POOLED}; leave it out."
        )
    questions, chats = [], []
    for question in made:
        text, scenes = prompt.ask(question, rows)
        shown = [world.image_digest(scene) for scene in scenes]
        for sample in range(request.samples):
            key = [shown, text, request.max_tokens, request.temperature, sample]
            name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:32]
            questions.append((question, sample))
            chats.append(Chat(name, partial(_images, world, scenes), text, sample))
    return Asked(questions, chats), not_asked


def _images(world: Any, scenes: Sequence[str]) -> list[Any]:
    return [world.image(scene) for scene in scenes]


class _Spending:
    """Asks questions within a budget of tokens. answers: {name of a question: its answer} of the
    run."""

    def __init__(
        self, request: AskRequest, store: AnswerStore, known: dict[str, Answer], prompt_tokens: int
    ):
        self.answers = dict(known)
        self._generation = GenerationConfig(request.max_tokens, request.temperature)
        self._budget, self._store, self._lock = request.budget, store, threading.Lock()
        self._used = sum(each.prompt_tokens + each.completion_tokens for each in known.values())
        self._each, self._open = prompt_tokens + request.max_tokens, 0

    def answer(self, model: Answerer, chats: Sequence[Chat], advance: Any) -> None:
        """Ask a model, and store each answer at once. Raises UserError when the budget is used
        up."""
        left = deque(chats)

        def affordable() -> Iterator[Chat]:
            while left and (
                self._budget is None or self._used + (self._open + 1) * self._each <= self._budget
            ):
                with self._lock:
                    self._open += 1
                yield left.popleft()

        def keep(chat: Chat, answer: Answer) -> None:
            if not answer.finish.startswith(FAILED):
                self._store.put([chat.name], [answer])
            with self._lock:
                self.answers[chat.name] = answer
                self._open -= 1
                self._used += answer.prompt_tokens + answer.completion_tokens
                advance()

        while left:
            before = len(left)
            model.answer_all(affordable(), self._generation, keep=keep)
            if len(left) == before:
                raise UserError(
                    f"The budget of {self._budget:,} tokens does not allow another question: "
                    f"{self._used:,} are used, "
                    f"and {len(left):,} of {len(self.answers) + len(left):,} questions are open; "
                    f"run the same command "
                    "again with a larger --budget. Finished work is kept."
                )


def _take(paths: Sequence[Path], asked: Asked, store: AnswerStore) -> None:
    """Store the answers of batch files. Raises UserError if no line answers these questions."""
    names, taken, failed = set(asked.names), 0, []
    for name, answer in read_batch(paths):
        if name in names and answer.finish.startswith(FAILED):
            failed.append(answer.finish)
        elif name in names:
            store.put([name], [answer])
            taken += 1
    if not taken and not failed:
        raise UserError(
            f"{paths[0]} answers none of these {len(names):,} questions; give the dataset and "
            f"options that --to had."
        )
    if failed:
        logger.info(f"{len(failed):,} questions of the batch failed, the first: {failed[0]}.")


def _check_answered(answers: Sequence[Answer]) -> None:
    failed = [answer.finish for answer in answers if answer.finish.startswith(FAILED)]
    if failed and len(failed) == len(answers):
        raise UserError(
            f"None of the {len(answers):,} questions has an answer ({failed[0]}); mend that, then "
            f"run the same command "
            "again."
        )
    if failed:
        logger.info(
            f"{len(failed):,} of {len(answers):,} questions have no answer ({failed[0]}); their "
            f"items are unscored, "
            "and the same command with another --out asks them again."
        )


def _cost(left: Sequence[Chat], known: int, most: int) -> str:
    """One sentence: the number of questions to ask, and the number of tokens that they take."""
    if not left:
        return f"All questions have answers already, {known:,}."
    text = sum(len(chat.text) for chat in left) // _LETTERS
    images = _prompt_tokens(left[:1]) - len(left[0].text) // _LETTERS
    size = "×".join(map(str, left[0].show()[0].size))
    return (
        f"{len(left):,} questions to ask, {known:,} more have answers: about "
        f"{text + images * len(left):,} prompt tokens (images of {size}, a token per 28×28 "
        f"pixels) and at most {most * len(left):,} tokens of answers."
    )


def _prompt_tokens(chats: Sequence[Chat]) -> int:
    """A rough count of the tokens of questions, images included."""
    pixels = sum(image.width * image.height for chat in chats for image in chat.show())
    return sum(len(chat.text) for chat in chats) // _LETTERS + pixels // _PIXELS


_MOST_LINES, _MOST_BYTES = 50_000, 190 << 20
"""Limits of a batch file; OpenAI accepts 50,000 requests and 200 MB."""


def write_batch(
    path: Path, chats: Iterable[Chat], request: Callable[[Chat], dict[str, Any]]
) -> list[Path]:
    """Write questions in OpenAI's batch format, one per line; returns the files FILE, FILE-2, …,
    each within OpenAI's limits. request: makes the body of a question's request."""
    paths: list[Path] = []
    with ExitStack() as whole:
        lines, size, file = _MOST_LINES, 0, None
        for chat in chats:
            body = {
                "custom_id": chat.name,
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": request(chat),
            }
            line = json.dumps(body) + "\n"
            if file is None or lines >= _MOST_LINES or size + len(line) > _MOST_BYTES:
                paths.append(path.with_stem(f"{path.stem}-{len(paths) + 1}") if paths else path)
                file = whole.enter_context(
                    whole.enter_context(draft_of(paths[-1])).open("w", encoding="utf-8")
                )
                lines = size = 0
            file.write(line)
            lines, size = lines + 1, size + len(line)
    return paths


def read_batch(paths: Sequence[Path]) -> Iterator[tuple[str, Answer]]:
    """Yield (name of a question, its answer) from files in OpenAI's batch format; a failed answer
    holds the reason.

    Raises UserError for a line that is not such an answer.
    """
    for path in paths:
        check_file(path)
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MOST_JSON), b""), 1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                    yield str(record["custom_id"]), _answer(record)
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    raise UserError(
                        f"Line {number} of {path} is no answer in OpenAI's batch format, a JSON "
                        f"object with custom_id "
                        "and response; give the file of results as the batch wrote it."
                    ) from None


def _answer(record: dict[str, Any]) -> Answer:
    response = record.get("response") or {}
    body = response.get("body") or {}
    failed = record.get("error") or body.get("error")
    if failed or response.get("status_code", 200) != 200:
        said = failed.get("message") if isinstance(failed, dict) else failed
        return Answer("", f"{FAILED}{said or response.get('status_code')}")
    return answer_of(body)
