"""Read the scores of a finished run, as protocols need them (evaluator.protocols.scores)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.benchmarks.reading import READING
from evaluator.benchmarks.tables import rows_of
from evaluator.metrics.ranking import CosineScores, MatrixScores, PoolScores
from evaluator.protocols import find_protocol
from evaluator.protocols.items import positions
from evaluator.protocols.measuring import MeasuringRules
from evaluator.protocols.pools import Pool, item_pools
from evaluator.protocols.scores import Scores
from evaluator.runs.folder import Run
from evaluator.runs.rules import Rules
from evaluator.scoring.words.files import read_item_scores
from evaluator.scoring.writing import IMAGE_SIDE, TEXT_SIDE, pool_path
from generator.base.arrays import map_npy
from generator.base.clusters import OF, SEPARATOR
from generator.base.errors import UserError
from generator.base.tables import read_table
from generator.dataset.questions import CHOICE, IMAGES, MATCHING
from generator.dataset.reader import World
from generator.dataset.records import SCORES


def read_scores(run: Run, rules: Rules) -> Scores:
    """The scores of a run in one channel.

    Args:
        run: A finished run.
        rules: How it is measured; `rules.channel` is read. A run in words has one channel, whose
            answers about images and matchings are `between_images` and `matchings`.

    Returns:
        The scores.

    Raises:
        UserError: A file of scores is missing or damaged.
    """
    words = run.record.get("words")
    if words is not None:
        return _read_answers(run, rules, words)
    path = run.folder / "scores.parquet"
    if not path.exists():
        raise UserError(f"{run.folder} has lost its scores.parquet; run `score run` again.")
    table = _select_channel(read_table(path, SCORES), rules.channel)
    # The table has millions of rows: the function below must hold it only if pools need it.
    sampled_table = table if run.record.get("sampled_pools") else None

    def matrix(pool: Pool) -> PoolScores:
        if pool.sample is not None and sampled_table is not None:
            return MatrixScores(_pool_matrix(sampled_table, pool))
        return _stored_pool(run, pool, rules.channel)

    return replace(scores_without_values(run, rules), table=table, matrix=matrix)


def _read_answers(run: Run, rules: Rules, words: dict[str, Any]) -> Scores:
    """The scores of a run in words. Choices about images and about matchings are separate
    questions; other forms ask only about one image and its captions."""
    by_form = read_item_scores(run.folder, run.benchmark, words)
    scores = replace(scores_without_values(run, rules), in_items=by_form[CHOICE])
    if words["form"] != CHOICE:
        return scores
    return replace(
        scores,
        between_images=replace(scores, in_items=by_form[IMAGES]),
        matchings=replace(scores, in_items=by_form[MATCHING]),
    )


def scores_without_values(run: Run, rules: Rules) -> Scores:
    """What a run was asked, without the model's scores.

    Args:
        run: A finished run.
        rules: How it is measured.

    Returns:
        Scores with an empty table. Reading the scores of a pool raises UserError.
    """
    benchmark, record = run.benchmark, run.record
    pools = []
    if "words" not in record:
        pools = item_pools(benchmark, record["protocols"], record.get("sampled_pools", {}))
    folds = {}
    for name in record.get("raw_retrieval", []):
        folds[name] = find_protocol(name).folds(benchmark)
    reading = benchmark.manifest.get(READING, {})
    return Scores(
        benchmark=benchmark,
        indistinct=record["indistinct_texts"],
        table=pa.table({}),
        protocols=record["protocols"],
        pools=pools,
        folds=folds,
        matrix=_no_matrix,
        bindings=_bindings_by_scene(run),
        twins={} if run.world is None else _twins(run.world),
        rules=MeasuringRules(
            tolerance=rules.tolerance, level=rules.level, partitioned=run.splits is not None
        ),
        averages_categories=bool(reading.get("averages")),
    )


def _no_matrix(pool: Pool) -> PoolScores:
    raise UserError(f"The run has no scores of the pool '{pool.name}'.")


def _select_channel(scores: pa.Table, channel: str) -> pa.Table:
    """The rows of one channel."""
    is_selected = pc.equal(scores["channel"], channel)
    if pc.all(is_selected).as_py():
        return scores  # a filtered copy may take hundreds of megabytes
    return scores.filter(is_selected)


def _bindings_by_scene(run: Run) -> dict[str, str]:
    """The bindings of each scene, joined by SEPARATOR: for each object the value under test and the
    category. Empty if the run has no world, or its benchmark no holdout."""
    kind = (run.benchmark.holdout or {}).get("kind")
    if kind is None or run.world is None:
        return {}
    scenes = run.world.scenes
    bindings_of_scene: dict[str, str] = {}
    for scene_id, objects in rows_of(scenes, "scene_id", "objects"):
        bindings = []
        for scene_object in objects or ():
            value = dict(scene_object["attributes"]).get(kind, "")
            bindings.append(OF.join((value, scene_object["category"])))
        bindings_of_scene[scene_id] = SEPARATOR.join(sorted(bindings))
    return bindings_of_scene


def _twins(world: World) -> dict[str, str]:
    """The twin of each scene that has one, in both directions."""
    twins: dict[str, str] = {}
    for scene_id, original in rows_of(world.scenes, "scene_id", "twin_of"):
        if original is not None:
            twins[scene_id] = original
            twins[original] = scene_id
    return twins


def _pool_matrix(scores: pa.Table, pool: Pool) -> np.ndarray:
    """The scores of a pool from a table of scores (SCORES), float32 (images, texts); nan where
    there is none."""
    row = positions(scores["image_id"], pa.chunked_array([pool.images], pa.string()))
    column = positions(scores["text_id"], pa.chunked_array([pool.texts], pa.string()))
    inside = (row >= 0) & (column >= 0)
    matrix = np.full((len(pool.images), len(pool.texts)), np.nan, dtype=np.float32)
    values = scores["score"].to_numpy(zero_copy_only=False).astype(np.float32)
    matrix[row[inside], column[inside]] = values[inside]
    return matrix


def _stored_pool(run: Run, pool: Pool, channel: str) -> PoolScores:
    """The scores of a pool that a run stored: its embeddings, or a matrix for each channel. Raises
    UserError where a file is missing or damaged."""
    image_path = pool_path(run.folder, pool.name, side=IMAGE_SIDE)
    text_path = pool_path(run.folder, pool.name, side=TEXT_SIDE)
    # Embeddings are stored in place of a matrix where a score is their cosine: they are smaller.
    if not image_path.exists():
        number = run.channels.index(channel)
        path = pool_path(run.folder, pool.name, channel=channel, number=number)
        return MatrixScores(_map_array(path, (len(pool.images), len(pool.texts))))
    images = _map_array(image_path, (len(pool.images), None))
    texts = _map_array(text_path, (len(pool.texts), None))
    if images.shape[1] != texts.shape[1]:
        raise UserError(
            f"{text_path} has embeddings of another width than {image_path}; run `score run` again."
        )
    return CosineScores(images, texts)


def _map_array(path: Path, shape: tuple[int, int | None]) -> np.ndarray:
    try:
        return map_npy(path, shape, np.float32)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); run `score run` again.") from None
