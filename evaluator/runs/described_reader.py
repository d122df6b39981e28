"""A model behind an endpoint reads descriptions in prose, in place of the grammar; its own error is
measured on the same run (docs/descriptions.md, "Another model as reader")."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluator.descriptions.reader import Readings, reader_question, reader_rows, reader_schema
from evaluator.models.contracts import FAILED, Answer, Chat
from evaluator.models.registry import load_answering, read_spec
from evaluator.runs.asking import AskedModel, collect_answers, name_of_question
from evaluator.runs.request import AskRequest
from evaluator.runs.run import PreparedRun
from generator.base.errors import UserError
from generator.base.progress import Progress
from generator.dataset.descriptions.question import DescriptionQuestion
from generator.dataset.descriptions.reading import final_part, read_description
from generator.dataset.descriptions.truth import ImageTruth

logger = logging.getLogger(__name__)


def check_reader(request: AskRequest) -> None:
    """Check the reader of a request.

    Args:
        request: What to ask; names the reader, if there is one.

    Raises:
        UserError: The answers are JSON, or the reader is not behind an endpoint.
    """
    if request.reader is None:
        return
    if request.answer != "prose":
        raise UserError("--reader is for --answer prose; leave it out, as JSON is read as it is.")
    if read_spec(request.reader).family != "api":
        raise UserError(
            f"Expected --reader as api:URL@MODEL, got '{request.reader}'; name a model of api:."
        )


def open_reader(request: AskRequest, prepared: PreparedRun) -> AskedModel | None:
    """Open the reader of a request.

    Args:
        request: Names the reader, if there is one.
        prepared: The checked request.

    Returns:
        The model; None for the grammar.

    Raises:
        UserError: It cannot be opened.
    """
    if request.reader is None:
        return None
    return AskedModel(prepared, load_answering(request.reader, request.device), None)


def ask_reader(
    request: AskRequest,
    reader: AskedModel,
    answers: Sequence[Answer],
    truths: Sequence[ImageTruth],
    *,
    out: Path,
    progress: Progress,
) -> list[Answer]:
    """Let a model turn each answer in prose into JSON. An answer that failed is not read.

    Args:
        request: What was asked; names the reader.
        reader: The model that reads.
        answers: The answers to all images.
        truths: The records of the images, in the same order.
        out: The folder of the run.
        progress: Shows how many answers are read.

    Returns:
        The JSON of each answer, as the model wrote it.

    Raises:
        UserError: The budget runs out, the model stops answering, or it reads none.
    """
    # Readings are not samples: the most likely one is taken.
    own_request = replace(request, temperature=0.0)
    relations = request.relations
    readings = [Answer("", f"{FAILED}there is no answer to read")] * len(answers)
    chat_of_image: dict[int, Chat] = {}
    for image, (answer, truth) in enumerate(zip(answers, truths, strict=True)):
        if answer.finish.startswith(FAILED):
            continue
        schema = reader_schema(truth.vocabulary, relations)
        start, end = final_part(answer.text)
        text = reader_question(answer.text[start:end], truth.vocabulary, relations)
        key = [[], text, schema, request.max_tokens, 0.0]
        chat_of_image[image] = Chat(name_of_question(key), list, text, schema=schema)
    collected = collect_answers(
        own_request,
        reader,
        list(chat_of_image.values()),
        batch_files=(),
        out=out,
        progress=progress,
        announce_cost=lambda cost: logger.info(f"Reader {request.reader}: {cost}"),
    )
    for image, reading in zip(chat_of_image, collected, strict=True):
        readings[image] = reading
    return readings


def reader_results(
    answers: Sequence[Answer],
    readings: Sequence[Answer],
    truths: Sequence[ImageTruth],
    *,
    question: DescriptionQuestion,
    level: float,
) -> dict[str, Any]:
    """Measure the reader's own error, on the answers that the grammar reads whole too.

    Args:
        answers: The answers to all images.
        readings: What the reader wrote for each.
        truths: The records of the images, in the same order.
        question: How the descriptions were asked for.
        level: Of the intervals, in 0..1.

    Returns:
        `answers`, how many were read; `compared`, how many of them the grammar reads whole; and
        `rows` (evaluator.descriptions.reader.reader_rows).
    """
    compared = []
    for answer, reading, truth in zip(answers, readings, truths, strict=True):
        if answer.finish.startswith(FAILED) or reading.finish.startswith(FAILED):
            continue
        by_grammar = read_description(answer.text, truth.vocabulary, form="prose")
        by_reader = read_description(
            reading.text, truth.vocabulary, form="json", words=question.words
        )
        compared.append(Readings(by_grammar, by_reader, truth))
    return {
        "answers": len(compared),
        "compared": sum(reading.can_compare for reading in compared),
        "rows": reader_rows(compared, level),
    }
