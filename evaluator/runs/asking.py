"""Ask a model that answers in words: open it, send it questions within a budget, directly or by
OpenAI's batch files, and store each answer at once."""

import hashlib
import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.models.contracts import FAILED, Answer, Answerer, Chat, GenerationConfig
from evaluator.models.python import check_device, from_memory
from evaluator.models.registry import load_answering
from evaluator.models.user_objects import adapt_answering
from evaluator.runs.batch import read_batch, write_batch
from evaluator.runs.request import AskRequest
from evaluator.runs.run import CACHE, PreparedRun, announce, check_training, start_run
from evaluator.scoring.store import Process
from evaluator.scoring.words.files import AnswerStore
from generator.base.errors import UserError
from generator.base.progress import Progress

logger = logging.getLogger(__name__)
_LETTERS_OF_TOKEN, _PIXELS_OF_TOKEN = 4, 28 * 28
"""Letters and pixels per token, roughly. Tokenizers of English have about four letters per token,
and Qwen's vision models a token per 28x28 pixels."""
_NAME_DIGITS = 32
"""Hexadecimal digits of a question's name: 128 bits, so that no two questions share one."""


@dataclass(frozen=True)
class AskedModel:
    """A model that answers in words, and the run that asks it."""

    prepared: PreparedRun
    """The checked request."""
    model: Any
    """The model, an Answerer."""
    cache: Path | None
    """Folder of the model's answers; None for the user's cache."""


def name_of_question(key: Sequence[Any]) -> str:
    """Name a question, so that equal questions have equal names.

    Args:
        key: All that its answer depends on but for the model, as JSON data.

    Returns:
        32 hexadecimal digits.

    Example:
        >>> name_of_question([["image"], "Is it red?", 1024, 0.0, 0])
        '347a32e6e427468734334b643c688c0d'
    """
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()[:_NAME_DIGITS]


def load_images(world: Any, scenes: Sequence[str]) -> list[Any]:
    """Load the images of scenes.

    Args:
        world: The world of the scenes.
        scenes: The scene_ids.

    Returns:
        RGB images, in the same order.
    """
    return [world.image(scene) for scene in scenes]


def check_asking(request: AskRequest) -> None:
    """Check what all runs in words have in common.

    Args:
        request: What to ask, and how.

    Raises:
        UserError: There are several processes, or samples that are all alike.
    """
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


def open_answerer(request: AskRequest, prepared: PreparedRun, out: Path) -> AskedModel:
    """Open the model of a request.

    Args:
        request: Names the model.
        prepared: The checked request.
        out: The folder of the run, which has the answers of a model that is not reusable.

    Returns:
        The model.

    Raises:
        UserError: It does not answer in words, or cannot be opened.
    """
    model: Any
    if isinstance(request.model, str):
        model = load_answering(request.model, request.device)
    else:
        check_device(request.device)
        model = _adapt_object(request.model, request.model_name)
    return AskedModel(prepared, model, None if model.reusable else out / CACHE)


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


@dataclass(frozen=True)
class Answered:
    """What a run was answered."""

    answers: list[Answer]
    """The answers, in the order of the questions."""
    training: dict[str, Any]
    """What is known of the model's training (evaluator.provenance.contamination)."""


def ask_questions(
    request: AskRequest,
    asked_model: AskedModel,
    chats: Sequence[Chat],
    *,
    scenes: Iterable[str],
    not_asked: Mapping[str, str],
    batch_files: Sequence[Path],
    out: Path,
    progress: Progress,
) -> Answered:
    """Check the training of a model, say what is asked and what it costs, and get the answers.

    Args:
        request: What to ask, and how.
        asked_model: The model.
        chats: The questions; equal ones are asked once.
        scenes: The scenes whose images are shown.
        not_asked: By protocol, why it is not asked.
        batch_files: Batch files to read instead of asking.
        out: The folder of the run.
        progress: Shows how many questions have answers.

    Returns:
        The answers.

    Raises:
        UserError: The model was trained on the images, or as `collect_answers`.
    """
    prepared, model = asked_model.prepared, asked_model.model
    training = check_training(model, prepared, images=sorted(set(scenes)), request=request)
    answers = collect_answers(
        request,
        asked_model,
        chats,
        batch_files=batch_files,
        out=out,
        progress=progress,
        announce_cost=partial(announce, model.info, training=training, not_asked=not_asked),
    )
    return Answered(answers, training)


