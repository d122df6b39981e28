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
from evaluator.scoring.words.reader import Answered, read_answer
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
    read_id,
)
from generator.dataset.reader import Benchmark

logger = logging.getLogger(__name__)
_FINISHES = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}
"""{Inspect's reason why an answer ended: ours}; all others count as "stop"."""
MOST_SAMPLES = 1000
"""Most samples of a question, as of `score ask`."""
_Found = tuple[str, int, Answer]
"""The id of a question, the number of the sample, and the answer."""


@dataclass(frozen=True)
class Log:
    """The answers in a log of another tool."""

    tool: str
    """The tool's name."""
    path: Path
    answers: dict[str, dict[int, Answer]]
    """By the id of the question and the number of the sample, from 0; samples are Inspect's
    epochs."""

    @property
    def samples(self) -> int:
        """How often each question was asked."""
        return 1 + max(max(samples) for samples in self.answers.values())


def read_log(path: Path) -> Log | pa.Table:
    """The log in a file, or its table of scores.

    Raises UserError for a file that cannot be read, and for a log that has only totals or answers a
    question twice.
    """
    suffix = path.suffix.lower()
    is_log = path.is_file() and (suffix == ".eval" or (suffix == ".json" and not _is_list(path)))
    if is_log:
        tool, found = "Inspect", _of_inspect(_inspect_log(path), path)
    else:
        table = read_workbook(path) if suffix == ".xlsx" and path.is_file() else read_table(path)
        names = set(table.column_names)
        if "score" not in names and "doc_hash" in names:
            tool, found = "lmms-eval", _of_lmms_eval(table)
        elif "score" not in names and "prediction" in names:
            tool, found = "VLMEvalKit", _of_vlmevalkit(table, path)
        else:
            return table
    answers: dict[str, dict[int, Answer]] = defaultdict(dict)
    for name, sample, answer in found:
        if sample in answers[name]:
            raise UserError(f"{path} answers the question '{name}' twice; give a log of one run.")
        if not 0 <= sample < MOST_SAMPLES:
            raise UserError(f"{path} has more than {MOST_SAMPLES:,} epochs; give a log of fewer.")
        answers[name][sample] = answer
    return Log(tool, path, dict(answers))


def answered_in(log: Log, benchmark: Benchmark) -> tuple[list[Answered], Prompt]:
    """The answers of a log to questions about a benchmark's items, and the prompt whose labels they
    use.

    An item that lacks a question or an order gets a failed request in its place. Raises UserError
    for questions of another benchmark.
    """
    rows, prompt = Candidates(benchmark), read_prompt(None)
    found: dict[str, list[Answered]] = defaultdict(list)
    orders: Counter[tuple[str, str, frozenset[int]]] = Counter()
    wholes: dict[str, int] = {}
    for name, samples in log.answers.items():
        named = read_id(name)
        if named is None:
            raise UserError(
                f"{log.path} is a log of other questions ('{name}'); give one of `gen export`'s "
                f"questions."
            )
        own = len({*named.options}) == len(named.options) <= MOST
        own &= all(row < len(rows.item) and rows.item[row] == named.item for row in named.options)
        true = [row for row in named.options if own and rows.truth[row]]
        if (
            named.benchmark != benchmark.digest[:8]
            or not own
            or (len(named.options) > 1 and len(true) != 1)
        ):
            raise UserError(
                f"{log.path} answers '{name}', which is no question of {benchmark.folder}; give "
                f"the --dataset and the "
                "--benchmark that were exported."
            )
        form = CHOICE if len({rows.scene[row] for row in named.options}) == 1 else IMAGES
        form = YES_NO if len(named.options) == 1 else MATCHING if named.matching else form
        group = named.item, form, frozenset(named.options)
        question = Question(
            named.item, form, named.options, None if form == YES_NO else true[0], orders[group]
        )
        orders[group] += 1
        for sample, answer in samples.items():
            found[named.item].append(read_answer(question, sample, answer, rows, prompt))
        wholes[named.item] = named.whole
    asked = {item: {each.question.options for each in answers} for item, answers in found.items()}
    parts = [item for item in found if len(asked[item]) < wholes[item]]
    if len(parts) == len(found):
        raise UserError(
            f"{log.path} lacks some questions of every item; run the tool without a limit."
        )
    for item in parts:
        # A missing question is as one whose request failed: the item is unscored, unless it is
        # wrong already.
        first = found[item][0].question
        missing = Answer("", f"{FAILED}the log lacks some of its questions")
        another = replace(first, order=len(asked[item]))
        found[item] += [
            read_answer(another, sample, missing, rows, prompt) for sample in range(log.samples)
        ]
    if parts:
        logger.info(f"{len(parts):,} items lack some of their questions in {log.path.name}.")
    return [answer for answers in found.values() for answer in answers], prompt


def _of_lmms_eval(table: pa.Table) -> Iterator[_Found]:
    """Yield the rows of --log_samples. `right` has the id; `resps`, if a filter changed the answer,
    the original."""
    for row in table.to_pylist():
        said = row.get("resps") or row.get("filtered_resps")
        while isinstance(said, list) and said:
            said = said[0]
        right = row.get("right")
        yield (
            str(right.get("id") if isinstance(right, dict) else row.get("doc_id")),
            0,
            Answer(str(said or "")),
        )


def _of_vlmevalkit(table: pa.Table, path: Path) -> Iterator[_Found]:
    """Yield the rows of MODEL_DATA.xlsx. Refuses the file of its evaluation: one row for all orders
    of a question."""
    if "hit" in table.column_names:
        raise UserError(
            f"{path} is VLMEvalKit's evaluation of predictions; give the predictions, in the file "
            f"without '_result'."
        )
    for name, said in zip(texts(table, "id"), texts(table, "prediction"), strict=True):
        failed = "Failed to obtain answer" in said
        yield (
            name,
            0,
            Answer("", f"{FAILED}VLMEvalKit obtained no answer") if failed else Answer(said),
        )


def _of_inspect(log: dict[str, Any], path: Path) -> Iterator[_Found]:
    """Yield the samples of a log: the epoch, the last answer, and why it ended."""
    if "metrics" in log and "samples" not in log:
        raise UserError(
            f"{path} has only totals, as CLIP_benchmark writes them, and no items; score the model "
            f"with `score run`."
        )
    samples = log.get("samples")
    if not isinstance(samples, list) or not samples:
        raise UserError(
            f"{path} is no log of Inspect with samples; give the complete log of `inspect eval`."
        )
    for sample in samples:
        try:
            output, error = sample.get("output") or {}, sample.get("error") or {}
            reason = ((output.get("choices") or [{}])[0]).get("stop_reason") or "stop"
            answer = Answer(output.get("completion") or "", _FINISHES.get(reason, "stop"))
            epoch = int(sample.get("epoch") or 1) - 1
            yield (
                str(sample["id"]),
                epoch,
                Answer("", f"{FAILED}{error.get('message')}") if error else answer,
            )
        except (KeyError, TypeError, AttributeError, ValueError):
            raise UserError(
                f"{path} is no log of Inspect: a sample has no id or output; give one as Inspect "
                f"wrote it."
            ) from None


def _is_list(path: Path) -> bool:
    """Whether a JSON file is a list, as tables of rows are, and not an object, as logs are."""
    return read_bytes(path, MOST_LIST).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def _inspect_log(path: Path) -> dict[str, Any]:
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
