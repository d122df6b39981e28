"""Make a run in words: ask one model the questions of one benchmark, directly or by OpenAI's batch
files, and measure its answers."""

import hashlib
import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.benchmarks.tables import rows_of
from evaluator.models.contracts import FAILED, Answer, Answerer, Chat, GenerationConfig
from evaluator.models.python import check_device, from_memory
from evaluator.models.registry import load_answering
from evaluator.models.user_objects import adapt_answering
from evaluator.protocols.records import Results
from evaluator.runs.batch import read_batch, write_batch
from evaluator.runs.lock import locked_run
from evaluator.runs.measure import measure_locked
from evaluator.runs.request import AskRequest
from evaluator.runs.run import (
    CACHE,
    PreparedRun,
    announce,
    check_training,
    finish_run,
    log_counts,
    prepare_run,
    start_run,
)
from evaluator.scoring.store import Process
from evaluator.scoring.words.answers import describe_answers
from evaluator.scoring.words.files import AnswerStore, write_answers
from evaluator.scoring.words.prompt import Prompt, read_prompt
from evaluator.scoring.words.reader import read_answer
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress
from generator.dataset.questions import Candidates, Question, make_questions

logger = logging.getLogger(__name__)
_LETTERS_OF_TOKEN, _PIXELS_OF_TOKEN = 4, 28 * 28
"""Letters and pixels per token, roughly. Tokenizers of English have about four letters per token,
and Qwen's vision models a token per 28x28 pixels."""
_NAME_DIGITS = 32
"""Hexadecimal digits of a question's name: 128 bits, so that no two questions share one."""
_POOLED = "its false texts are in a pool, and a question in words cannot include a pool"


@dataclass(frozen=True)
class _Setup:
    """What a run in words asks, and whom."""

    prepared: PreparedRun
    """The checked request."""
    prompt: Prompt
    """The words of the questions."""
    model: Any
    """The model, an Answerer."""
    cache: Path | None
    """Folder of the model's answers; None for the user's cache."""


@dataclass(frozen=True)
class _AskedSample:
    """A question that is asked, once for each sample."""

    question: Question
    """The question."""
    sample: int
    """Number of the sample, from 0."""
    chat: Chat
    """The message that puts the question to the model. Equal messages have one name, and are sent
    once."""


def ask(
    request: AskRequest, out: Path, progress: Progress = SILENT, answers: Sequence[Path] = ()
) -> Results:
    """Ask a model the questions of a benchmark, and measure the run.

    The folder is locked until the end (evaluator.runs.lock).

    Args:
        request: What to ask, and how.
        out: The folder of the run.
        progress: Shows how many questions have answers.
        answers: Batch files to read instead of asking.

    Returns:
        The results.

    Raises:
        UserError: The request cannot be met, the budget runs out, or nothing is answered.
    """
    with locked_run(out):
        return _ask(request, out, progress, answers)


def _ask(
    request: AskRequest, out: Path, progress: Progress, batch_files: Sequence[Path]
) -> Results:
    setup = _set_up(request, out)
    prepared, model = setup.prepared, setup.model
    samples, not_asked = _make_questions(request, setup)
    rows = Candidates(prepared.benchmark)
    scenes = {rows.scene[sample.question.options[0]] for sample in samples}
    training = check_training(model, prepared, images=sorted(scenes), request=request)

    answer_of_name = _collect_answers(
        request,
        setup,
        samples=samples,
        batch_files=batch_files,
        out=out,
        progress=progress,
        announce_cost=partial(announce, model.info, training=training, not_asked=not_asked),
    )
    no_answer = Answer("", f"{FAILED}it has no answer")
    answers = [answer_of_name.get(sample.chat.name, no_answer) for sample in samples]
    answered = []
    for sample, answer in zip(samples, answers, strict=True):
        answered.append(
            read_answer(
                sample.question, answer, sample=sample.sample, rows=rows, prompt=setup.prompt
            )
        )
    _check_answered(answers)
    write_answers(out, answered)

    info = dict(model.info)
    served = sorted({answer.served for answer in answers} - {""})
    if served:
        info["served"] = ", ".join(served)
    record = {
        "protocols": [name for name in prepared.protocols if name not in not_asked],
        "training": training,
        "info": info,
        "indistinct_texts": {},
        "channels": [request.form],
        "channel": request.form,
        "image_channel": None,
        "not_asked": not_asked,
        "counts": log_counts(model),
        "words": _words_record(request, setup.prompt),
    }
    finish_run(prepared, out, record=record, cache=setup.cache)
    results = measure_locked(out)
    for line in describe_answers(results["answers"]):
        logger.info(line)
    return results


def _words_record(request: AskRequest, prompt: Prompt) -> dict[str, Any]:
    """How the run was asked in words (evaluator.protocols.records.WordsRecord)."""
    return {
        "form": request.form,
        "prompt": asdict(prompt),
        "digest": prompt.digest,
        "samples": request.samples,
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "orders": request.orders,
    }


