"""Figures of how dual encoders embed a benchmark's captions and a sample of their images: t-SNE, a
panel for each model."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.prompts import captions_of, choose_splits, load_models
from evaluator.benchmarks.tables import rows_of
from evaluator.models.contracts import DualEncoder
from evaluator.report.audit_figures import embedding_maps
from generator.base.errors import UserError
from generator.base.files import write_json, write_text
from generator.base.progress import SILENT, Progress
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, Images, World
from generator.dataset.records import TRAIN

RECORD = "embeddings.json"
"""The file of the results."""
TEXTS, IMAGES = "texts", "images"
"""What is embedded."""
_BATCH = 64
"""Texts or images that are encoded at once."""
FEWEST = 4
"""The least number of points for t-SNE."""
_USUAL_PERPLEXITY = 30.0
"""The default of scikit-learn's t-SNE."""


@dataclass(frozen=True)
class CaptionClass:
    """A caption, and a sample of its images."""

    caption: str
    """The caption."""
    split: str
    """The first split that has it."""
    scenes: tuple[str, ...]
    """A sample of the scenes that it is true of."""


def choose_classes(
    benchmark: Benchmark, splits: Sequence[str], *, most: int, images: int, seed: int
) -> list[CaptionClass]:
    """Draw captions and images of each.

    Args:
        benchmark: The benchmark.
        splits: The splits; empty for the default of `choose_splits`.
        most: The most captions.
        images: The most images of a caption.
        seed: The seed of both samples.

    Returns:
        The captions with their scenes.

    Raises:
        UserError: A split has no captions.
    """
    captions = captions_of(benchmark)
    classes: dict[str, CaptionClass] = {}
    for split in choose_splits(benchmark, captions, splits):
        for caption, scenes in sorted(captions[split].items()):
            if caption in classes:
                continue
            sample = Stream(seed, "images of a caption", caption).sample(scenes, images)
            classes[caption] = CaptionClass(caption, split, tuple(sample))
    return Stream(seed, "captions").sample(list(classes.values()), most)


def with_own_images(classes: Sequence[CaptionClass], benchmark: Benchmark) -> list[CaptionClass]:
    """Drop captions that have no images of their own, such as the converse of a relation.

    Args:
        classes: The captions.
        benchmark: Their benchmark.

    Returns:
        The captions whose scenes are not all scenes of one earlier caption.
    """
    captions = captions_of(benchmark)
    distinct: list[CaptionClass] = []
    earlier: list[set[str]] = []
    for caption_class in classes:
        scenes = set(captions[caption_class.split][caption_class.caption])
        if not any(scenes <= other for other in earlier):
            distinct.append(caption_class)
            earlier.append(scenes)
    return distinct


def embed_texts(model: Any, texts: Sequence[str]) -> np.ndarray:
    """Embed texts by a dual encoder.

    Args:
        model: The dual encoder.
        texts: The texts; at least one.

    Returns:
        Unit embeddings, float32 (n, d).
    """
    batches = []
    for start in range(0, len(texts), _BATCH):
        batches.append(model.encode_texts(texts[start : start + _BATCH]))
    return np.concatenate(batches)


def embed_images(model: Any, images: Images, names: Sequence[str]) -> np.ndarray:
    """Embed images by a dual encoder.

    Args:
        model: The dual encoder.
        images: The images.
        names: The names of those to embed; at least one.

    Returns:
        Unit embeddings, float32 (n, d).
    """
    batches = []
    for start in range(0, len(names), _BATCH):
        names_of_batch = names[start : start + _BATCH]
        prepared = [model.prepare(images.image(name)) for name in names_of_batch]
        batches.append(model.encode_images(prepared))
    return np.concatenate(batches)


def dual_encoders(
    models: Sequence[str],
    world: World,
    benchmark: Benchmark,
    *,
    scenes: Collection[str],
    device: str | None,
) -> Iterator[tuple[str, DualEncoder, dict[str, Any]]]:
    """Iterate over dual encoders, as `load_models` does over models.

    Args:
        models: [NAME=]SPEC of each.
        world: The world of the images.
        benchmark: The benchmark of the captions.
        scenes: The scenes that are shown.
        device: The device; None: the first GPU, else the CPU.

    Yields:
        The name, the model and its record.

    Raises:
        UserError: A model is not a dual encoder, or two models have the same name.
    """
    for name, model, record in load_models(models, world, benchmark, scenes=scenes, device=device):
        if not isinstance(model, DualEncoder):
            raise UserError(
                f"'{record['model']}' does not embed images and texts apart; give a dual encoder, "
                f"such as hf: or open_clip:."
            )
        yield name, model, record


