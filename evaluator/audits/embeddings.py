"""Figures of how dual encoders embed a benchmark's captions and a sample of their images: t-SNE, a
panel for each model."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.prompts import captions_of, models_shown, shown_splits
from evaluator.benchmarks.tables import rows_of
from evaluator.models.contracts import DualEncoder
from evaluator.report.figures import embedding_maps
from generator.base.errors import UserError
from generator.base.files import write_json, write_text
from generator.base.progress import SILENT, Progress
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, Images, World

RECORD = "embeddings.json"
TEXTS, IMAGES = "texts", "images"
_TOGETHER = 64
FEWEST = 4
"""The least number of points for t-SNE."""


@dataclass(frozen=True)
class Class:
    """A caption, the first split that has it, and a sample of the scenes that it is true of."""

    caption: str
    split: str
    scenes: tuple[str, ...]


def choose_classes(
    benchmark: Benchmark, splits: Sequence[str], most: int, images: int, seed: int
) -> list[Class]:
    """Draw at most `most` captions of `splits` (default: as `choose_prompts`) by seed, each with at
    most `images` scenes."""
    of_split = captions_of(benchmark)
    found: dict[str, Class] = {}
    for split in shown_splits(benchmark, of_split, splits):
        for caption, scenes in sorted(of_split[split].items()):
            drawn = Stream(seed, "images of a caption", caption).sample(scenes, images)
            found.setdefault(caption, Class(caption, split, tuple(drawn)))
    return Stream(seed, "captions").sample(list(found.values()), most)


def with_own_images(classes: Sequence[Class], benchmark: Benchmark) -> list[Class]:
    """Drop classes whose scenes are all scenes of an earlier class, such as the converse of a
    relation."""
    of_split = captions_of(benchmark)
    kept: list[Class] = []
    known: list[set[str]] = []
    for each in classes:
        scenes = set(of_split[each.split][each.caption])
        if not any(scenes <= other for other in known):
            kept.append(each)
            known.append(scenes)
    return kept


def embed_texts(model: Any, texts: Sequence[str]) -> np.ndarray:
    """Unit embeddings of texts by a dual encoder, float32 (n, d)."""
    return np.concatenate(
        [model.encode_texts(texts[i : i + _TOGETHER]) for i in range(0, len(texts), _TOGETHER)]
    )


def embed_images(model: Any, images: Images, names: Sequence[str]) -> np.ndarray:
    """Unit embeddings of the named images by a dual encoder, float32 (n, d)."""
    return np.concatenate(
        [
            model.encode_images(
                [model.prepare(images.image(name)) for name in names[i : i + _TOGETHER]]
            )
            for i in range(0, len(names), _TOGETHER)
        ]
    )


def dual_encoders(
    models: Sequence[str],
    world: World,
    benchmark: Benchmark,
    scenes: Collection[str],
    device: str | None,
) -> Iterator[tuple[str, DualEncoder, dict[str, Any]]]:
    """As `models_shown`. Raises UserError for a model that is not a dual encoder."""
    for name, model, record in models_shown(models, world, benchmark, scenes, device):
        if not isinstance(model, DualEncoder):
            raise UserError(
                f"'{record['model']}' does not embed images and texts apart; give a dual encoder, "
                f"such as hf: or "
                "open_clip:."
            )
        yield name, model, record


def on_plane(embeddings: np.ndarray, seed: int) -> np.ndarray:
    """t-SNE positions (n, 2) of unit embeddings (n, d), by cosine distance. Raises UserError for
    fewer than four.

    The perplexity is min(30, (n − 1) / 3); 30 is scikit-learn's default.
    """
    from sklearn.manifold import TSNE

    if len(embeddings) < FEWEST:
        raise UserError(
            f"Expected at least {FEWEST} captions and {FEWEST} images for t-SNE, got "
            f"{len(embeddings)}; raise "
            "--captions or --images."
        )
    found: np.ndarray = TSNE(
        metric="cosine",
        init="random",
        random_state=seed % 2**32,
        perplexity=min(30.0, (len(embeddings) - 1) / 3),
    ).fit_transform(embeddings)
    return found


Triple = tuple[str, str, str]
_OPPOSITES = {"left": "right", "right": "left", "front": "behind", "behind": "front"}
_OF_IMAGES = {
    "same words": "same arrangement",
    "same meaning": "same arrangement",
    "relation turned": "other arrangement",
    "objects exchanged": "other arrangement",
}


def triples_of(benchmark: Benchmark) -> dict[str, Triple]:
    """Maps each caption that names two objects and one relation to its (subject, relation,
    object)."""
    found: dict[str, Triple] = {}
    for text, form in rows_of(benchmark.texts, "text", "form"):
        told = json.loads(form) if form else {}
        if len(told.get("objects", ())) == 2 and len(told.get("relations", ())) == 1:
            ((subject, relation, thing, _),) = told["relations"]
            ends = [str(told["objects"][end]["category"]) for end in (subject, thing)]
            found[text] = (ends[0], relation, ends[1])
    return found


def likeness(one: Triple, other: Triple) -> str:
    """How two triples differ: in words only, relation, order of objects, axis of the relation, or
    objects.

    >>> likeness(("cube", "left", "cone"), ("cone", "right", "cube"))
    'same meaning'
    >>> likeness(("cube", "left", "cone"), ("cone", "left", "cube"))
    'objects exchanged'
    """
    if {one[0], one[2]} != {other[0], other[2]}:
        return "other objects"
    if other[1] not in (one[1], _OPPOSITES.get(one[1])):
        return "other axis"
    turned, exchanged = one[1] != other[1], one[0] != other[0]
    if turned == exchanged:
        return "same meaning" if turned else "same words"
    return "relation turned" if turned else "objects exchanged"


def mean_cosines(
    embeddings: np.ndarray, triples: Sequence[Triple | None], of_images: bool
) -> dict[str, float]:
    """Mean cosine of pairs of unit embeddings (n, d), grouped by how their captions differ
    (`likeness`). of_images: merge groups that look alike in images: same words and same meaning,
    turned and exchanged."""
    cosines = embeddings @ embeddings.T
    found: dict[str, list[float]] = {}
    for i, j in combinations(range(len(triples)), 2):
        one, other = triples[i], triples[j]
        if one and other:
            how = likeness(one, other)
            found.setdefault(_OF_IMAGES.get(how, how) if of_images else how, []).append(
                float(cosines[i, j])
            )
    return {how: round(float(np.mean(values)), 4) for how, values in sorted(found.items())}


@dataclass(frozen=True)
class Asked:
    """Options of `draw_maps`. splits: see `choose_classes`. captions: at most this many. images: at
    most this many of each caption. seed: of both samples and of t-SNE."""

    models: tuple[str, ...]
    splits: tuple[str, ...] = ()
    captions: int = 24
    images: int = 5
    seed: int = 0


def draw_maps(
    asked: Asked,
    world: World,
    benchmark: Benchmark,
    out: Path,
    device: str | None = None,
    progress: Progress = SILENT,
) -> list[Path]:
    """Write texts.svg, images.svg and embeddings.json into the folder `out`, and return the
    figures.

    `cosines` in embeddings.json has the mean cosines of captions of relations and of their images
    (`mean_cosines`).
    Each model is a spec, or NAME=SPEC to name it. Raises UserError for a model that is not a dual
    encoder.
    """
    classes = choose_classes(benchmark, asked.splits, asked.captions, asked.images, asked.seed)
    shown = with_own_images(classes, benchmark)
    images = [
        {"scene_id": scene, "caption": each.caption} for each in shown for scene in each.scenes
    ]
    captions = {
        TEXTS: [each.caption for each in classes],
        IMAGES: [each["caption"] for each in images],
    }
    places: dict[str, dict[str, list[list[float]]]] = {TEXTS: {}, IMAGES: {}}
    cosines: dict[str, dict[str, dict[str, float]]] = {TEXTS: {}, IMAGES: {}}
    triples = triples_of(benchmark)
    models: dict[str, Any] = {}
    held_out = [scene for each in shown if each.split != "train" for scene in each.scenes]
    found = dual_encoders(asked.models, world, benchmark, held_out, device)
    for name, model, models[name] in progress.follow(found, "embedding", len(asked.models)):
        embedded = {
            TEXTS: embed_texts(model, captions[TEXTS]),
            IMAGES: embed_images(model, world, [each["scene_id"] for each in images]),
        }
        for what, vectors in embedded.items():
            places[what][name] = on_plane(vectors, asked.seed).round(4).tolist()
            cosines[what][name] = mean_cosines(
                vectors, [triples.get(each) for each in captions[what]], what == IMAGES
            )
    out.mkdir(parents=True, exist_ok=True)
    record = {
        "request": {"benchmark": benchmark.digest, "world": world.digest, **asdict(asked)},
        "name": benchmark.name,
        "models": models,
        "cosines": cosines,
        "texts": [asdict(each) for each in classes],
        "images": images,
        "places": places,
    }
    write_json(out / RECORD, record)
    files = [out / f"{what}.svg" for what in (TEXTS, IMAGES)]
    for path, figure in zip(files, embedding_maps(benchmark.name, record), strict=True):
        write_text(path, figure.svg())
    return files
