"""Read logs of lmms-eval, Inspect and VLMEvalKit with answers to questions that `gen export`
wrote."""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.benchmarks.tables import read_table, texts
from evaluator.models.contracts import FAILED, Answer
from evaluator.scoring.words.prompt import Prompt, read_prompt
from evaluator.scoring.words.reader import AnsweredQuestion, read_answer
from evaluator.scoring.words.workbook import read_workbook
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.base.limits import MOST_LIST, check_file, read_bytes
from generator.dataset.questions import (
    CHOICE,
    IMAGES,
    MATCHING,
    MOST,
    YES_NO,
    Candidates,
    Question,
    QuestionId,
    parse_question_id,
)
from generator.dataset.reader import Benchmark

logger = logging.getLogger(__name__)
_FINISHES = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}
"""Inspect's reason why an answer ended → ours; all others count as "stop"."""
_FAILED_REQUEST = "[LMMS_EVAL_REQUEST_FAILED"
"""How lmms-eval 0.7 begins what it logs for a request that failed."""
MOST_SAMPLES = 1000
"""Most samples of a question, as of `score ask`."""
_LogRow = tuple[str, int, Answer]
"""The id of a question, the number of the sample, and the answer."""


@dataclass(frozen=True)
class Log:
    """The answers in a log of another tool."""

    tool: str
    """The tool's name."""
    path: Path
    """The file."""
    answers: dict[str, dict[int, Answer]]
    """By the id of the question and the number of the sample, from 0; samples are Inspect's
    epochs."""

    @property
    def samples(self) -> int:
        """How often each question was asked."""
        return 1 + max(max(samples) for samples in self.answers.values())


def read_log(path: Path) -> Log | pa.Table:
    """Read the log in a file, or its table of scores.

    Raises:
        UserError: The file cannot be read, or it is a log that has only totals, too many samples,
            or two answers to a question.
    """
    suffix = path.suffix.lower()
    is_log = path.is_file() and (suffix == ".eval" or (suffix == ".json" and not _is_list(path)))
    rows: Iterator[_LogRow]
    if is_log:
        tool = "Inspect"
        rows = _inspect_rows(_read_inspect_log(path), path)
    else:
        table = read_workbook(path) if suffix == ".xlsx" and path.is_file() else read_table(path)
        columns = set(table.column_names)
        if "score" not in columns and "doc_hash" in columns:
            tool = "lmms-eval"
            rows = _lmms_eval_rows(table)
        elif "score" not in columns and "prediction" in columns:
            tool = "VLMEvalKit"
            rows = _vlmevalkit_rows(table, path)
        else:
            return table
    answers: dict[str, dict[int, Answer]] = defaultdict(dict)
    for name, sample, answer in rows:
        if sample in answers[name]:
            raise UserError(f"{path} answers the question '{name}' twice; give a log of one run.")
        if not 0 <= sample < MOST_SAMPLES:
            raise UserError(f"{path} has more than {MOST_SAMPLES:,} epochs; give a log of fewer.")
        answers[name][sample] = answer
    return Log(tool, path, dict(answers))


def answered_in(log: Log, benchmark: Benchmark) -> tuple[list[AnsweredQuestion], Prompt]:
    """The answers of a log to questions about a benchmark's items.

    An item that lacks a question or an order gets a failed request in its place.

    Returns:
        The answers, item by item, and the prompt whose labels they use.

    Raises:
        UserError: The log answers questions of another benchmark, or lacks some questions of every
            item.
    """
    rows = Candidates(benchmark)
    prompt = read_prompt(None)
    answered_of_item: dict[str, list[AnsweredQuestion]] = defaultdict(list)
    question_counts: dict[str, int] = {}
    orders: Counter[tuple[str, str, frozenset[int]]] = Counter()
    for name, samples in log.answers.items():
        question_id, true_rows = _parse_id(name, log, benchmark=benchmark, rows=rows)
        # An id does not say the number of the order: orders are counted as they come.
        form = _form(question_id, rows)
        group = question_id.item, form, frozenset(question_id.options)
        true = None if form == YES_NO else true_rows[0]
        question = Question(question_id.item, form, question_id.options, true, orders[group])
        orders[group] += 1
        for sample, answer in samples.items():
            answered_of_item[question_id.item].append(
                read_answer(question, answer, sample=sample, rows=rows, prompt=prompt)
            )
        question_counts[question_id.item] = question_id.whole

    answered_questions: dict[str, set[tuple[str, tuple[int, ...]]]] = {}
    incomplete = []
    for item, answers in answered_of_item.items():
        # Pairs have questions of three forms, of which two may show the same options.
        questions = {(answer.question.form, answer.question.options) for answer in answers}
        answered_questions[item] = questions
        if len(questions) < question_counts[item]:
            incomplete.append(item)
    if len(incomplete) == len(answered_of_item):
        raise UserError(
            f"{log.path} lacks some questions of every item; run the tool without a limit."
        )
    for item in incomplete:
        # A missing question counts as one whose request failed: the item is unscored, unless it is
        # wrong already.
        first = answered_of_item[item][0].question
        failure = Answer("", f"{FAILED}the log lacks some of its questions")
        missing = replace(first, order=len(answered_questions[item]))
        for sample in range(log.samples):
            answered_of_item[item].append(
                read_answer(missing, failure, sample=sample, rows=rows, prompt=prompt)
            )
    if incomplete:
        logger.info(f"{len(incomplete):,} items lack some of their questions in {log.path.name}.")
    answered = [answer for answers in answered_of_item.values() for answer in answers]
    return answered, prompt


