"""`score probe`: how well images, texts and their alignment tell each factor in each split, and
where it is lost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.embeddings import dual_encoders, embed_images, embed_texts
from evaluator.audits.probe.pairs import FACTORS, SAME, ProbePairs, find_pairs
from evaluator.audits.probe.towers import FOLDS, Rows, geometry, moves, probe
from evaluator.metrics.comparison import beats
from evaluator.protocols.items import split_rank
from evaluator.report.audit_figures import by_probe
from evaluator.statistics.intervals import cluster_means
from generator.base.errors import UserError, did_you_mean
from generator.base.files import write_json, write_text
from generator.base.progress import SILENT, Progress
from generator.dataset.reader import Benchmark, World

RECORD, FIGURE = "probe.json", "probe.svg"
"""The files of the results and of their figure."""
IMAGE, TEXT, ALIGNMENT = PLACES = ("image", "text", "alignment")
"""The places where a factor may be lost."""
CHANCE = 0.5
"""The chance level of every question: it has one alternative."""


@dataclass(frozen=True)
class ProbeRequest:
    """Options of `probe_models`."""

    models: tuple[str, ...]
    """[NAME=]SPEC of dual encoders."""
    fit: str = "seen"
    """The split whose questions the probes learn from."""
    seed: int = 0
    """The seed of the alternatives."""


def probe_models(
    request: ProbeRequest,
    world: World,
    benchmark: Benchmark,
    *,
    out: Path,
    device: str | None = None,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Write probe.json and probe.svg.

    Args:
        request: The options.
        world: The world of the images.
        benchmark: The benchmark of the captions.
        out: The folder to write.
        device: The device of the models; None: the first GPU, else the CPU.
        progress: Told of each model.

    Returns:
        The contents of probe.json (docs/audit.md).

    Raises:
        UserError: The dataset has no question to ask or too few groups to learn from, or a model is
            not a dual encoder.
    """
    pairs = find_pairs(world, benchmark, request.seed)
    questions = pairs.questions
    splits = sorted({question.split for question in questions}, key=split_rank)
    _check_fit(pairs, splits, request=request, benchmark=benchmark)
    # The images and texts to embed: those of the questions, and their neighbours.
    scenes = sorted({question.scene for question in questions})
    texts = {question.caption for question in questions}
    for changed_texts in pairs.texts.values():
        texts |= set(changed_texts) - {""}
    sorted_texts = sorted(texts)

    held_out = [question.scene for question in questions if question.split != request.fit]
    encoders = dual_encoders(request.models, world, benchmark, scenes=held_out, device=device)
    models = {}
    for name, model, record in progress.follow(encoders, "probing", total=len(request.models)):
        images = dict(zip(scenes, embed_images(model, world, scenes), strict=True))
        embeddings = dict(zip(sorted_texts, embed_texts(model, sorted_texts), strict=True))
        measures = _measure(pairs, images=images, texts=embeddings, request=request)
        models[name] = {**record, **measures}
    split_counts = Counter(question.split for question in questions)
    results = {
        "request": {"benchmark": benchmark.digest, "world": world.digest, **asdict(request)},
        "name": benchmark.name,
        "items": {split: split_counts[split] for split in splits},
        "models": models,
    }
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / RECORD, results)
    (figure,) = by_probe(results)
    write_text(out / FIGURE, figure.svg())
    return results


def _check_fit(
    pairs: ProbePairs, splits: list[str], *, request: ProbeRequest, benchmark: Benchmark
) -> None:
    """Raise UserError if there is nothing, or too little, to learn from."""
    if request.fit not in splits:
        raise UserError(
            f"{benchmark.name} has no questions of a split '{request.fit}'; "
            f"{did_you_mean(request.fit, splits)}"
        )
    clusters = {question.cluster for question in pairs.questions if question.split == request.fit}
    if len(clusters) < FOLDS:
        raise UserError(
            f"Expected at least {FOLDS} groups of bindings to learn from in the split "
            f"'{request.fit}', got {len(clusters)}; "
            f"render more of its scenes, or name another split with --fit."
        )