def _collect_answers(
    request: AskRequest,
    setup: _Setup,
    *,
    samples: Sequence[_AskedSample],
    batch_files: Sequence[Path],
    out: Path,
    progress: Progress,
    announce_cost: Callable[[str], None],
) -> dict[str, Answer]:
    """The answers by name of the question: those of earlier runs, and of batch files if there are
    any, else of the model. Questions whose batch failed have none."""
    chats = {sample.chat.name: sample.chat for sample in samples}
    with AnswerStore(setup.model.key, setup.cache) as store:
        if batch_files:
            _store_batch(batch_files, chats, store)
        known = store.get(chats)
        open_chats = []
        if not batch_files:
            open_chats = [chat for name, chat in chats.items() if name not in known]
        cost = _describe_cost(open_chats, known=len(known), most_tokens=request.max_tokens)
        announce_cost(f"{cost} Dataset certificate: {setup.prepared.certificate}.")
        start_run(setup.prepared, out)
        asker = _BudgetedAsker(request, store, known=known, first_chats=open_chats[:1])
        with progress.track("questions", len(chats), len(known)) as advance:
            asker.ask(setup.model, open_chats, advance)
    return asker.answers


def write_question_batch(request: AskRequest, out: Path, path: Path) -> tuple[list[Path], int]:
    """Write the unanswered questions of a run as batch files.

    Args:
        request: What to ask, and how.
        out: The folder of the run, which need not exist.
        path: The first file.

    Returns:
        The files, and the number of questions.

    Raises:
        UserError: As `ask`; and for a model without an API endpoint.
    """
    setup = _set_up(request, out)
    model = setup.model
    if not hasattr(model, "request"):
        raise UserError(
            f"Batch files are for models of api:; leave --to out to ask {request.model_name}."
        )
    samples, _ = _make_questions(request, setup)
    chats = {sample.chat.name: sample.chat for sample in samples}
    with AnswerStore(model.key, setup.cache) as store:
        known = store.get(chats)
    open_chats = [chat for name, chat in chats.items() if name not in known]
    generation = GenerationConfig(request.max_tokens, request.temperature)
    paths = write_batch(path, open_chats, make_body=lambda chat: model.request(chat, generation))
    return paths, len(open_chats)


def _set_up(request: AskRequest, out: Path) -> _Setup:
    """Check the request, and open the prompt and the model."""
    processes = Process.from_environment().count
    if processes > 1:
        raise UserError(
            f"`score ask` runs in one process, not in {processes}; start it without torchrun."
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
    prepared = prepare_run(request, out, question=question)
    model: Any
    if isinstance(request.model, str):
        model = load_answering(request.model, request.device)
    else:
        check_device(request.device)
        model = _adapt_object(request.model, request.model_name)
    return _Setup(prepared, prompt, model, None if model.reusable else out / CACHE)


def _adapt_object(model: Any, name: str) -> Answerer:
    """The model that a user's object is. Raises UserError if it does not answer in words."""
    if not isinstance(model, tuple):
        return adapt_answering(model, name, source=type(model), device=None)
    adapted: Any = from_memory(model, name)
    if not hasattr(adapted, "answer_all"):
        raise UserError(
            f"{name} does not answer in words; give a generative model of transformers with its "
            f"processor."
        )
    return adapted


def _make_questions(
    request: AskRequest, setup: _Setup
) -> tuple[list[_AskedSample], dict[str, str]]:
    """The questions, and by protocol that is not asked, the reason. Raises UserError if none, or
    not all requested, can be asked."""
    benchmark, protocols = setup.prepared.benchmark, setup.prepared.protocols
    world = setup.prepared.dataset.world
    rows = Candidates(benchmark)
    questions = make_questions(
        benchmark, rows, protocols=protocols, form=request.form, orders=request.orders
    )
    protocol_of = dict(rows_of(benchmark.items, "item_id", "protocol"))
    with_questions = {protocol_of[question.item] for question in questions}
    not_asked = {name: _POOLED for name in protocols if name not in with_questions}
    if not with_questions or (request.protocols and not_asked):
        raise UserError(
            f"'{next(iter(not_asked))}' cannot be asked in words: {_POOLED}; leave it out."
        )
    samples = []
    for question in questions:
        text, scenes = setup.prompt.ask(question, rows)
        images = [world.image_digest(scene) for scene in scenes]
        for number in range(request.samples):
            # The name of a question is all that its answer depends on, but for the model.
            key = [images, text, request.max_tokens, request.temperature, number]
            name = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:_NAME_DIGITS]
            chat = Chat(name, partial(_load_images, world, scenes), text, number)
            samples.append(_AskedSample(question, number, chat))
    return samples, not_asked


def _load_images(world: Any, scenes: Sequence[str]) -> list[Any]:
    return [world.image(scene) for scene in scenes]


