"""Embeddings on a plane, by t-SNE (van der Maaten & Hinton 2008)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from generator.base.errors import UserError
from generator.dataset.reader import Images

_TOGETHER = 64
FEWEST = 4
"""Points that t-SNE is made of, at least."""


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


def on_plane(embeddings: np.ndarray, seed: int) -> np.ndarray:
    """Places (n, 2) whose neighbours are those of unit embeddings (n, d) by cosine. Raises UserError for fewer than four.

    The perplexity is scikit-learn's 30, or a third of the other points where these are fewer.
    """
    from sklearn.manifold import TSNE

    if len(embeddings) < FEWEST:
        raise UserError(
            f"Expected {FEWEST} captions and images or more to place by their embeddings, got {len(embeddings)}; raise --captions or "
            "--images."
        )
    found: np.ndarray = TSNE(
        metric="cosine", init="random", random_state=seed % 2**32, perplexity=min(30.0, (len(embeddings) - 1) / 3)
    ).fit_transform(embeddings)
    return found
