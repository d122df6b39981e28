"""Ask a model some items of a run again, and compare its scores or answers with the run's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluator.benchmarks.registry import BenchmarkSource
from evaluator.models.contracts import Chat, PairScorer
from evaluator.models.oracle import Oracle
from evaluator.models.registry import load_answering, load_model
from evaluator.protocols.pools import Pool, item_pools
from evaluator.protocols.scores import Scores
from evaluator.runs.asking import AskedModel, collect_answers, load_images, name_of_question
from evaluator.runs.dataset import Dataset
from evaluator.runs.folder import Run
from evaluator.runs.request import AskRequest
from evaluator.runs.rules import choose_rules
from evaluator.runs.run import CACHE, prepare_run
from evaluator.runs.stored_scores import read_scores
from evaluator.scoring.needs import (
    Needs,
    collect_needs,
    text_groups,
    within_limit,
    without_pools,
    words,
)
from evaluator.scoring.score import score, settings_for
from evaluator.scoring.words.files import read_answers
from evaluator.scoring.words.prompt import prompt_of
from evaluator.scoring.words.reader import AnsweredQuestion, read_answer
from evaluator.submissions.draw import only_items
from generator.base.errors import UserError
from generator.base.progress import Progress
from generator.dataset.questions import Candidates, make_questions
from generator.dataset.reader import Benchmark, World

_PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True)
class AskedAgain:
    """What a model said when it was asked again."""

    info: Mapping[str, Any]
    """The description of the model that was loaded."""
    equal: dict[str, bool]
    """By item, whether the run has the same scores or answers."""


def ask_again(
    run: Run,
    items: Sequence[str],
    spec: str,
    *,
    tolerance: float,
    device: str | None,
    folder: Path,
    progress: Progress,
) -> AskedAgain:
    """Ask a model some items of a run again.

    Args:
        run: The run; its dataset needs its images.
        items: The item_ids.
        spec: The SPEC of the model.
        tolerance: Scores are equal that differ by at most this share of the standard deviation of
            the run's scores. Answers are equal if they choose the same option.
        device: The device; None for the best one.
        folder: An empty folder for scores and caches, which starts without stored results.
        progress: Shows the progress.

    Returns:
        What the model said.

    Raises:
        UserError: The model cannot be loaded or asked, or an image is missing.
    """
    if run.record.get("words") is not None:
        return _answer_again(run, items, spec, device=device, folder=folder, progress=progress)
    return _score_again(
        run, items, spec, tolerance=tolerance, device=device, folder=folder, progress=progress
    )


def _score_again(
    run: Run,
    items: Sequence[str],
    spec: str,
    *,
    tolerance: float,
    device: str | None,
    folder: Path,
    progress: Progress,
) -> AskedAgain:
    """Score the candidates of some items again."""
    world, record = _world_of(run), run.record
    part = only_items(run.benchmark, items)
    model = load_model(spec, device)
    needs = _needs_of_items(part, record["protocols"])
    if isinstance(model, PairScorer) and record.get("sampled_pools"):
        # The sample of a pool depends on the names of pool and image alone, so it is the same.
        needs = within_limit(needs, part, passes=model.passes, most=0)
    if isinstance(model, Oracle):
        model.open(run.benchmark, world)
    if model.fits_texts:
        # Such a model is fitted on the texts of the whole run.
        whole = without_pools(collect_needs(run.benchmark, record["protocols"]))
        texts = words(run.benchmark, whole.texts).to_pylist()
        model.fit_texts(texts, text_groups(whole, run.benchmark))
    precision = str(record.get("precision"))
    settings = settings_for(model, precision=precision if precision in _PRECISIONS else "auto")
    score(
        model,
        world,
        benchmark=part,
        needs=needs,
        out=folder,
        cache_folder=folder / CACHE,
        settings=replace(settings, progress=progress),
    )
    repeated_record = {**record, "sampled_pools": needs.sampled, "raw_retrieval": []}
    repeated_run = Run(folder, repeated_record, world, part)
    equal = dict.fromkeys(items, True)
    rules = choose_rules(run)
    for channel in dict.fromkeys((rules.channel, rules.image_channel)):
        of_channel = replace(rules, channel=channel)
        rescored = _pair_scores(read_scores(repeated_run, of_channel), part)
        submitted = _pair_scores(read_scores(run, of_channel), part)
        for pair in _differing_pairs(rescored, submitted, tolerance):
            for item in _items_of_pairs(part)[pair]:
                equal[item] = False
    return AskedAgain(model.info, equal)


def _needs_of_items(part: Benchmark, protocols: Sequence[str]) -> Needs:
    """The scores that items need, without raw retrieval, which ranks many images together."""
    needs = collect_needs(part, protocols)
    folds = {name for names in needs.folds.values() for name in names}
    pools = {name: rows for name, rows in needs.pools.items() if name not in folds}
    return replace(needs, pools=pools, folds={})


def _pair_scores(scores: Scores, part: Benchmark) -> pd.Series:
    """Scores by image and text: of the candidates, and of the images of the part's pools."""
    table = scores.table.select(["image_id", "text_id", "score"]).to_pandas()
    parts = [table.drop_duplicates(["image_id", "text_id"])]
    asked_images = {pool.name: pool.images for pool in item_pools(part, scores.protocols)}
    for pool in scores.pools:
        is_whole = pool.sample is None
        if is_whole and pool.name in asked_images:
            parts.append(_pool_scores(scores, pool, asked_images[pool.name]))
    frame = pd.concat(parts)
    frame = frame.drop_duplicates(["image_id", "text_id"])
    return frame.set_index(["image_id", "text_id"])["score"]