_AT_CHANCE_BELOW = 0.75
"""An interval lies at chance if it holds chance and ends below this share, half-way from chance to
perfect. A wider interval shows nothing: a factor that is not shown is not lost."""
UNDECIDED = "undecided"
"""Where a factor is lost if the intervals are too wide to tell."""


def find_loss(rows: Sequence[dict[str, Any]]) -> str:
    """Tell where a factor is lost, from its rows in a split.

    Args:
        rows: A row for each of the places image, text and alignment, with `low` and `high` of its
            95% interval.

    Returns:
        "" if the alignment is above chance, since an aligned factor is lost nowhere. Else the
        towers whose interval lies at chance; if there are none, "alignment" if its interval lies at
        chance and both towers are above it; else UNDECIDED.

    Example:
        >>> image = {"place": "image", "low": 0.7, "high": 0.9}
        >>> text = {"place": "text", "low": 0.6, "high": 0.8}
        >>> find_loss([image, text, {"place": "alignment", "low": 0.4, "high": 0.6}])
        'alignment'
    """
    row_of = {row["place"]: row for row in rows}
    if _is_above_chance(row_of[ALIGNMENT]):
        return ""
    names = {IMAGE: "image encoder", TEXT: "text tower"}
    towers = [name for place, name in names.items() if _is_at_chance(row_of[place])]
    if towers:
        return " and ".join(towers)
    has_towers = all(_is_above_chance(row_of[place]) for place in names)
    if has_towers and _is_at_chance(row_of[ALIGNMENT]):
        return ALIGNMENT
    return UNDECIDED


def _is_above_chance(row: dict[str, Any]) -> bool:
    return row["low"] is not None and row["low"] > CHANCE


def _is_at_chance(row: dict[str, Any]) -> bool:
    return row["low"] is not None and row["low"] <= CHANCE and row["high"] < _AT_CHANCE_BELOW


def _measure(
    pairs: ProbePairs,
    *,
    images: Mapping[str, np.ndarray],
    texts: Mapping[str, np.ndarray],
    request: ProbeRequest,
) -> dict[str, Any]:
    """The `rows`, `moves` and `geometry` of one model, from its embeddings by scene and by text."""
    questions = pairs.questions
    splits = np.array([question.split for question in questions])
    rows = Rows(
        pairs=[question.pair for question in questions],
        groups=np.array([question.cluster for question in questions]),
        fit=splits == request.fit,
    )
    embeddings = {
        IMAGE: np.stack([images[question.scene] for question in questions]),
        TEXT: np.stack([texts[question.caption] for question in questions]),
    }
    outcomes = {}
    shapes = {}
    for place, own in embeddings.items():
        outcomes[place] = probe(own, rows, pairs.differing_names)
        shapes[place] = geometry(own, rows, splits)
    outcomes[ALIGNMENT] = {
        factor: _is_aligned(embeddings, pairs.texts[factor], texts) for factor in FACTORS
    }
    return {
        "rows": _outcome_rows(pairs, outcomes, splits),
        "moves": _move_rows(
            _neighbour_distances(pairs, embeddings, images=images, texts=texts),
            splits=splits,
            groups=rows.groups,
            seed=request.seed,
        ),
        "geometry": shapes,
    }


def _outcome_rows(
    pairs: ProbePairs, outcomes: Mapping[str, Mapping[str, np.ndarray]], splits: np.ndarray
) -> list[dict[str, Any]]:
    """A row for each split, factor and place: the share of right answers, and where the factor is
    lost."""
    rows = []
    for split in sorted(set(splits), key=split_rank):
        is_in_split = splits == split
        for factor in FACTORS:
            of_factor = []
            for place in PLACES:
                of_factor.append(
                    _row(pairs, outcomes[place][factor], is_in_split=is_in_split, place=place)
                )
            loss = find_loss(of_factor)
            for row in of_factor:
                rows.append({"split": split, "factor": factor, "lost": loss, **row})
    return rows