class _BudgetedAsker:
    """Asks questions within a budget of tokens.

    Answers come from several threads. A question is sent only if the budget allows all questions
    that are open to take as many tokens as they may.
    """

    def __init__(
        self,
        request: AskRequest,
        store: AnswerStore,
        *,
        known: Mapping[str, Answer],
        first_chats: Sequence[Chat],
    ):
        """
        Args:
            request: Has the budget, and how answers are generated.
            store: Where answers are stored at once.
            known: By name, the answers that earlier runs stored.
            first_chats: A question of usual size; none if all have answers.
        """
        self.answers = dict(known)
        """By name of the question, its answer."""
        self._generation = GenerationConfig(request.max_tokens, request.temperature)
        self._budget, self._store, self._lock = request.budget, store, threading.Lock()
        self._used_tokens = sum(
            answer.prompt_tokens + answer.completion_tokens for answer in known.values()
        )
        self._tokens_of_question = _prompt_tokens(first_chats) + request.max_tokens
        self._n_open = 0

    def ask(self, model: Answerer, chats: Sequence[Chat], advance: Callable[[], Any]) -> None:
        """Ask a model, and store each answer at once.

        Args:
            model: The model.
            chats: The questions without an answer.
            advance: Called after each answer.

        Raises:
            UserError: The budget is used up.
        """
        waiting = deque(chats)

        def affordable() -> Iterator[Chat]:
            while waiting and self._allows_another():
                with self._lock:
                    self._n_open += 1
                yield waiting.popleft()

        def keep(chat: Chat, answer: Answer) -> None:
            if not answer.finish.startswith(FAILED):
                self._store.put([chat.name], [answer])
            with self._lock:
                self.answers[chat.name] = answer
                self._n_open -= 1
                self._used_tokens += answer.prompt_tokens + answer.completion_tokens
                advance()

        # Answers are shorter than they may be, so the budget may allow more after each round.
        while waiting:
            n_before = len(waiting)
            model.answer_all(affordable(), self._generation, keep=keep)
            if len(waiting) == n_before:
                raise UserError(
                    f"The budget of {self._budget:,} tokens does not allow another question: "
                    f"{self._used_tokens:,} are used, "
                    f"and {len(waiting):,} of {len(self.answers) + len(waiting):,} questions are "
                    f"open; run the same command "
                    "again with a larger --budget. Finished work is kept."
                )

    def _allows_another(self) -> bool:
        if self._budget is None:
            return True
        open_tokens = (self._n_open + 1) * self._tokens_of_question
        return self._used_tokens + open_tokens <= self._budget


def _store_batch(paths: Sequence[Path], chats: Mapping[str, Chat], store: AnswerStore) -> None:
    """Store the answers of batch files. Raises UserError if no line answers these questions."""
    n_stored = 0
    failures = []
    for name, answer in read_batch(paths):
        if name not in chats:
            continue
        if answer.finish.startswith(FAILED):
            failures.append(answer.finish)
        else:
            store.put([name], [answer])
            n_stored += 1
    if not n_stored and not failures:
        raise UserError(
            f"{paths[0]} answers none of these {len(chats):,} questions; give the dataset and "
            f"options that --to had."
        )
    if failures:
        logger.info(f"{len(failures):,} questions of the batch failed, the first: {failures[0]}.")


def _check_answered(answers: Sequence[Answer]) -> None:
    """Log how many questions have no answer. Raises UserError if none has one."""
    failures = [answer.finish for answer in answers if answer.finish.startswith(FAILED)]
    if failures and len(failures) == len(answers):
        raise UserError(
            f"None of the {len(answers):,} questions has an answer ({failures[0]}); mend that, "
            f"then run the same command "
            "again."
        )
    if failures:
        logger.info(
            f"{len(failures):,} of {len(answers):,} questions have no answer ({failures[0]}); "
            f"their items are unscored, "
            "and the same command with another --out asks them again."
        )


def _describe_cost(chats: Sequence[Chat], *, known: int, most_tokens: int) -> str:
    """A sentence on the number of questions to ask and their tokens.

    chats: the questions to ask. known: the number of other questions. most_tokens: of an answer.
    """
    if not chats:
        return f"All questions have answers already, {known:,}."
    first = chats[0]
    # Loading the images of all questions would take long; those of a world are of one size.
    image_tokens = _prompt_tokens([first]) - len(first.text) // _LETTERS_OF_TOKEN
    text_tokens = sum(len(chat.text) for chat in chats) // _LETTERS_OF_TOKEN
    size = "×".join(map(str, first.show()[0].size))
    return (
        f"{len(chats):,} questions to ask, {known:,} more have answers: about "
        f"{text_tokens + image_tokens * len(chats):,} prompt tokens (images of {size}, a token per "
        f"28×28 pixels) and at most {most_tokens * len(chats):,} tokens of answers."
    )


def _prompt_tokens(chats: Sequence[Chat]) -> int:
    """A rough count of the tokens of questions, images included."""
    letters = sum(len(chat.text) for chat in chats)
    pixels = sum(image.width * image.height for chat in chats for image in chat.show())
    return letters // _LETTERS_OF_TOKEN + pixels // _PIXELS_OF_TOKEN