def collect_answers(
    request: AskRequest,
    asked_model: AskedModel,
    chats: Sequence[Chat],
    *,
    batch_files: Sequence[Path],
    out: Path,
    progress: Progress,
    announce_cost: Callable[[str], None],
) -> list[Answer]:
    """Get the answers: those of earlier runs, and of batch files if there are any, else of the
    model. Log how many questions have none.

    Args:
        request: Has the budget, and how answers are generated.
        asked_model: The model.
        chats: The questions; equal ones are asked once.
        batch_files: Batch files to read instead of asking.
        out: The folder of the run.
        progress: Shows how many questions have answers.
        announce_cost: Called with a sentence on the cost before anything is sent.

    Returns:
        The answers, in the order of the questions. A question whose batch failed has an answer
        that says so.

    Raises:
        UserError: The budget runs out, the model stops answering, the batch answers none, or no
            question has an answer.
    """
    chat_of_name = {chat.name: chat for chat in chats}
    with AnswerStore(asked_model.model.key, asked_model.cache) as store:
        if batch_files:
            _store_batch(batch_files, chat_of_name, store)
        known = store.get(chat_of_name)
        open_chats = []
        if not batch_files:
            open_chats = [chat for name, chat in chat_of_name.items() if name not in known]
        cost = _describe_cost(open_chats, known=len(known), most_tokens=request.max_tokens)
        announce_cost(f"{cost} Dataset certificate: {asked_model.prepared.certificate}.")
        start_run(asked_model.prepared, out)
        asker = _BudgetedAsker(request, store, known=known, first_chats=open_chats[:1])
        with progress.track("questions", len(chat_of_name), len(known)) as advance:
            asker.ask(asked_model.model, open_chats, advance)
    no_answer = Answer("", f"{FAILED}it has no answer")
    answers = [asker.answers.get(chat.name, no_answer) for chat in chats]
    _check_answered(answers)
    return answers


def write_open_chats(
    request: AskRequest, asked_model: AskedModel, *, chats: Sequence[Chat], path: Path
) -> tuple[list[Path], int]:
    """Write the questions without an answer as batch files.

    Args:
        request: How answers are generated.
        asked_model: The model.
        chats: The questions; equal ones are written once.
        path: The first file.

    Returns:
        The files, and the number of questions.

    Raises:
        UserError: The model has no API endpoint.
    """
    model = asked_model.model
    if not hasattr(model, "request"):
        raise UserError(
            f"Batch files are for models of api:; leave --to out to ask {request.model_name}."
        )
    chat_of_name = {chat.name: chat for chat in chats}
    with AnswerStore(model.key, asked_model.cache) as store:
        known = store.get(chat_of_name)
    open_chats = [chat for name, chat in chat_of_name.items() if name not in known]
    generation = GenerationConfig(request.max_tokens, request.temperature)
    paths = write_batch(path, open_chats, make_body=lambda chat: model.request(chat, generation))
    return paths, len(open_chats)


def _check_answered(answers: Sequence[Answer]) -> None:
    """Log how many questions have no answer. Raises UserError if none has one."""
    failures = [answer.finish for answer in answers if answer.finish.startswith(FAILED)]
    if failures and len(failures) == len(answers):
        raise UserError(
            f"None of the {len(answers):,} questions has an answer ({failures[0]}); mend that, "
            f"then run the same command again."
        )
    if failures:
        logger.info(
            f"{len(failures):,} of {len(answers):,} questions have no answer ({failures[0]}); "
            f"their items are unscored, and the same command with another --out asks them again."
        )


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
        self._budget = request.budget
        self._store = store
        self._lock = threading.Lock()
        self._used_tokens = 0
        for answer in known.values():
            self._used_tokens += answer.prompt_tokens + answer.completion_tokens
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

        # Answers are shorter than they may be, so the budget may allow more after each round. A
        # round without a question would be followed by others like it.
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
    images = first.show()
    sizes = ""
    if images:
        size = "×".join(map(str, images[0].size))
        sizes = f" (images of {size}, a token per 28×28 pixels)"
    return (
        f"{len(chats):,} questions to ask, {known:,} more have answers: about "
        f"{text_tokens + image_tokens * len(chats):,} prompt tokens{sizes} and at most "
        f"{most_tokens * len(chats):,} tokens of answers."
    )


def _prompt_tokens(chats: Sequence[Chat]) -> int:
    """A rough count of the tokens of questions, images included."""
    letters = sum(len(chat.text) for chat in chats)
    pixels = sum(image.width * image.height for chat in chats for image in chat.show())
    return letters // _LETTERS_OF_TOKEN + pixels // _PIXELS_OF_TOKEN
