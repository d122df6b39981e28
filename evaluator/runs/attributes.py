"""Make a run of attributes: ask a model for the facts of each evaluation image one by one, as in
"What color is the cube?" (docs/descriptions.md, "One fact at a time").

The answers are read by the reader of the reward (generator/dataset/descriptions/rewards.py).
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.descriptions.facts import (
    FACT_SHARES,
    FactCounts,
    count_facts,
    draw_fact_floors,
    is_held_out,
    judge_fact,
)
from evaluator.descriptions.results import rows_as_csv, rows_with_floors
from evaluator.models.contracts import FAILED, Answer, Chat
from evaluator.protocols.items import split_rank
from evaluator.runs.answered_attributes import FACTS_FILE, ROWS_FILE
from evaluator.runs.asking import (
    AskedModel,
    ask_questions,
    check_asking,
    load_images,
    name_of_question,
    open_answerer,
    write_open_chats,
)
from evaluator.runs.folder import ATTRIBUTES_FILE
from evaluator.runs.images import (
    CAPTION_OPTIONS,
    prepare_images,
    read_evaluated,
    refuse_options,
    world_of,
)
from evaluator.runs.lock import locked_run
from evaluator.runs.request import ATTRIBUTES, AskRequest
from evaluator.runs.run import check_unfinished, end_run, log_counts, record_conditions
from generator.base.clusters import OF
from generator.base.errors import UserError
from generator.base.files import (
    write_json,
    write_text,
)
from generator.base.progress import SILENT, Progress
from generator.dataset.descriptions.rewards import read_value
from generator.dataset.descriptions.short_questions import AttributeQuestion, attribute_questions
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.reader import World

_DESCRIBE_ALONE = ("answer", "relations", "reader")
"""Options of `score ask` that only descriptions have."""


@dataclass(frozen=True)
class _Fact:
    """A fact of an image, and the message that asks for it."""

    truth: ImageTruth
    """The record of the image."""
    question: AttributeQuestion
    """The question."""
    chat: Chat
    """The message."""


@dataclass(frozen=True)
class _Setup:
    """What a run of attributes asks, and whom."""

    asked_model: AskedModel
    """The model, and the checked request."""
    truths: list[ImageTruth]
    """The records of the images."""
    questions: list[list[AttributeQuestion]]
    """The questions about each image, in the same order."""
    facts: list[_Fact]
    """The facts, image by image."""


def ask_attributes(
    request: AskRequest, out: Path, progress: Progress = SILENT, answers: Sequence[Path] = ()
) -> dict[str, Any]:
    """Ask a model for the facts of the evaluation images of a benchmark, one by one.

    The folder is locked until the end. The same request resumes a stopped run.

    Args:
        request: What to ask, and how; its form is `attributes`.
        out: The folder of the run.
        progress: Shows how many questions have answers.
        answers: Batch files to read instead of asking.

    Returns:
        The contents of attributes.json.

    Raises:
        UserError: The request cannot be met, the budget runs out, or nothing is answered.
    """
    with locked_run(out):
        return _ask_attributes(request, out, progress=progress, batch_files=answers)


def write_attribute_batch(request: AskRequest, out: Path, path: Path) -> tuple[list[Path], int]:
    """Write the facts without an answer as batch files.

    Args:
        request: What to ask, and how.
        out: The folder of the run, which need not exist.
        path: The first file.

    Returns:
        The files, and the number of questions.

    Raises:
        UserError: As `ask_attributes`; and for a model without an API endpoint.
    """
    setup = _set_up(request, out)
    chats = [fact.chat for fact in setup.facts]
    return write_open_chats(request, setup.asked_model, chats=chats, path=path)


def _ask_attributes(
    request: AskRequest, out: Path, *, progress: Progress, batch_files: Sequence[Path]
) -> dict[str, Any]:
    setup = _set_up(request, out)
    prepared, model = setup.asked_model.prepared, setup.asked_model.model
    answered = ask_questions(
        request,
        setup.asked_model,
        [fact.chat for fact in setup.facts],
        scenes=[truth.scene_id for truth in setup.truths],
        not_asked={},
        batch_files=batch_files,
        out=out,
        progress=progress,
    )
    lines = []
    for fact, answer in zip(setup.facts, answered.answers, strict=True):
        lines.append(_fact_line(fact, answer))
    record = {
        **record_conditions(prepared),
        "form": ATTRIBUTES,
        "rules": {
            "words": request.vocabulary,
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
        },
        "category_word": setup.truths[0].vocabulary.category,
        "training": answered.training,
        "info": model.info,
        "counts": log_counts(model),
        "answers": _count_answers(lines),
        "rows": _result_rows(lines, setup, prepared.level),
    }
    check_unfinished(prepared, out)
    write_text(out / FACTS_FILE, "\n".join(map(json.dumps, lines)) + "\n")
    write_text(out / ROWS_FILE, rows_as_csv(record["rows"]))
    write_json(out / ATTRIBUTES_FILE, record)
    end_run(out, setup.asked_model.cache)
    return record


def _set_up(request: AskRequest, out: Path) -> _Setup:
    """Check the request, and open the dataset and the model."""
    check_asking(request)
    refuse_options(request, (*CAPTION_OPTIONS, *_DESCRIBE_ALONE))
    name = f"{request.vocabulary} vocabulary"
    prepared = prepare_images(request, name, out=out, results_file=ATTRIBUTES_FILE)
    world = world_of(prepared.dataset)
    truths = read_evaluated(prepared.benchmark, world, request.limit)
    questions = [attribute_questions(truth) for truth in truths]
    facts = []
    for truth, of_image in zip(truths, questions, strict=True):
        for question in of_image:
            facts.append(
                _Fact(truth, question, _make_chat(question, truth, world=world, request=request))
            )
    if not facts:
        raise UserError(
            f"No object of {prepared.dataset.source} can be named without ambiguity; give a "
            f"dataset whose objects differ."
        )
    return _Setup(open_answerer(request, prepared, out), truths, questions, facts)


def _make_chat(
    question: AttributeQuestion, truth: ImageTruth, *, world: World, request: AskRequest
) -> Chat:
    """The message that asks a question about an image."""
    text = question.text
    if request.vocabulary == "open":
        # The second line names the words to choose from.
        text = f"{text.partition(chr(10))[0]}\nAnswer in one or two words."
    key = [[world.image_digest(truth.scene_id)], text, request.max_tokens, request.temperature]
    load = partial(load_images, world, [truth.scene_id])
    return Chat(name_of_question(key), load, text)


def _fact_line(fact: _Fact, answer: Answer) -> dict[str, Any]:
    """What is known of a fact and its answer, as JSON data."""
    question, truth = fact.question, fact.truth
    value, why, verdict = None, "", None
    if not answer.finish.startswith(FAILED):
        value, why = read_value(answer.text, question.truth.kind, truth.vocabulary)
        verdict = judge_fact(question, value, truth)
    stored = asdict(answer)
    return {
        "scene_id": truth.scene_id,
        "cluster_id": truth.cluster_id,
        "split": truth.split,
        "bindings": sorted(OF.join(binding) for binding in truth.bindings),
        "object": question.object_index,
        "kind": question.truth.kind,
        "features": [list(feature) for feature in question.features],
        "question": fact.chat.text,
        "value": question.truth.value,
        "held_out": is_held_out(question, truth),
        "answer": stored.pop("text"),
        **stored,
        "read": value,
        "why_unread": why,
        "verdict": verdict,
    }


def _count_answers(lines: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many questions have an answer, and how many are of each verdict."""
    verdicts = Counter(line["verdict"] for line in lines)
    return {
        "questions": len(lines),
        "answered": len(lines) - verdicts[None],
        "failed": verdicts[None],
        "unread": verdicts["unread"],
    }


def _result_rows(
    lines: Sequence[Mapping[str, Any]], setup: _Setup, level: float
) -> list[dict[str, Any]]:
    """The measures of the questions with an answer. The others count for nothing."""
    remaining = iter(lines)
    counts: list[FactCounts] = []
    questions = []
    for truth, of_image in zip(setup.truths, setup.questions, strict=True):
        answered, verdicts = [], []
        for question in of_image:
            verdict = next(remaining)["verdict"]
            if verdict is not None:
                answered.append(question)
                verdicts.append(verdict)
        questions.append(answered)
        counts.append(count_facts(answered, verdicts, truth))
    floors = draw_fact_floors(questions, setup.truths)
    rows = rows_with_floors(counts, setup.truths, floors, level=level, shares=FACT_SHARES)
    rows.sort(key=lambda row: split_rank(row["split"]))
    return rows