def _pool_scores(scores: Scores, pool: Pool, images: Sequence[str]) -> pd.DataFrame:
    """The scores of some images of a pool with all its texts."""
    row_of_image = {image: row for row, image in enumerate(pool.images)}
    rows = np.array([row_of_image[image] for image in images], dtype=np.int64)
    block = scores.matrix(pool).block(rows, slice(None))
    return pd.DataFrame(
        {
            "image_id": np.repeat(np.array(images, dtype=object), len(pool.texts)),
            "text_id": np.tile(np.array(pool.texts, dtype=object), len(images)),
            "score": block.reshape(-1),
        }
    )


def _differing_pairs(
    rescored: pd.Series, submitted: pd.Series, tolerance: float
) -> list[tuple[str, str]]:
    """The pairs of image and text whose scores differ by more than the tolerance, or that only one
    side has scored."""
    reach = tolerance * float(submitted.std(ddof=0) or 0.0)
    both = pd.DataFrame({"again": rescored, "run": submitted.reindex(rescored.index)})
    is_number = both.notna()
    one_side = is_number["again"] != is_number["run"]
    # Rounding alone may move a score that all pairs share.
    rounding = 1e-6 * both["run"].abs()
    is_far = (both["again"] - both["run"]).abs() > np.maximum(reach, rounding)
    return [(str(image), str(text)) for image, text in both.index[one_side | is_far]]


def _items_of_pairs(part: Benchmark) -> dict[tuple[str, str], list[str]]:
    """The items that compare each pair of image and text: their own candidates, and for items with
    a pool all its texts."""
    names = set(part.items["item_id"].to_pylist())
    pool_of = dict(
        zip(part.items["item_id"].to_pylist(), part.items["pool_id"].to_pylist(), strict=True)
    )
    texts_of_pool: dict[str, list[str]] = {}
    for pool, text in zip(
        part.pools["pool_id"].to_pylist(), part.pools["text_id"].to_pylist(), strict=True
    ):
        texts_of_pool.setdefault(pool, []).append(text)
    items: dict[tuple[str, str], list[str]] = {}
    columns = part.candidates.select(["item_id", "scene_id", "text_id"]).to_pydict()
    rows = zip(columns["item_id"], columns["scene_id"], columns["text_id"], strict=True)
    for item, image, text in rows:
        if item not in names:
            continue
        texts = [text, *texts_of_pool.get(pool_of[item] or "", [])]
        for of_item in texts:
            items.setdefault((image, of_item), []).append(item)
    return items


def _answer_again(
    run: Run,
    items: Sequence[str],
    spec: str,
    *,
    device: str | None,
    folder: Path,
    progress: Progress,
) -> AskedAgain:
    """Ask the questions of some items again."""
    world, words_record = _world_of(run), run.record["words"]
    part = only_items(run.benchmark, items)
    prompt = prompt_of(words_record["prompt"])
    rows = Candidates(part)
    questions = make_questions(
        part,
        rows,
        protocols=run.record["protocols"],
        form=words_record["form"],
        orders=words_record["orders"],
    )
    request = AskRequest(
        dataset=Dataset(BenchmarkSource(world.folder.parent), world, part),
        model=spec,
        samples=words_record["samples"],
        temperature=words_record["temperature"] or 0.0,
        max_tokens=words_record["max_tokens"] or AskRequest.max_tokens,
        device=device,
    )
    prepared = prepare_run(request, folder, question="asked again")
    model = load_answering(spec, device)
    chats, samples = [], []
    for question in questions:
        text, scenes = prompt.ask(question, rows)
        for number in range(words_record["samples"]):
            key = [scenes, text, number]
            load = partial(load_images, world, scenes)
            chats.append(Chat(name_of_question(key), load, text, number))
            samples.append((question, number))
    answers = collect_answers(
        request,
        AskedModel(prepared, model, folder / CACHE),
        chats,
        batch_files=(),
        out=folder,
        progress=progress,
        announce_cost=_say_nothing,
    )
    submitted = {}
    for answered in read_answers(run.folder, rows, prompt):
        submitted[_key_of_answer(answered)] = answered.reading.label
    equal = dict.fromkeys(items, True)
    for (question, number), answer in zip(samples, answers, strict=True):
        repeated = read_answer(question, answer, sample=number, rows=rows, prompt=prompt)
        if submitted.get(_key_of_answer(repeated)) != repeated.reading.label:
            equal[question.item] = False
    return AskedAgain(model.info, equal)


def _key_of_answer(answered: AnsweredQuestion) -> tuple[Any, ...]:
    """What tells the answers of a run apart."""
    question = answered.question
    return question.item, question.form, question.options, question.order, answered.sample


def _say_nothing(cost: str) -> None:
    """The cost of a few items needs no announcement."""


def _world_of(run: Run) -> World:
    """The world of a run, with its images. Raises UserError if it has none."""
    if run.world is None:
        raise UserError(f"{run.folder} has no dataset; its model cannot be asked again.")
    return run.world