def on_plane(embeddings: np.ndarray, seed: int) -> np.ndarray:
    """Place embeddings on a plane by t-SNE with cosine distance.

    The perplexity is min(30, (n − 1) / 3): t-SNE needs about three neighbours for each of it.

    Args:
        embeddings: Unit embeddings (n, d).
        seed: The seed of the first places.

    Returns:
        Positions (n, 2).

    Raises:
        UserError: There are fewer than FEWEST embeddings.
    """
    from sklearn.manifold import TSNE

    if len(embeddings) < FEWEST:
        raise UserError(
            f"Expected at least {FEWEST} captions and {FEWEST} images for t-SNE, got "
            f"{len(embeddings)}; raise --captions or --images."
        )
    tsne = TSNE(
        metric="cosine",
        init="random",
        random_state=seed % 2**32,
        perplexity=min(_USUAL_PERPLEXITY, (len(embeddings) - 1) / 3),
    )
    positions: np.ndarray = tsne.fit_transform(embeddings)
    return positions


Triple = tuple[str, str, str]
"""(subject, relation, object) of a caption."""
_OPPOSITES = {"left": "right", "right": "left", "front": "behind", "behind": "front"}
"""{relation: its opposite on the same axis}."""
_LIKENESS_OF_IMAGES = {
    "same words": "same arrangement",
    "same meaning": "same arrangement",
    "relation turned": "other arrangement",
    "objects exchanged": "other arrangement",
}
"""{likeness of captions: that of their images}; others are the same."""


def triples_of(benchmark: Benchmark) -> dict[str, Triple]:
    """Read the relations of captions.

    Args:
        benchmark: The benchmark.

    Returns:
        {caption: (subject, relation, object)} of captions that name two objects and one relation.
    """
    triples: dict[str, Triple] = {}
    for text, form in rows_of(benchmark.texts, "text", "form"):
        content = json.loads(form) if form else {}
        objects = content.get("objects", ())
        relations = content.get("relations", ())
        if len(objects) == 2 and len(relations) == 1:
            # The form names objects by their places.
            ((subject_place, relation, object_place, _),) = relations
            subject = str(objects[subject_place]["category"])
            object_ = str(objects[object_place]["category"])
            triples[text] = (subject, relation, object_)
    return triples


def likeness(one: Triple, other: Triple) -> str:
    """Say how two captions of a relation differ.

    Args:
        one: The triple of one caption.
        other: The triple of the other.

    Returns:
        Whether they differ in words only, relation, order of objects, axis of the relation, or
        objects.

    Example:
        >>> likeness(("cube", "left", "cone"), ("cone", "right", "cube"))
        'same meaning'
        >>> likeness(("cube", "left", "cone"), ("cone", "left", "cube"))
        'objects exchanged'
    """
    subject, relation, object_ = one
    other_subject, other_relation, other_object = other
    if {subject, object_} != {other_subject, other_object}:
        return "other objects"
    if other_relation not in (relation, _OPPOSITES.get(relation)):
        return "other axis"
    is_turned = relation != other_relation
    is_exchanged = subject != other_subject
    # Turned and exchanged: the same is said from the other side.
    if is_turned and is_exchanged:
        return "same meaning"
    if is_turned:
        return "relation turned"
    return "objects exchanged" if is_exchanged else "same words"


def mean_cosines(
    embeddings: np.ndarray, triples: Sequence[Triple | None], of_images: bool
) -> dict[str, float]:
    """Average the cosines of pairs of embeddings, by how their captions differ.

    Args:
        embeddings: Unit embeddings (n, d).
        triples: The triple of the caption of each; None for other captions.
        of_images: Whether to merge groups that look alike in images: same words and same meaning,
            turned and exchanged.

    Returns:
        {`likeness`: mean cosine} of the pairs that have triples.
    """
    cosines = embeddings @ embeddings.T
    cosines_of: dict[str, list[float]] = {}
    for i, j in combinations(range(len(triples)), 2):
        first, second = triples[i], triples[j]
        if not first or not second:
            continue
        group = likeness(first, second)
        if of_images:
            group = _LIKENESS_OF_IMAGES.get(group, group)
        cosines_of.setdefault(group, []).append(float(cosines[i, j]))
    means = {}
    for group, of_group in sorted(cosines_of.items()):
        means[group] = round(float(np.mean(of_group)), 4)
    return means


