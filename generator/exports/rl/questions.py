"""The questions of a benchmark that a model is trained on and tested by with rewards."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.dataset.descriptions.question import DescriptionQuestion
from generator.dataset.descriptions.rewards import (
    AttributeTruth,
    ChoiceTruth,
    CountTruth,
    to_record,
)
from generator.dataset.descriptions.short_questions import (
    CountQuestion,
    attribute_questions,
    count_questions,
)
from generator.dataset.descriptions.tasks import TASKS, Task, answer_reward, gold_answer
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.image_truths import read_truths
from generator.dataset.questions import CHOICE, WITHOUT_RIGHT_ANSWER, Candidates, make_questions
from generator.dataset.reader import Benchmark, Dataset
from generator.exports.questions import as_name, question_words

AnyTruth = ImageTruth | ChoiceTruth | CountTruth | AttributeTruth
"""What an answer is judged by."""
_LEARNED = ("train", "val")
"""Splits from which a model learns: by its gradient, or by the choice of a checkpoint."""
_RANKED = "retrieval"
"""The protocol whose texts are ranked, not chosen among."""


@dataclass(frozen=True, kw_only=True)
class RewardedQuestion:
    """A question about an image, with what its answer is judged by."""

    question_id: str
    """Its name: scene and task."""
    task: Task
    """What is asked for."""
    split: str
    """The benchmark's split of the scene."""
    scene_id: str
    """The scene, which names the image."""
    prompt: str
    """All words that the model gets."""
    record: dict[str, Any]
    """The task and its truth (generator/dataset/descriptions/tasks.py)."""
    objects: int
    """Number of objects in the image."""
    interference: int
    """Number of features that two or more of its objects share."""
    load: int
    """Number of atoms of a full description."""