def _parse_id(
    name: str, log: Log, *, benchmark: Benchmark, rows: Candidates
) -> tuple[QuestionId, list[int]]:
    """The question with an id, and its true options.

    Raises:
        UserError: It is not a question of the benchmark.
    """
    question_id = parse_question_id(name)
    if question_id is None:
        raise UserError(
            f"{log.path} is a log of other questions ('{name}'); give one of `gen export`'s "
            f"questions."
        )
    true_rows = _true_rows(question_id, rows)
    if true_rows is None or question_id.benchmark != benchmark.digest[:8]:
        raise UserError(
            f"{log.path} answers '{name}', which is not a question of {benchmark.folder}; give "
            "the --dataset and the --benchmark that were exported."
        )
    return question_id, true_rows


def _true_rows(named: QuestionId, rows: Candidates) -> list[int] | None:
    """The true options of the question with an id; None if the benchmark has no such question."""
    options = named.options
    if len(options) > MOST or len(set(options)) < len(options):
        return None
    for row in options:
        if row >= len(rows.item) or rows.item[row] != named.item:
            return None
    true_rows = [row for row in options if rows.truth[row]]
    # A single option is asked by yes or no, and may be false.
    if len(options) > 1 and len(true_rows) != 1:
        return None
    return true_rows


def _form(named: QuestionId, rows: Candidates) -> str:
    """The form of the question with an id."""
    if len(named.options) == 1:
        return YES_NO
    if named.matching:
        return MATCHING
    view_form = rows.view_form_of(named.item)
    if view_form is not None:
        return view_form
    scenes = {rows.scene[row] for row in named.options}
    return CHOICE if len(scenes) == 1 else IMAGES


def _lmms_eval_rows(table: pa.Table) -> Iterator[_LogRow]:
    """Yield the rows of --log_samples. `right` has the id; `resps`, if a filter changed the answer,
    the original."""
    for row in table.to_pylist():
        text = row.get("resps") or row.get("filtered_resps")
        # Answers are nested by request and by repetition.
        while isinstance(text, list) and text:
            text = text[0]
        right = row.get("right")
        name = right.get("id") if isinstance(right, dict) else row.get("doc_id")
        answer = str(text or "")
        # lmms-eval writes the error of a failed request in place of the answer.
        if answer.startswith(_FAILED_REQUEST):
            yield str(name), 0, Answer("", f"{FAILED}{answer}")
        else:
            yield str(name), 0, Answer(answer)


def _vlmevalkit_rows(table: pa.Table, path: Path) -> Iterator[_LogRow]:
    """Yield the rows of MODEL_DATA.xlsx. Refuses the file of its evaluation: one row for all orders
    of a question."""
    if "hit" in table.column_names:
        raise UserError(
            f"{path} is VLMEvalKit's evaluation of predictions; give the predictions, in the file "
            f"without '_result'."
        )
    for name, text in zip(texts(table, "id"), texts(table, "prediction"), strict=True):
        if "Failed to obtain answer" in text:
            yield name, 0, Answer("", f"{FAILED}VLMEvalKit obtained no answer")
        else:
            yield name, 0, Answer(text)


def _inspect_rows(log: dict[str, Any], path: Path) -> Iterator[_LogRow]:
    """Yield the samples of a log: the epoch, the last answer, and why it ended."""
    if "metrics" in log and "samples" not in log:
        raise UserError(
            f"{path} has only totals, as CLIP_benchmark writes them, and no items; score the model "
            f"with `score run`."
        )
    samples = log.get("samples")
    if not isinstance(samples, list) or not samples:
        raise UserError(
            f"{path} is not a log of Inspect with samples; give the complete log of `inspect eval`."
        )
    for sample in samples:
        try:
            yield _inspect_row(sample)
        except (KeyError, TypeError, AttributeError, ValueError):
            raise UserError(
                f"{path} is not a log of Inspect: a sample has no id or output; give one as "
                f"Inspect wrote it."
            ) from None


def _inspect_row(sample: dict[str, Any]) -> _LogRow:
    name = str(sample["id"])
    epoch = int(sample.get("epoch") or 1) - 1
    output = sample.get("output") or {}
    error = sample.get("error") or {}
    first_choice = (output.get("choices") or [{}])[0]
    finish = _FINISHES.get(first_choice.get("stop_reason") or "stop", "stop")
    if error:
        return name, epoch, Answer("", f"{FAILED}{error.get('message')}")
    return name, epoch, Answer(output.get("completion") or "", finish)


def _is_list(path: Path) -> bool:
    """Whether a JSON file is a list, as tables of rows are, and not an object, as logs are."""
    return read_bytes(path, MOST_LIST).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def _read_inspect_log(path: Path) -> dict[str, Any]:
    """A log as a dictionary. Inspect itself reads files of the format .eval."""
    check_file(path, MOST_LIST)
    if path.suffix.lower() == ".json":
        return read_json(path, most=MOST_LIST)
    try:
        from inspect_ai.log import read_eval_log
    except ModuleNotFoundError:
        raise UserError(
            f"{path} is read by Inspect itself; `pip install 'jackalope[inspect]'`, or write it as "
            f"JSON with `inspect log convert {path} --to json --output-dir .`."
        ) from None
    try:
        return dict(read_eval_log(str(path)).model_dump(mode="json"))
    except Exception as error:
        raise UserError(
            f"{path} cannot be read as a log of Inspect ({type(error).__name__}); write it again."
        ) from None
