"""Ask a model some items of a run again, and compare its scores or answers with the run's."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evaluator.benchmarks.registry import BenchmarkSource
from evaluator.benchmarks.tables import rows_of
from evaluator.models.contracts import Chat, Model, PairScorer
from evaluator.models.oracle import Oracle
from evaluator.models.registry import load_answering, load_model
from evaluator.protocols.pools import Pool, item_pools
from evaluator.protocols.records import by_key
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
"""The precisions that a run may record; others are the model's own."""


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
    world = _world_of(run)
    record = run.record
    part = only_items(run.benchmark, items)
    model = load_model(spec, device)
    _prepare_model(model, run, world)
    needs = _needs_of_items(part, record["protocols"])
    if isinstance(model, PairScorer) and record.get("sampled_pools"):
        # The sample of a pool depends on the names of pool and image alone, so it is the same.
        needs = within_limit(needs, part, passes=model.passes, most=0)
    # As the run was scored, or scores would differ by rounding.
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
    return AskedAgain(
        model.info, _compare_scores(run, repeated_run, items=items, tolerance=tolerance)
    )


def _prepare_model(model: Model, run: Run, world: World) -> None:
    """Give a model what it reads of the whole run, not only of the items."""
    if isinstance(model, Oracle):
        model.open(run.benchmark, world)
    # Fitted on the texts of a few items it would be another model.
    if model.fits_texts:
        whole = without_pools(collect_needs(run.benchmark, run.record["protocols"]))
        texts = words(run.benchmark, whole.texts).to_pylist()
        model.fit_texts(texts, text_groups(whole, run.benchmark))


def _compare_scores(
    run: Run, repeated_run: Run, *, items: Sequence[str], tolerance: float
) -> dict[str, bool]:
    """By item, whether both runs have the same scores in every channel that is measured."""
    part = repeated_run.benchmark
    items_of_pair = _items_of_pairs(part)
    equal = dict.fromkeys(items, True)
    rules = choose_rules(run)
    for channel in dict.fromkeys((rules.channel, rules.image_channel)):
        of_channel = replace(rules, channel=channel)
        rescored = _pair_scores(read_scores(repeated_run, of_channel), part)
        submitted = _pair_scores(read_scores(run, of_channel), part)
        for pair in _differing_pairs(rescored, submitted, tolerance):
            for item in items_of_pair[pair]:
                equal[item] = False
    return equal


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
        # The pairs of sampled pools stand among the candidates.
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
    # Relative to the spread: models score on scales of their own.
    reach = tolerance * float(submitted.std(ddof=0) or 0.0)
    # By the pairs that were scored now: the run has those of all its items.
    both = pd.DataFrame({"again": rescored, "run": submitted.reindex(rescored.index)})
    is_number = both.notna()
    one_side = is_number["again"] != is_number["run"]
    # Rounding alone may move a score that all pairs share.
    rounding = 1e-6 * both["run"].abs()
    distance = (both["again"] - both["run"]).abs()
    is_far = distance > np.maximum(reach, rounding)
    differing = both.index[one_side | is_far]
    return [(str(image), str(text)) for image, text in differing]


def _items_of_pairs(part: Benchmark) -> dict[tuple[str, str], list[str]]:
    """The items that compare each pair of image and text: their own candidates, and for items with
    a pool all its texts."""
    pool_of_item = dict(rows_of(part.items, "item_id", "pool_id"))
    texts_of_pool: dict[str, list[str]] = by_key(rows_of(part.pools, "pool_id", "text_id"))
    items_of_pair: dict[tuple[str, str], list[str]] = {}
    for item, image, text in rows_of(part.candidates, "item_id", "scene_id", "text_id"):
        # The candidates are those of the whole benchmark.
        if item not in pool_of_item:
            continue
        pool = pool_of_item[item]
        pool_texts = texts_of_pool.get(pool, [])
        for compared_text in (text, *pool_texts):
            items_of_pair.setdefault((image, compared_text), []).append(item)
    return items_of_pair


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
    # The questions of the run about these items.
    world = _world_of(run)
    words_record = run.record["words"]
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
    # They are asked as the run asked them.
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
    repeated = []
    for (question, number), answer in zip(samples, answers, strict=True):
        repeated.append(read_answer(question, answer, sample=number, rows=rows, prompt=prompt))
    submitted = read_answers(run.folder, rows, prompt)
    return AskedAgain(model.info, _compare_answers(submitted, repeated, items))


def _compare_answers(
    submitted: Iterable[AnsweredQuestion],
    repeated: Iterable[AnsweredQuestion],
    items: Sequence[str],
) -> dict[str, bool]:
    """By item, whether all its questions were answered with the same option."""
    submitted_labels = {}
    for answered in submitted:
        submitted_labels[_key_of_answer(answered)] = answered.reading.label
    equal = dict.fromkeys(items, True)
    for answered in repeated:
        if submitted_labels.get(_key_of_answer(answered)) != answered.reading.label:
            equal[answered.question.item] = False
    return equal


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
