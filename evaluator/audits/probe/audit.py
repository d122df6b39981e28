"""`score probe`: how well images, texts and their alignment tell each factor in each split, and
where it is lost."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.embeddings import dual_encoders, embed_images, embed_texts
from evaluator.audits.probe.pairs import FACTORS, SAME, Pairs, find_pairs
from evaluator.audits.probe.towers import FOLDS, geometry, moves, probe
from evaluator.metrics.comparison import beats
from evaluator.protocols.items import split_rank
from evaluator.report.figures import by_probe
from evaluator.statistics.intervals import cluster_means
from generator.base.errors import UserError, did_you_mean
from generator.base.files import write_json, write_text
from generator.base.progress import SILENT, Progress
from generator.dataset.reader import Benchmark, World

RECORD, FIGURE = "probe.json", "probe.svg"
IMAGE, TEXT, ALIGNMENT = PLACES = ("image", "text", "alignment")
CHANCE = 0.5


@dataclass(frozen=True)
class Asked:
    """models: [NAME=]SPEC of dual encoders. fit: the split whose questions the probes learn from.
    seed: of the alternatives."""

    models: tuple[str, ...]
    fit: str = "seen"
    seed: int = 0


def probe_models(
    asked: Asked,
    world: World,
    benchmark: Benchmark,
    out: Path,
    device: str | None = None,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Write probe.json and probe.svg into the folder `out`; returns the contents of probe.json
    (docs/audit.md).

    Raises UserError if the dataset has no question to ask or too few groups to learn from, and for
    a model that is not a dual encoder.
    """
    pairs = find_pairs(world, benchmark, asked.seed)
    splits = sorted({each.split for each in pairs.questions}, key=split_rank)
    if asked.fit not in splits:
        raise UserError(
            f"{benchmark.name} has no questions of a split '{asked.fit}'; "
            f"{did_you_mean(asked.fit, splits)}"
        )
    groups = len({each.cluster for each in pairs.questions if each.split == asked.fit})
    if groups < FOLDS:
        raise UserError(
            f"Expected at least {FOLDS} groups of bindings to learn from in the split "
            f"'{asked.fit}', got {groups}; "
            f"render more of its scenes, or name another split with --fit."
        )
    scenes = sorted({each.scene for each in pairs.questions})
    held_out = [each.scene for each in pairs.questions if each.split != asked.fit]
    found = {}
    for name, model, record in progress.follow(
        dual_encoders(asked.models, world, benchmark, held_out, device),
        "probing",
        len(asked.models),
    ):
        images = dict(zip(scenes, embed_images(model, world, scenes), strict=True))
        said = sorted(
            {each.caption for each in pairs.questions}
            | {text for of in pairs.texts.values() for text in of if text}
        )
        texts = dict(zip(said, embed_texts(model, said), strict=True))
        found[name] = {**record, **_measured(pairs, images, texts, asked)}
    results = {
        "request": {"benchmark": benchmark.digest, "world": world.digest, **asdict(asked)},
        "name": benchmark.name,
        "items": {split: sum(each.split == split for each in pairs.questions) for split in splits},
        "models": found,
    }
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / RECORD, results)
    (drawn,) = by_probe(results)
    write_text(out / FIGURE, drawn.svg())
    return results


_AT_CHANCE_BELOW = 0.75
"""An interval lies at chance if it holds chance and ends below this share, half-way from chance to
perfect. A wider interval shows nothing: a factor that is not shown is not lost."""
UNDECIDED = "undecided"


def lost(rows: Sequence[dict[str, Any]]) -> str:
    """Where a factor is lost, from its rows in a split.

    Args: rows: a row for each of the places image, text and alignment, with `low` and `high` of its
        95% interval.

    Returns: "" if the alignment is above chance, since an aligned factor is lost nowhere. Else the
        towers whose interval lies at chance; if there are none, "alignment" if its interval lies at
        chance and both towers are above it; else UNDECIDED.

    >>> shares = {"image": (0.7, 0.9), "text": (0.6, 0.8), "alignment": (0.4, 0.6)}
    >>> lost([{"place": place, "low": low, "high": high} for place, (low, high) in shares.items()])
    'alignment'
    """
    of_place = {row["place"]: row for row in rows}
    if _is_above_chance(of_place[ALIGNMENT]):
        return ""
    names = {IMAGE: "image encoder", TEXT: "text tower"}
    towers = [name for place, name in names.items() if _is_at_chance(of_place[place])]
    if towers:
        return " and ".join(towers)
    if _is_at_chance(of_place[ALIGNMENT]) and all(
        _is_above_chance(of_place[place]) for place in names
    ):
        return ALIGNMENT
    return UNDECIDED


