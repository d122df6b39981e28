"""Make a run of descriptions: ask a model to describe each evaluation image, and judge its answers
atom by atom (docs/descriptions.md).

The folder of the run has files of its own, not those of a run of items: a description answers no
item of a protocol.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.descriptions.judged_answer import JudgedAnswer, judge_answer
from evaluator.descriptions.results import main_sentence, result_rows, rows_as_csv
from evaluator.models.contracts import FAILED, Answer, Chat
from evaluator.protocols.items import split_rank
from evaluator.runs.asking import (
    AskedModel,
    ask_questions,
    check_asking,
    load_images,
    name_of_question,
    open_answerer,
    write_open_chats,
)
from evaluator.runs.described import (
    IMAGES_FILE,
    RESULTS_FILE,
    ROWS_FILE,
    answer_of_line,
    open_described_dataset,
    read_described,
    reading_of_line,
    truths_of_lines,
)
from evaluator.runs.described_reader import ask_reader, check_reader, open_reader, reader_results
from evaluator.runs.images import (
    CAPTION_OPTIONS,
    prepare_images,
    read_evaluated,
    refuse_options,
    world_of,
)
from evaluator.runs.lock import locked_run
from evaluator.runs.request import DESCRIBE, AskRequest
from evaluator.runs.rules import check_level
from evaluator.runs.run import check_unfinished, end_run, log_counts, record_conditions
from generator.base.clusters import OF
from generator.base.errors import UserError
from generator.base.files import write_json, write_text
from generator.base.progress import SILENT, Progress
from generator.dataset.descriptions.question import DescriptionQuestion
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.reader import World

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Setup:
    """What a run of descriptions asks, and whom."""

    asked_model: AskedModel
    """The model, and the checked request."""
    question: DescriptionQuestion
    """How a description is asked for."""
    truths: list[ImageTruth]
    """The records of the images."""
    chats: list[Chat]
    """The question about each image, in the same order."""
    reader: AskedModel | None
    """The model that reads prose; None for the grammar."""


def describe_images(
    request: AskRequest, out: Path, progress: Progress = SILENT, answers: Sequence[Path] = ()
) -> dict[str, Any]:
    """Ask a model to describe the evaluation images of a benchmark, and judge its answers.

    The folder is locked until the end. The same request resumes a stopped run.

    Args:
        request: What to ask, and how; its form is `describe`.
        out: The folder of the run.
        progress: Shows how many images have answers.
        answers: Batch files to read instead of asking.

    Returns:
        The contents of descriptions.json.

    Raises:
        UserError: The request cannot be met, the budget runs out, or nothing is answered.
    """
    with locked_run(out):
        return _describe_images(request, out, progress=progress, batch_files=answers)


def write_description_batch(request: AskRequest, out: Path, path: Path) -> tuple[list[Path], int]:
    """Write the images without an answer as batch files.

    Args:
        request: What to ask, and how.
        out: The folder of the run, which need not exist.
        path: The first file.

    Returns:
        The files, and the number of images.

    Raises:
        UserError: As `describe_images`; and for a model without an API endpoint.
    """
    setup = _set_up(request, out)
    return write_open_chats(request, setup.asked_model, chats=setup.chats, path=path)


def _describe_images(
    request: AskRequest, out: Path, *, progress: Progress, batch_files: Sequence[Path]
) -> dict[str, Any]:
    setup = _set_up(request, out)
    prepared, model = setup.asked_model.prepared, setup.asked_model.model
    answered = ask_questions(
        request,
        setup.asked_model,
        setup.chats,
        scenes=[truth.scene_id for truth in setup.truths],
        not_asked={},
        batch_files=batch_files,
        out=out,
        progress=progress,
    )
    answers = answered.answers

    texts = answers
    read_answers = None
    if setup.reader is not None:
        read_answers = ask_reader(
            request, setup.reader, answers, setup.truths, out=out, progress=progress
        )
        texts = read_answers
    judged = judge_answers(answers, texts, truths=setup.truths, question=setup.question)
    record = {
        **record_conditions(prepared),
        "form": DESCRIBE,
        "rules": {
            **asdict(setup.question),
            "question": setup.chats[0].text,
            "structured_output": setup.chats[0].schema is not None,
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
        },
        "training": answered.training,
        "info": model.info,
        "counts": log_counts(model),
        "answers": _count_answers(answers, judged),
        **results_of_judged(
            judged, setup.truths, relations=setup.question.relations, level=prepared.level
        ),
    }
    if setup.reader is not None and read_answers is not None:
        # The reader's own error, where the grammar can be trusted too.
        by_reader = reader_results(
            answers, read_answers, setup.truths, question=setup.question, level=prepared.level
        )
        reader_info = setup.reader.model.info
        record["reader"] = {"model": request.reader, "info": reader_info, **by_reader}
    check_unfinished(prepared, out)
    _write_files(
        out, record, answers=answers, judged=judged, truths=setup.truths, readings=read_answers
    )
    end_run(out, setup.asked_model.cache)
    return record


def judge_answers(
    answers: Sequence[Answer],
    texts: Sequence[Answer],
    *,
    truths: Sequence[ImageTruth],
    question: DescriptionQuestion,
) -> list[JudgedAnswer | None]:
    """Judge answers: their own texts, or the JSON into which a reader turned them.

    Args:
        answers: (n,) the answers of a model.
        texts: The same, or (n,) the answers of the model that read them.
        truths: (n,) the records of the images.
        question: How the descriptions were asked for.

    Returns:
        (n,) the judged answers; None for requests that failed.
    """
    by_reader = answers is not texts
    form = replace(question, form="json") if by_reader else question
    judged = []
    for text, truth in zip(texts, truths, strict=True):
        judged.append(_judge(text, truth, form))
    return judged


def measure_descriptions(folder: Path, *, level: float | None = None) -> dict[str, Any]:
    """Read and judge the stored answers of a run again, without its model, and write its files.

    Args:
        folder: The folder of a finished run, which is locked meanwhile.
        level: Level of the intervals, 0.5..0.999; None for the run's.

    Returns:
        The contents of descriptions.json.

    Raises:
        UserError: The folder is damaged, or the dataset is missing or changed since.
    """
    run = read_described(str(folder))
    own_level = run.record["level"] if level is None else check_level(level)
    rules = run.record["rules"]
    question = question_of_rules(rules, folder / RESULTS_FILE)
    world, benchmark = open_described_dataset(run)
    truths = list(truths_of_lines(run, world, benchmark).values())
    answers = [answer_of_line(line) for line in run.lines]
    readings = None
    if "reader" in run.record:
        readings = [reading_of_line(line) for line in run.lines]
    judged = judge_answers(answers, readings or answers, truths=truths, question=question)
    record = {
        **run.record,
        "level": own_level,
        "answers": _count_answers(answers, judged),
        **results_of_judged(judged, truths, relations=question.relations, level=own_level),
    }
    if readings is not None:
        own_error = reader_results(answers, readings, truths, question=question, level=own_level)
        record["reader"] = {**run.record["reader"], **own_error}
    with locked_run(folder):
        _write_files(
            folder, record, answers=answers, judged=judged, truths=truths, readings=readings
        )
    return record


def question_of_rules(rules: Mapping[str, Any], path: Path) -> DescriptionQuestion:
    """Read from a record how descriptions were asked for.

    Args:
        rules: The entry `rules` of the record.
        path: The record, for messages.

    Returns:
        The question.

    Raises:
        UserError: An entry is missing.
    """
    try:
        return DescriptionQuestion(
            form=rules["form"], words=rules["words"], relations=rules["relations"]
        )
    except KeyError as error:
        raise UserError(
            f"{path} is damaged: its rules lack {error}; restore it, or ask the model again."
        ) from None


def _set_up(request: AskRequest, out: Path) -> _Setup:
    """Check the request, and open the dataset and the model."""
    check_asking(request)
    refuse_options(request, CAPTION_OPTIONS)
    check_reader(request)
    question = DescriptionQuestion(
        form=request.answer, words=request.vocabulary, relations=request.relations
    )
    prepared = prepare_images(
        request, _name_of(request, question), out=out, results_file=RESULTS_FILE
    )
    world = world_of(prepared.dataset)
    truths = read_evaluated(prepared.benchmark, world, request.limit)
    chats = chats_about(truths, question, world=world, request=request)
    reader = open_reader(request, prepared)
    return _Setup(open_answerer(request, prepared, out), question, truths, chats, reader)


def chats_about(
    truths: Sequence[ImageTruth],
    question: DescriptionQuestion,
    *,
    world: World,
    request: AskRequest,
) -> list[Chat]:
    """Ask for descriptions of images.

    Args:
        truths: (n,) the records of the images, one or more.
        question: How a description is asked for.
        world: The world, which has the images.
        request: Says how answers are generated.

    Returns:
        (n,) the questions, in the same order.
    """
    # All images of a world have its vocabulary.
    vocabulary = truths[0].vocabulary
    text = question.text(vocabulary)
    schema = question.schema(vocabulary)
    chats = []
    for truth in truths:
        image = world.image_digest(truth.scene_id)
        key = [[image], text, schema, request.max_tokens, request.temperature]
        load = partial(load_images, world, [truth.scene_id])
        chats.append(Chat(name_of_question(key), load, text, schema=schema))
    return chats


def _name_of(request: AskRequest, question: DescriptionQuestion) -> str:
    """What tells a run from runs that ask otherwise."""
    name = f"{question.form}, {question.words} vocabulary"
    if question.relations:
        name += ", relations"
    if request.reader is not None:
        name += f", read by {request.reader}"
    return name


def _judge(answer: Answer, truth: ImageTruth, question: DescriptionQuestion) -> JudgedAnswer | None:
    """The judged answer; None if the request failed.

    Prose may hold a bracket, and JSON may be missing, so the form is the one that was asked for.
    """
    if answer.finish.startswith(FAILED):
        return None
    return judge_answer(answer.text, truth, form=question.form, words=question.words)


def _count_answers(
    answers: Sequence[Answer], judged: Sequence[JudgedAnswer | None]
) -> dict[str, int]:
    """How many images have an answer, and how much of the answers was read."""
    n_unread = 0
    n_partly = 0
    n_parts = 0
    for judged_answer in judged:
        if judged_answer is None or not judged_answer.description.unread:
            continue
        # An answer of which some objects were read is partly unread.
        description = judged_answer.description
        n_parts += len(description.unread)
        n_partly += bool(description.objects)
        n_unread += not description.objects
    n_failed = sum(judged_answer is None for judged_answer in judged)
    return {
        "images": len(answers),
        "answered": len(answers) - n_failed,
        "failed": n_failed,
        "cut_off": sum(answer.finish == "length" for answer in answers),
        "refused": sum(answer.finish in ("refusal", "content_filter") for answer in answers),
        "unread": n_unread,
        "partly_unread": n_partly,
        "unread_parts": n_parts,
    }


def results_of_judged(
    judged: Sequence[JudgedAnswer | None],
    truths: Sequence[ImageTruth],
    *,
    relations: bool,
    level: float,
) -> dict[str, Any]:
    """Compute the measures of the images with an answer. The others count for nothing.

    Args:
        judged: (n,) the judged answers; None for requests that failed.
        truths: (n,) the records of the images.
        relations: Whether relations were asked for.
        level: Level of the intervals.

    Returns:
        The entries `sentence` and `rows` of descriptions.json.
    """
    measures, answered = [], []
    for judged_answer, truth in zip(judged, truths, strict=True):
        if judged_answer is not None:
            measures.append(judged_answer.measures)
            answered.append(truth)
    rows = result_rows(measures, answered, relations=relations, level=level)
    rows.sort(key=lambda row: split_rank(row["split"]))
    return {"sentence": main_sentence(measures, answered, level), "rows": rows}


def _write_files(
    out: Path,
    record: Mapping[str, Any],
    *,
    answers: Sequence[Answer],
    judged: Sequence[JudgedAnswer | None],
    truths: Sequence[ImageTruth],
    readings: Sequence[Answer] | None,
) -> None:
    """Write the files of a finished run. readings: of a model that reads prose."""
    lines = []
    for i, (answer, judged_answer, truth) in enumerate(zip(answers, judged, truths, strict=True)):
        line = _image_line(answer, judged_answer, truth)
        if readings is not None:
            line["reader_answer"] = readings[i].text
            line["reader_finish"] = readings[i].finish
        lines.append(json.dumps(line))
    write_text(out / IMAGES_FILE, "\n".join(lines) + "\n")
    write_text(out / ROWS_FILE, rows_as_csv(record["rows"]))
    write_json(out / RESULTS_FILE, record)


def _image_line(answer: Answer, judged: JudgedAnswer | None, truth: ImageTruth) -> dict[str, Any]:
    """What is known of an image and its answer, as JSON data."""
    line: dict[str, Any] = {
        "scene_id": truth.scene_id,
        "cluster_id": truth.cluster_id,
        "split": truth.split,
        "objects": [{"category": actual.category, **actual.attributes} for actual in truth.objects],
        "bindings": sorted(OF.join(binding) for binding in truth.bindings),
        "interference": truth.interference,
        "load": truth.load,
        **asdict(answer),
    }
    line["answer"] = line.pop("text")
    if judged is None:
        return line
    described = []
    for index, one in enumerate(judged.description.objects):
        matched = judged.judgement.matches.get(index)
        described.append({"category": one.category, **one.attributes, "matches": matched})
    atoms = []
    for atom in judged.atoms:
        atoms.append(asdict(atom))
    return {
        **line,
        "described": described,
        "unread": [asdict(part) for part in judged.description.unread],
        "atoms": atoms,
        "counts": asdict(judged.measures),
    }