def _row(
    pairs: ProbePairs, outcomes: np.ndarray, *, is_in_split: np.ndarray, place: str
) -> dict[str, Any]:
    rows = np.flatnonzero(is_in_split & np.isfinite(outcomes))
    (mean,) = cluster_means(outcomes[rows, None], pairs.clusters(rows), chance=[CHANCE])
    return {
        "place": place,
        **_round((mean.value, mean.low, mean.high)),
        "chance": CHANCE,
        "items": mean.n_items,
        "clusters": mean.n_clusters,
    }


def _neighbour_distances(
    pairs: ProbePairs,
    embeddings: Mapping[str, np.ndarray],
    *,
    images: Mapping[str, np.ndarray],
    texts: Mapping[str, np.ndarray],
) -> dict[str, dict[str, np.ndarray]]:
    """{place: {factor or SAME: squared distances to the neighbours}}."""
    of_images = {}
    for factor, scenes in pairs.scenes.items():
        of_images[factor] = _distances(embeddings[IMAGE], scenes, images)
    # Unlike an image, a text of the same content is taken to be the same text.
    of_texts = {SAME: np.zeros(len(pairs.questions))}
    for factor, changed_texts in pairs.texts.items():
        of_texts[factor] = _distances(embeddings[TEXT], changed_texts, texts)
    return {IMAGE: of_images, TEXT: of_texts}


def _move_rows(
    distances_of: Mapping[str, Mapping[str, np.ndarray]],
    *,
    splits: np.ndarray,
    groups: np.ndarray,
    seed: int,
) -> list[dict[str, Any]]:
    """A row for each split, place and factor: how far the change of the factor moves an
    embedding."""
    rows = []
    for split in sorted(set(splits), key=split_rank):
        is_in_split = splits == split
        for place, distances in distances_of.items():
            of_split = {factor: values[is_in_split] for factor, values in distances.items()}
            for factor, estimate in moves(of_split, groups[is_in_split], seed).items():
                rows.append({"split": split, "factor": factor, "place": place, **_round(estimate)})
    return rows


def _round(estimate: tuple[float, float, float]) -> dict[str, float | None]:
    """A value and its interval for JSON; None for nan."""
    numbers: dict[str, float | None] = {}
    for name, number in zip(("value", "low", "high"), estimate, strict=True):
        numbers[name] = round(number, 6) if np.isfinite(number) else None
    return numbers


def _is_aligned(
    embeddings: Mapping[str, np.ndarray],
    changed_texts: Sequence[str],
    texts: Mapping[str, np.ndarray],
) -> np.ndarray:
    """1 if an image's cosine with its caption is above its cosine with the changed text, else 0;
    nan if that is "". Float (n,)."""
    is_asked = np.array([bool(text) for text in changed_texts])
    false = []
    for text, true in zip(changed_texts, embeddings[TEXT], strict=True):
        # The caption stands in where nothing is asked; its comparison is dropped below.
        false.append(texts[text] if text else true)
    # Embeddings have unit length, so dot products are cosines.
    true_cosines = (embeddings[IMAGE] * embeddings[TEXT]).sum(axis=1)
    false_cosines = (embeddings[IMAGE] * np.stack(false)).sum(axis=1)
    prefers_caption = beats(true_cosines, false_cosines) * 1.0
    return np.where(is_asked, prefers_caption, np.nan)


def _distances(
    own: np.ndarray, neighbours: Sequence[str], embeddings: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Squared distances (n,) to the embeddings of neighbours; nan for rows without a neighbour."""
    missing = np.full(own.shape[1], np.nan)
    others = [embeddings[name] if name else missing for name in neighbours]
    differences = own - np.stack(others)
    return np.asarray(np.square(differences).sum(axis=1))
