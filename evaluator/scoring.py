"""Which scores a benchmark needs of a model, and computing them: each image and each text is encoded once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from evaluator.cache import EmbeddingCache
from evaluator.models.registry import DualEncoder
from evaluator.protocols.items import NOT_A_NUMBER
from generator.dataset.commands import progress, say
from generator.dataset.errors import UserError
from generator.dataset.files import write_table
from generator.dataset.reader import Benchmark, World
from generator.dataset.schema import SCORES

CHANNEL = "cosine"
_ROWS = 65_536


@dataclass(frozen=True)
class Needs:
    """What the chosen protocols ask of a model: pairs (image, text) of candidates, and pools (texts) with their images."""

    pairs: list[tuple[str, str]]
    pools: dict[str, tuple[list[str], list[str]]]

    @property
    def images(self) -> list[str]:
        """Distinct images, sorted."""
        return sorted(
            {image for image, _ in self.pairs} | {image for images, _ in self.pools.values() for image in images}
        )

    @property
    def texts(self) -> list[str]:
        """Distinct texts, sorted."""
        return sorted({text for _, text in self.pairs} | {text for _, texts in self.pools.values() for text in texts})


def collect_needs(benchmark: Benchmark, protocols: Sequence[str]) -> Needs:
    """The scores that the items of some protocols need. A pool's images are the sorted scenes of its items."""
    items = benchmark.items.filter(pc.is_in(benchmark.items["protocol"], pa.array(list(protocols), pa.string())))
    joined = benchmark.candidates.select(["item_id", "scene_id", "text_id"]).join(
        items.select(["item_id", "pool_id"]), "item_id", join_type="inner"
    )
    columns = (joined[name].to_pylist() for name in ("scene_id", "text_id", "pool_id"))
    pairs: set[tuple[str, str]] = set()
    images: dict[str, set[str]] = {}
    for scene, text, pool in zip(*columns, strict=True):
        if pool is None:
            pairs.add((scene, text))
        else:
            images.setdefault(pool, set()).add(scene)
    members: dict[str, list[str]] = {pool: [] for pool in images}
    for pool, text in zip(benchmark.pools["pool_id"].to_pylist(), benchmark.pools["text_id"].to_pylist(), strict=True):
        if pool in members:
            members[pool].append(text)
    return Needs(sorted(pairs), {pool: (sorted(images[pool]), members[pool]) for pool in sorted(images)})


def score(
    model: DualEncoder,
    world: World,
    benchmark: Benchmark,
    needs: Needs,
    out: Path,
    batch: int,
    cache_folder: Path | None = None,
) -> dict[str, str]:
    """Write `out`/scores.parquet and `out`/pools/*.npy (float32, images × texts, in the order of `needs`).

    Embeddings are taken from the cache or computed; similarities are computed in float32. Returns the texts that the
    model cannot tell from another (see `indistinct_texts`); which items that leaves unscored is for the measuring to say.
    """
    indistinct = indistinct_texts(model, benchmark, needs)
    images, texts = needs.images, needs.texts
    image_keys = {image: f"image:{world.image_digest(image)}" for image in images}
    with EmbeddingCache(model.key, cache_folder) as cache:
        text_vectors = _embed(
            cache,
            [f"text:{text}" for text in texts],
            lambda rows: model.encode_texts([benchmark.text_of[texts[r]] for r in rows]),
            batch,
            "texts",
        )
        image_vectors = _embed(
            cache,
            [image_keys[i] for i in images],
            lambda rows: model.encode_images([world.image(images[r]) for r in rows]),
            batch,
            "images",
        )
    image_row, text_row = ({name: row for row, name in enumerate(names)} for names in (images, texts))
    _write_pairs(out, needs, image_vectors, text_vectors, image_row, text_row)
    (out / "pools").mkdir(exist_ok=True)
    for pool, (pool_images, pool_texts) in needs.pools.items():
        matrix = image_vectors[[image_row[i] for i in pool_images]] @ text_vectors[[text_row[t] for t in pool_texts]].T
        np.save(out / "pools" / f"{pool}.npy", matrix.astype(np.float32))
    return indistinct


def indistinct_texts(model: DualEncoder, benchmark: Benchmark, needs: Needs) -> dict[str, str]:
    """For every text that the tokenizer turns into the same tokens as an earlier one (by truncation): that one's text_id."""
    first: dict[bytes, str] = {}
    same: dict[str, str] = {}
    texts = needs.texts
    for start in range(0, len(texts), 4096):
        part = texts[start : start + 4096]
        for text, row in zip(part, model.tokens([benchmark.text_of[t] for t in part]), strict=True):
            original = first.setdefault(row.tobytes(), text)
            if original != text:
                same[text] = original
    return same


def _embed(
    cache: EmbeddingCache, keys: list[str], encode: Callable[[list[int]], np.ndarray], batch: int, what: str
) -> np.ndarray:
    known = cache.get(keys)
    missing = [row for row, key in enumerate(keys) if key not in known]
    with progress() as bar:
        task = bar.add_task(f"encoding {what}", total=len(keys), completed=len(known), note="")
        start = 0
        while start < len(missing):
            rows = missing[start : start + batch]
            try:
                vectors = encode(rows)
            except torch.OutOfMemoryError:
                if batch == 1:
                    raise UserError(
                        f"The GPU has no memory for one of the {what}; choose --device cpu or a smaller model."
                    ) from None
                batch //= 2
                say(f"Out of memory: going on with batches of {batch}.")
                continue
            cache.put([keys[row] for row in rows], vectors)
            known |= {keys[row]: vector for row, vector in zip(rows, vectors, strict=True)}
            start += len(rows)
            bar.update(task, advance=len(rows))
    return np.stack([known[key] for key in keys]).astype(np.float32)


def _write_pairs(
    out: Path,
    needs: Needs,
    images: np.ndarray,
    texts: np.ndarray,
    image_row: dict[str, int],
    text_row: dict[str, int],
) -> None:
    names = {"image_id": [image for image, _ in needs.pairs], "text_id": [text for _, text in needs.pairs]}
    left = np.array([image_row[image] for image in names["image_id"]], dtype=np.int64)
    right = np.array([text_row[text] for text in names["text_id"]], dtype=np.int64)
    scores = np.empty(len(left), dtype=np.float32)
    for start in range(0, len(left), _ROWS):
        part = slice(start, start + _ROWS)
        scores[part] = np.einsum("nd,nd->n", images[left[part]], texts[right[part]])
    wrong = ~np.isfinite(scores)
    columns = {
        **names,
        "channel": [CHANNEL] * len(scores),
        "score": pa.array(scores, mask=wrong),
        "unscored": pa.array([NOT_A_NUMBER if each else None for each in wrong.tolist()], pa.string()),
    }
    write_table(out / "scores.parquet", pa.table(columns, schema=SCORES), SCORES)
