"""Where dual encoders place captions of a benchmark and some of their images: a figure by t-SNE, a panel for each
model."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.prompts import captions_of, models_shown, shown_splits
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
"""Points that t-SNE is made of, at least."""


@dataclass(frozen=True)
class Class:
    """A caption, the first split that has it, and some scenes that it is true of."""

    caption: str
    split: str
    scenes: tuple[str, ...]


def choose_classes(benchmark: Benchmark, splits: Sequence[str], most: int, images: int, seed: int) -> list[Class]:
    """At most `most` captions, drawn by seed, of `splits` (by default as `choose_prompts`), each with at most
    `images` scenes."""
    of_split = captions_of(benchmark)
    found: dict[str, Class] = {}
    for split in shown_splits(benchmark, of_split, splits):
        for caption, scenes in sorted(of_split[split].items()):
            drawn = Stream(seed, "images of a caption", caption).sample(scenes, images)
            found.setdefault(caption, Class(caption, split, tuple(drawn)))
    return Stream(seed, "captions").sample(list(found.values()), most)


def with_own_images(classes: Sequence[Class], benchmark: Benchmark) -> list[Class]:
    """The classes without those whose images are all images of an earlier one, as those of the converse of a
    relation are."""
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
    """Unit embeddings of a dual encoder, float32 (n, d)."""
    return np.concatenate([model.encode_texts(texts[i : i + _TOGETHER]) for i in range(0, len(texts), _TOGETHER)])


def embed_images(model: Any, images: Images, names: Sequence[str]) -> np.ndarray:
    """Unit embeddings of a dual encoder, float32 (n, d), of the images of these names."""
    return np.concatenate(
        [
            model.encode_images([model.prepare(images.image(name)) for name in names[i : i + _TOGETHER]])
            for i in range(0, len(names), _TOGETHER)
        ]
    )


def dual_encoders(
    models: Sequence[str], world: World, benchmark: Benchmark, scenes: Collection[str], device: str | None
) -> Iterator[tuple[str, DualEncoder, dict[str, Any]]]:
    """`models_shown`, of dual encoders alone. Raises UserError for another model."""
    for name, model, record in models_shown(models, world, benchmark, scenes, device):
        if not isinstance(model, DualEncoder):
            raise UserError(
                f"'{record['model']}' does not embed images and texts apart; give a dual encoder, such as hf: or "
                "open_clip:."
            )
        yield name, model, record


def on_plane(embeddings: np.ndarray, seed: int) -> np.ndarray:
    """Places (n, 2) whose neighbours are those of unit embeddings (n, d) by cosine. Raises UserError for fewer than
    four.

    The perplexity is scikit-learn's 30, or a third of the other points where these are fewer.
    """
    from sklearn.manifold import TSNE

    if len(embeddings) < FEWEST:
        raise UserError(
            f"Expected {FEWEST} captions and images or more to place by their embeddings, got {len(embeddings)}; "
            f"raise --captions or "
            "--images."
        )
    found: np.ndarray = TSNE(
        metric="cosine", init="random", random_state=seed % 2**32, perplexity=min(30.0, (len(embeddings) - 1) / 3)
    ).fit_transform(embeddings)
    return found


@dataclass(frozen=True)
class Asked:
    """splits: see `choose_classes`. captions: at most so many. images: of each caption, at most. seed: of both, and
    of t-SNE."""

    models: tuple[str, ...]
    splits: tuple[str, ...] = ()
    captions: int = 24
    images: int = 5
    seed: int = 0


def draw_maps(
    asked: Asked, world: World, benchmark: Benchmark, out: Path, device: str | None = None, progress: Progress = SILENT
) -> list[Path]:
    """Write texts.svg, images.svg and embeddings.json into the folder `out`, and return the figures.

    A model is a spec, or NAME=SPEC for what it is called. Raises UserError for a model that is no dual encoder.
    """
    classes = choose_classes(benchmark, asked.splits, asked.captions, asked.images, asked.seed)
    shown = with_own_images(classes, benchmark)
    of_image = [i for i, each in enumerate(shown) for _ in each.scenes]
    scenes = [scene for each in shown for scene in each.scenes]
    places: dict[str, dict[str, np.ndarray]] = {TEXTS: {}, IMAGES: {}}
    models: dict[str, Any] = {}
    held_out = [scene for each in shown if each.split != "train" for scene in each.scenes]
    found = dual_encoders(asked.models, world, benchmark, held_out, device)
    for name, model, models[name] in progress.each(found, "embedding", len(asked.models)):
        places[TEXTS][name] = on_plane(embed_texts(model, [each.caption for each in classes]), asked.seed)
        places[IMAGES][name] = on_plane(embed_images(model, world, scenes), asked.seed)
    out.mkdir(parents=True, exist_ok=True)
    record = {
        "request": {"benchmark": benchmark.digest, "world": world.digest, **asdict(asked)},
        "name": benchmark.name,
        "models": models,
        "texts": [asdict(each) for each in classes],
        "images": [{"scene_id": scene, "caption": shown[i].caption} for scene, i in zip(scenes, of_image, strict=True)],
        "places": {
            what: {name: each.round(4).tolist() for name, each in found.items()} for what, found in places.items()
        },
    }
    write_json(out / RECORD, record)
    files = [out / f"{what}.svg" for what in (TEXTS, IMAGES)]
    for path, figure in zip(files, embedding_maps(benchmark.name, record), strict=True):
        write_text(path, figure.svg())
    return files