def parse_tasks(text: str) -> list[Task]:
    """Parse the value of --tasks.

    Args:
        text: Names of tasks, with commas between.

    Returns:
        The tasks, each once, in the order of TASKS.

    Raises:
        UserError: A name is not that of a task.

    Example:
        >>> parse_tasks("count, describe")
        ['describe', 'count']
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in TASKS:
            raise UserError(f"There is no task '{name:.40}'; {did_you_mean(name, list(TASKS))}")
    return [task for task in TASKS if task in names]


class RewardedQuestions:
    """The questions of a benchmark, scene by scene: one of each task about each image."""

    def __init__(self, dataset: Dataset, benchmark: Benchmark, tasks: Sequence[Task] | None):
        """Check what can be asked.

        Args:
            dataset: The dataset.
            benchmark: A benchmark of it.
            tasks: The tasks; None for all that the benchmark has questions of.

        Raises:
            UserError: The benchmark has no questions of a task, or no scenes.
        """
        self.dataset = dataset
        self.benchmark = benchmark
        self._choices = _choices_of(benchmark)
        splits = [split for split in benchmark.splits["split"].to_pylist() if split is not None]
        self.n_images = len(splits)
        """Images with a split."""
        self._splits = set(splits)
        for split in self._splits:
            # Each split becomes the name of a file.
            if split != as_name(split):
                raise UserError(f"{benchmark.folder} has a split with the name {split!r:.60}.")
        first = next(read_truths(dataset.world, benchmark, self._splits), None)
        if first is None:
            raise UserError(f"{benchmark.folder} has no scenes in a split.")
        is_possible = {
            "relations": bool(first.relations),
            "choice": bool(self._choices),
        }
        for task in tasks or ():
            if not is_possible.get(task, True):
                raise UserError(
                    f"{benchmark.folder} has no questions of the task '{task}'; leave it out of "
                    f"--tasks."
                )
        requested = tasks or TASKS
        self.tasks = [task for task in TASKS if task in requested and is_possible.get(task, True)]
        self.left_out = 0
        """Questions of the images read so far whose right answer is not read as such, because a
        word of it has two meanings in this world."""

    def by_image(self) -> Iterator[list[RewardedQuestion]]:
        """Make the questions, image by image.

        Yields:
            The questions of an image; none if it has none of these tasks.

        Raises:
            UserError: A scene is damaged.
        """
        self.left_out = 0
        counts: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for truth in read_truths(self.dataset.world, self.benchmark, self._splits):
            questions = []
            for task in self.tasks:
                draft = self._draft(truth, task, counts[str(truth.split)])
                if draft is None:
                    continue
                question = _question_of(truth, task, *draft)
                if answer_reward(gold_answer(question.record), question.record).value < 1:
                    self.left_out += 1
                else:
                    questions.append(question)
            yield questions

    def _draft(
        self, truth: ImageTruth, task: Task, counts: Counter[int]
    ) -> tuple[str, AnyTruth] | None:
        """The words and the truth of a question of a task; None if the image has none."""
        # By scene and task, so that another choice of tasks draws the same questions.
        stream = Stream(truth.scene_id, task)
        if task in ("describe", "relations"):
            question = DescriptionQuestion(relations=task == "relations")
            return question.text(truth.vocabulary), truth
        if task == "count":
            possible = _balanced_counts(truth, counts)
            if not possible:
                return None
            count_question = possible[stream.below(len(possible))]
            counts[count_question.truth.count] += 1
            return count_question.text, count_question.truth
        if task == "attributes":
            questions = attribute_questions(truth)
            if not questions:
                return None
            attribute_question = questions[stream.below(len(questions))]
            return attribute_question.text, attribute_question.truth
        choices = self._choices.get(truth.scene_id)
        return choices[stream.below(len(choices))] if choices else None


def _question_of(
    truth: ImageTruth, task: Task, prompt: str, answer_truth: AnyTruth
) -> RewardedQuestion:
    return RewardedQuestion(
        question_id=f"{truth.scene_id}-{task}",
        task=task,
        split=str(truth.split),
        scene_id=truth.scene_id,
        prompt=prompt,
        record={"task": task, "truth": to_record(answer_truth)},
        objects=len(truth.objects),
        interference=truth.interference,
        load=truth.load,
    )


def _balanced_counts(truth: ImageTruth, counts: Counter[int]) -> list[CountQuestion]:
    """The questions about an image whose answer is the count that the split's questions had least
    often so far, so that no constant answer earns much.

    Args:
        truth: The record of the image.
        counts: How often each count was the answer so far.
    """
    questions_of_count: defaultdict[int, list[CountQuestion]] = defaultdict(list)
    for question in count_questions(truth):
        # No training image has a held-out binding, so a model would learn to answer 0 to it.
        gives_away = truth.split in _LEARNED and question.names_held_out(truth)
        if not gives_away:
            questions_of_count[question.truth.count].append(question)
    if not questions_of_count:
        return []
    # The smaller count of those that are equally rare, so that the choice does not depend on their
    # order.
    count = min(questions_of_count, key=lambda possible: (counts[possible], possible))
    return questions_of_count[count]


def _choices_of(benchmark: Benchmark) -> dict[str, list[tuple[str, ChoiceTruth]]]:
    """The questions about one image with captions under letters, by scene: words and truth. Each is
    asked in one order of its captions, drawn at random."""
    candidates = Candidates(benchmark)
    protocols = sorted(set(benchmark.items["protocol"].to_pylist()) - {_RANKED})
    choices: dict[str, list[tuple[str, ChoiceTruth]]] = {}
    questions = make_questions(benchmark, candidates, protocols=protocols, form="choice", orders=1)
    items = benchmark.items.select(["item_id", "protocol", "kind"]).to_pylist()
    without_right_answer = {
        item["item_id"]
        for item in items
        if (item["protocol"], item["kind"]) == WITHOUT_RIGHT_ANSWER
    }
    for question in questions:
        if question.form != CHOICE or question.item in without_right_answer:
            continue
        row = question_words(question, candidates)
        (scene,) = row["scenes"]
        captions = tuple(row["options"])
        letters = "ABCDE"[: len(captions)]
        truth = ChoiceTruth(letters, letters.index(row["answer"]), captions)
        choices.setdefault(scene, []).append((row["prompt"], truth))
    return choices