@dataclass(frozen=True)
class MapRequest:
    """Options of `draw_maps`."""

    models: tuple[str, ...]
    """[NAME=]SPEC of each model."""
    splits: tuple[str, ...] = ()
    """The splits; empty for the default of `choose_splits`."""
    captions: int = 24
    """The most captions."""
    images: int = 5
    """The most images of a caption."""
    seed: int = 0
    """The seed of both samples and of t-SNE."""


def draw_maps(
    request: MapRequest,
    world: World,
    benchmark: Benchmark,
    *,
    out: Path,
    device: str | None = None,
    progress: Progress = SILENT,
) -> list[Path]:
    """Write texts.svg, images.svg and embeddings.json (docs/training.md).

    Args:
        request: The options.
        world: The world of the images.
        benchmark: The benchmark of the captions.
        out: The folder to write.
        device: The device of the models; None: the first GPU, else the CPU.
        progress: Told of each model.

    Returns:
        The figures.

    Raises:
        UserError: A model is not a dual encoder, or there are too few captions or images.
    """
    classes = choose_classes(
        benchmark,
        request.splits,
        most=request.captions,
        images=request.images,
        seed=request.seed,
    )
    # The same images twice would lie on one point, under two captions.
    pictured = with_own_images(classes, benchmark)
    images = _sample_images(pictured)
    points = _embed_points(
        request,
        world,
        benchmark,
        captions=[caption_class.caption for caption_class in classes],
        images=images,
        held_out=_held_out_scenes(pictured),
        device=device,
        progress=progress,
    )
    record = {
        "request": {"benchmark": benchmark.digest, "world": world.digest, **asdict(request)},
        "name": benchmark.name,
        "models": points["models"],
        # Mean cosines of captions of relations, and of their images.
        "cosines": points["cosines"],
        "texts": [asdict(caption_class) for caption_class in classes],
        "images": images,
        "places": points["places"],
    }
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / RECORD, record)
    return _write_figures(record, out)


def _write_figures(record: dict[str, Any], out: Path) -> list[Path]:
    """Write the maps of texts and of images; returns their files."""
    files = [out / f"{what}.svg" for what in (TEXTS, IMAGES)]
    # The order of `embedding_maps`.
    for path, figure in zip(files, embedding_maps(record["name"], record), strict=True):
        write_text(path, figure.svg())
    return files


def _sample_images(classes: Sequence[CaptionClass]) -> list[dict[str, str]]:
    """The scene and the caption of each image."""
    images = []
    for caption_class in classes:
        for scene in caption_class.scenes:
            images.append({"scene_id": scene, "caption": caption_class.caption})
    return images


def _held_out_scenes(classes: Sequence[CaptionClass]) -> list[str]:
    scenes: list[str] = []
    for caption_class in classes:
        if caption_class.split != TRAIN:
            scenes += caption_class.scenes
    return scenes


def _embed_points(
    request: MapRequest,
    world: World,
    benchmark: Benchmark,
    *,
    captions: Sequence[str],
    images: Sequence[Mapping[str, str]],
    held_out: Sequence[str],
    device: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """The `models`, `places` and `cosines` of embeddings.json: for texts and images the positions
    and mean cosines of each model."""
    captions_of_points = {TEXTS: captions, IMAGES: [image["caption"] for image in images]}
    scenes = [image["scene_id"] for image in images]
    triples = triples_of(benchmark)
    models: dict[str, Any] = {}
    places: dict[str, dict[str, list[list[float]]]] = {TEXTS: {}, IMAGES: {}}
    cosines: dict[str, dict[str, dict[str, float]]] = {TEXTS: {}, IMAGES: {}}
    encoders = dual_encoders(request.models, world, benchmark, scenes=held_out, device=device)
    for name, model, record in progress.follow(encoders, "embedding", total=len(request.models)):
        models[name] = record
        embeddings = {
            TEXTS: embed_texts(model, captions),
            IMAGES: embed_images(model, world, scenes),
        }
        for what, vectors in embeddings.items():
            places[what][name] = on_plane(vectors, request.seed).round(4).tolist()
            own_triples = [triples.get(caption) for caption in captions_of_points[what]]
            cosines[what][name] = mean_cosines(vectors, own_triples, what == IMAGES)
    return {"models": models, "places": places, "cosines": cosines}