def _is_above_chance(row: dict[str, Any]) -> bool:
    return row["low"] is not None and row["low"] > CHANCE


def _is_at_chance(row: dict[str, Any]) -> bool:
    return row["low"] is not None and row["low"] <= CHANCE and row["high"] < _AT_CHANCE_BELOW


def _measured(
    pairs: Pairs, images: dict[str, np.ndarray], texts: dict[str, np.ndarray], asked: Asked
) -> dict[str, Any]:
    questions = pairs.questions
    split = np.array([each.split for each in questions])
    groups = np.array([each.cluster for each in questions])
    fit, content = split == asked.fit, [each.pair for each in questions]
    own = {
        IMAGE: np.stack([images[each.scene] for each in questions]),
        TEXT: np.stack([texts[each.caption] for each in questions]),
    }
    outcomes = {place: probe(own[place], content, pairs.differ, groups, fit) for place in own}
    outcomes[ALIGNMENT] = {factor: _aligned(own, pairs.texts[factor], texts) for factor in FACTORS}
    apart = {
        IMAGE: {name: _distances(own[IMAGE], of, images) for name, of in pairs.scenes.items()},
        TEXT: {
            SAME: np.zeros(len(split)),
            **{name: _distances(own[TEXT], of, texts) for name, of in pairs.texts.items()},
        },
    }
    rows, moved = [], []
    for name in sorted(set(split), key=split_rank):
        inside = split == name
        for factor in FACTORS:
            of_factor = [_row(pairs, outcomes[place][factor], inside, place) for place in PLACES]
            rows += [
                {"split": name, "factor": factor, "lost": lost(of_factor), **row}
                for row in of_factor
            ]
        for place, distances in apart.items():
            of = moves(
                {key: each[inside] for key, each in distances.items()}, groups[inside], asked.seed
            )
            moved += [
                {"split": name, "factor": factor, "place": place, **_numbers(each)}
                for factor, each in of.items()
            ]
    shapes = {place: geometry(own[place], content, split, groups, fit) for place in own}
    return {"rows": rows, "moves": moved, "geometry": shapes}


def _row(pairs: Pairs, outcomes: np.ndarray, inside: np.ndarray, place: str) -> dict[str, Any]:
    rows = np.flatnonzero(inside & np.isfinite(outcomes))
    (mean,) = cluster_means(outcomes[rows, None], pairs.clusters(rows), chance=[CHANCE])
    numbers = _numbers((mean.value, mean.low, mean.high))
    return {
        "place": place,
        **numbers,
        "chance": CHANCE,
        "items": mean.n_items,
        "clusters": mean.n_clusters,
    }


def _numbers(estimate: tuple[float, float, float]) -> dict[str, float | None]:
    names = ("value", "low", "high")
    return {
        name: round(each, 6) if np.isfinite(each) else None
        for name, each in zip(names, estimate, strict=True)
    }


def _aligned(
    own: dict[str, np.ndarray], others: Sequence[str], texts: dict[str, np.ndarray]
) -> np.ndarray:
    """1 if an image's cosine with its caption is above its cosine with the other text, else 0; nan
    if that is ""."""
    there = np.array([bool(other) for other in others])
    false = np.stack(
        [texts[other] if other else true for other, true in zip(others, own[TEXT], strict=True)]
    )
    right = beats((own[IMAGE] * own[TEXT]).sum(axis=1), (own[IMAGE] * false).sum(axis=1))
    return np.where(there, right * 1.0, np.nan)


def _distances(
    own: np.ndarray, others: Sequence[str], embeddings: dict[str, np.ndarray]
) -> np.ndarray:
    """Squared distances (n,) to other embeddings; nan for rows without another embedding."""
    away = np.full(own.shape[1], np.nan)
    return np.asarray(
        np.square(own - np.stack([embeddings[each] if each else away for each in others])).sum(
            axis=1
        )
    )
