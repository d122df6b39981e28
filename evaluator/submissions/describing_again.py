"""Ask a model to describe some images of a run again, and compare what it says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.benchmarks.registry import BenchmarkSource
from evaluator.descriptions.judged_answer import JudgedAnswer
from evaluator.models.registry import load_answering
from evaluator.runs.asking import AskedModel, collect_answers
from evaluator.runs.dataset import Dataset
from evaluator.runs.describe import chats_about, judge_answers
from evaluator.runs.described import RESULTS_FILE
from evaluator.runs.folder import Run
from evaluator.runs.images import prepare_images, read_evaluated
from evaluator.runs.request import AskRequest
from evaluator.runs.run import CACHE
from evaluator.submissions.asking_again import AskedAgain
from evaluator.submissions.described import answers_of, question_of
from generator.base.progress import Progress
from generator.dataset.reader import World


def describe_again(
    run: Run,
    scenes: Sequence[str],
    spec: str,
    *,
    device: str | None,
    folder: Path,
    progress: Progress,
) -> AskedAgain:
    """Ask a model to describe some images again.

    Args:
        run: The run; its dataset needs its images.
        scenes: The scene_ids.
        spec: The SPEC of the model.
        device: The device; None for the best one.
        folder: An empty folder for answers.
        progress: Shows the progress.

    Returns:
        What the model said. Two descriptions are equal if they say the same of objects and
        relations, in whatever words.

    Raises:
        UserError: The model cannot be loaded or asked, or an image is missing.
    """
    assert run.world is not None
    world = run.world
    question = question_of(run)
    request = _request_of(run, world, spec=spec, device=device)
    asked_scenes = set(scenes)
    all_truths = read_evaluated(run.benchmark, world)
    truths = [truth for truth in all_truths if truth.scene_id in asked_scenes]
    prepared = prepare_images(request, "asked again", out=folder, results_file=RESULTS_FILE)
    model = load_answering(spec, device)
    answers = collect_answers(
        request,
        AskedModel(prepared, model, folder / CACHE),
        chats_about(truths, question, world=world, request=request),
        batch_files=(),
        out=folder,
        progress=progress,
        announce_cost=_say_nothing,
    )
    stated_answers = answers_of(str(run.folder), run, all_truths)
    submitted = []
    for truth, answer in zip(all_truths, stated_answers, strict=True):
        if truth.scene_id in asked_scenes:
            submitted.append(answer)
    # Both are read and judged by the same code: what the sender's version read is not compared.
    repeated_judged = judge_answers(answers, answers, truths=truths, question=question)
    submitted_judged = judge_answers(submitted, submitted, truths=truths, question=question)
    equal = {}
    for truth, repeated, stated in zip(truths, repeated_judged, submitted_judged, strict=True):
        equal[truth.scene_id] = _meaning(repeated) == _meaning(stated)
    return AskedAgain(model.info, equal)


def _request_of(run: Run, world: World, *, spec: str, device: str | None) -> AskRequest:
    """The request of a run of descriptions, for the model of a SPEC."""
    rules = run.record["rules"]
    return AskRequest(
        dataset=Dataset(BenchmarkSource(world.folder.parent), world, run.benchmark),
        model=spec,
        form="describe",
        temperature=rules.get("temperature") or 0.0,
        max_tokens=rules.get("max_tokens") or AskRequest.max_tokens,
        device=device,
    )


def _meaning(judged: JudgedAnswer | None) -> Any:
    """What a description says, without its words; None without an answer."""
    if judged is None:
        return None
    objects = []
    for described in judged.description.objects:
        objects.append((str(described.category), sorted(described.attributes.items())))
    # Relations are compared by their verdicts, which the measures count.
    return sorted(objects), judged.measures


def _say_nothing(cost: str) -> None:
    """The cost of a few images needs no announcement."""
