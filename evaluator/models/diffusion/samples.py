"""The samples of an image: their noise levels, their order, and their noise.

Sample i of n has the noise level (i + ½)/n. Its noise depends on the seed, the image's content and i alone, so all
texts of an image meet the same noise, whatever else is scored and in whatever batches.
"""

import hashlib

import numpy as np
from PIL import Image


def levels(total: int) -> np.ndarray:
    """Evenly spaced noise levels of `total` samples, float64 (total,) in (0, 1).

    >>> levels(4).tolist()
    [0.125, 0.375, 0.625, 0.875]
    """
    level: np.ndarray = (np.arange(total) + 0.5) / total
    return level


def staged_order(stages: tuple[int, ...]) -> np.ndarray:
    """An order of samples 0 … stages[-1] − 1, int64, whose first stages[k] are evenly spaced for every k.

    >>> staged_order((3, 12)).tolist()
    [2, 6, 10, 0, 1, 3, 4, 5, 7, 8, 9, 11]
    """
    total = stages[-1]
    order: list[int] = []
    for stage in stages:
        taken = set(order)
        order += _spread([i for i in range(total) if i not in taken], stage - len(order))
    return np.array(order, dtype=np.int64)


def _spread(rest: list[int], count: int) -> list[int]:
    return [rest[(2 * i + 1) * len(rest) // (2 * count)] for i in range(count)]


def nested_order(total: int, seed: int) -> np.ndarray:
    """A random order of `total` samples, int64, in which every prefix covers the range evenly (Owen 1995).

    The range is halved again and again. Samples alternate between the halves, and chance decides which half comes
    first. So the first 2^k samples are one from each of 2^k equal parts, at a random place in it.
    """
    rng = np.random.default_rng([seed, 1])

    def order(first: int, count: int) -> np.ndarray:
        if count == 1:
            return np.array([first], dtype=np.int64)
        left = count // 2 if rng.random() < 0.5 else count - count // 2
        halves = [order(first, left), order(first + left, count - left)]
        if len(halves[0]) == len(halves[1]) and rng.random() < 0.5:
            halves.reverse()
        halves.sort(key=len, reverse=True)
        mixed = np.empty(count, dtype=np.int64)
        mixed[0::2], mixed[1::2] = halves
        return mixed

    return order(0, total)


def image_digest(image: Image.Image) -> str:
    """SHA-256 (hex) of an RGB image's size and pixels."""
    return hashlib.sha256(f"{image.size}".encode() + image.tobytes()).hexdigest()


def noise(digest: str, seed: int, sample: int, shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal noise of one sample of one image, float32 of the given shape."""
    key = hashlib.sha256(f"{digest} {seed} {sample}".encode()).digest()
    generator = np.random.Generator(np.random.Philox(key=np.frombuffer(key[:16], dtype=np.uint64)))
    return generator.standard_normal(shape, dtype=np.float32)
