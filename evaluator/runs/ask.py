"""Make a run in words: ask one model the questions of one benchmark, directly or by OpenAI's batch
files, and measure its answers."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from evaluator.benchmarks.tables import rows_of
from evaluator.models.contracts import Chat
from evaluator.protocols.records import Results
from evaluator.runs.asking import (
    AskedModel,
    ask_questions,
    check_asking,
    load_images,
    name_of_question,
    open_answerer,
    write_open_chats,
)
from evaluator.runs.lock import locked_run
from evaluator.runs.measure import measure_locked
from evaluator.runs.request import DESCRIBE_OPTIONS, AskOptions, AskRequest
from evaluator.runs.run import finish_run, log_counts, prepare_run
from evaluator.scoring.words.answers import describe_answers
from evaluator.scoring.words.files import write_answers
from evaluator.scoring.words.prompt import Prompt, read_prompt
from evaluator.scoring.words.reader import read_answer
from generator.base.errors import UserError
from generator.base.progress import SILENT, Progress
from generator.dataset.questions import VIEWS, Candidates, Question, make_questions

logger = logging.getLogger(__name__)
_ONLY_CHOICES = "its questions about two images are choices (--form choice)"
_POOLED = "its false texts are in a pool, and a question in words cannot include a pool"


@dataclass(frozen=True)
class _Setup:
    """What a run in words asks, and whom."""

    asked_model: AskedModel
    """The model, and the checked request."""
    prompt: Prompt
    """The words of the questions."""
    form: Literal["choice", "yes-no"]
    """The form of the questions."""


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
        return _ask(request, out, progress=progress, batch_files=answers)


def _ask(
    request: AskRequest, out: Path, *, progress: Progress, batch_files: Sequence[Path]
) -> Results:
    setup = _set_up(request, out)
    prepared, model = setup.asked_model.prepared, setup.asked_model.model
    samples, not_asked = _make_questions(request, setup)
    rows = Candidates(prepared.benchmark)
    answered = ask_questions(
        request,
        setup.asked_model,
        [sample.chat for sample in samples],
        scenes=[rows.scene[sample.question.options[0]] for sample in samples],
        not_asked=not_asked,
        batch_files=batch_files,
        out=out,
        progress=progress,
    )
    read_answers = []
    for sample, answer in zip(samples, answered.answers, strict=True):
        read_answers.append(
            read_answer(
                sample.question, answer, sample=sample.sample, rows=rows, prompt=setup.prompt
            )
        )
    write_answers(out, read_answers)

    info = dict(model.info)
    served = sorted({answer.served for answer in answered.answers} - {""})
    if served:
        info["served"] = ", ".join(served)
    record = {
        "protocols": [name for name in prepared.protocols if name not in not_asked],
        "training": answered.training,
        "info": info,
        "indistinct_texts": {},
        "channels": [request.form],
        "channel": request.form,
        "image_channel": None,
        "not_asked": not_asked,
        "counts": log_counts(model),
        "words": _words_record(request, setup.prompt),
    }
    finish_run(prepared, out, record=record, cache=setup.asked_model.cache)
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
    samples, _ = _make_questions(request, setup)
    chats = [sample.chat for sample in samples]
    return write_open_chats(request, setup.asked_model, chats=chats, path=path)


def _set_up(request: AskRequest, out: Path) -> _Setup:
    """Check the request, and open the prompt and the model."""
    check_asking(request)
    form = _form_of_captions(request)
    prompt = read_prompt(None if request.prompt is None else Path(request.prompt))
    orders = "all orders" if request.orders is None else f"{request.orders} orders"
    question = (
        f"{form}, prompt {prompt.digest}, {orders}, {request.samples} samples at "
        f"temperature {request.temperature:g}, {request.max_tokens} tokens"
    )
    prepared = prepare_run(request, out, question=question)
    return _Setup(open_answerer(request, prepared, out), prompt, form)


def _form_of_captions(request: AskRequest) -> Literal["choice", "yes-no"]:
    """The form of the questions. Raises UserError for descriptions and facts, and for options that
    only these have."""
    if request.form == "describe" or request.form == "attributes":
        raise UserError(
            f"A run with the form '{request.form}' has results of its own; use `score ask --form "
            f"{request.form}`, or in Python evaluator.runs.describe.describe_images or "
            f"evaluator.runs.attributes.ask_attributes."
        )
    for name in DESCRIBE_OPTIONS:
        if getattr(request, name) != getattr(AskOptions, name):
            raise UserError(f"--{name} is for --form describe; leave it out.")
    return request.form


def _make_questions(
    request: AskRequest, setup: _Setup
) -> tuple[list[_AskedSample], dict[str, str]]:
    """The questions, and by protocol that is not asked, the reason. Raises UserError if none, or
    not all requested, can be asked."""
    prepared = setup.asked_model.prepared
    benchmark, protocols = prepared.benchmark, prepared.protocols
    world = prepared.dataset.world
    rows = Candidates(benchmark)
    questions = make_questions(
        benchmark, rows, protocols=protocols, form=setup.form, orders=request.orders
    )
    protocol_of = dict(rows_of(benchmark.items, "item_id", "protocol"))
    with_questions = {protocol_of[question.item] for question in questions}
    not_asked = {}
    for name in protocols:
        if name not in with_questions:
            not_asked[name] = _ONLY_CHOICES if name == VIEWS else _POOLED
    if not with_questions or (request.protocols and not_asked):
        name, reason = next(iter(not_asked.items()))
        raise UserError(f"'{name}' cannot be asked in words: {reason}; leave it out.")
    samples = []
    for question in questions:
        text, scenes = setup.prompt.ask(question, rows)
        images = [world.image_digest(scene) for scene in scenes]
        for number in range(request.samples):
            # The name of a question is all that its answer depends on, but for the model.
            key = [images, text, request.max_tokens, request.temperature, number]
            name = name_of_question(key)
            chat = Chat(name, partial(load_images, world, scenes), text, number)
            samples.append(_AskedSample(question, number, chat))
    return samples, not_asked
