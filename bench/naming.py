"""A small network that learns to name an object and its values on images."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import click
import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F

_BATCH = 32
"""Crops of a step of training."""
_RATE = 4e-3
"""Largest learning rate."""
_WIDTHS = (24, 48, 96, 160)
"""Channels after each layer; each halves the sides of the image."""
_SIDE = 64
"""Side of what the network sees, pixels."""
_ROOM = 72
"""Side of a crop, pixels. In training the network sees any part of it, which moves the object."""
_MARGIN = 1.5
"""Side of a crop, over the longer side of the object's box."""


class Crops(NamedTuple):
    """Objects cut out of images, and their true names."""

    images: np.ndarray
    """uint8 (n, 72, 72, 3)."""
    truths: np.ndarray
    """int64: the number of each object's name of each kind: (n, kinds)."""


class _Block(nn.Module):
    """Two convolutions that halve the sides of an image, added to its mean."""

    def __init__(self, before: int, after: int):
        super().__init__()
        self.convolved = nn.Sequential(
            nn.Conv2d(before, after, 3, 2, 1, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, 1, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        self.direct = nn.Sequential(nn.AvgPool2d(2, ceil_mode=True), nn.Conv2d(before, after, 1))

    def forward(self, images: Tensor) -> Tensor:
        return F.relu(self.convolved(images) + self.direct(images))


class Classifier(nn.Module):
    """A residual network of half a million weights, with a head for each kind of name."""

    def __init__(self, sizes: Sequence[int]):
        """Make an untrained network.

        Args:
            sizes: the number of names of each kind.
        """
        super().__init__()
        first = (
            nn.Conv2d(3, _WIDTHS[0], 5, 2, 2, bias=False),
            nn.BatchNorm2d(_WIDTHS[0]),
            nn.ReLU(),
        )
        blocks = (_Block(*widths) for widths in pairwise(_WIDTHS))
        self.encoder = nn.Sequential(*first, *blocks, nn.Flatten(), nn.Dropout(0.3))
        # The heads see every place of the code: a mean over all places would not tell a cube from a
        # cylinder.
        code_size = _WIDTHS[-1] * (_SIDE // 16) ** 2
        self.heads = nn.ModuleList(nn.Linear(code_size, n) for n in sizes)

    def forward(self, images: Tensor) -> list[Tensor]:
        """The logits of each kind."""
        code = self.encoder(images)
        return [head(code) for head in self.heads]


def crop(image: np.ndarray, box: Sequence[int]) -> np.ndarray:
    """Cut out the square about a box, and scale it to one size.

    So every object is as large in its crop, and the object in the middle is the one to name. What
    lies outside the image repeats its edge.

    Args:
        image: uint8 (height, width, 3).
        box: left, top, right, bottom in pixels, the last two exclusive.

    Returns:
        uint8 (72, 72, 3).
    """
    left, top, right, bottom = box
    side = math.ceil(_MARGIN * max(right - left, bottom - top))
    first_column = (left + right - side) // 2
    first_row = (top + bottom - side) // 2
    rows = np.arange(first_row, first_row + side).clip(0, len(image) - 1)
    columns = np.arange(first_column, first_column + side).clip(0, image.shape[1] - 1)
    cut = image[rows][:, columns]
    return np.asarray(Image.fromarray(cut).resize((_ROOM, _ROOM), Image.Resampling.BICUBIC))


def learn(crops: Crops, sizes: Sequence[int], epochs: int) -> Classifier:
    """Train a classifier on crops, mirrored and shifted at random.

    Args:
        crops: the objects and their names.
        sizes: the number of names of each kind.
        epochs: how often each crop is learnt from.
    """
    # More threads wait for one another for longer than so small a network takes.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = Classifier(sizes).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), _RATE, weight_decay=0.05)
    steps = epochs * -(-len(crops.images) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=steps)
    for epoch in range(epochs):
        losses = []
        for images, truths in _batches(crops, rng):
            logits = model(images)
            losses_of = [
                F.cross_entropy(output, truth, label_smoothing=0.1)
                for output, truth in zip(logits, truths.T, strict=True)
            ]
            loss = torch.stack(losses_of).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        click.echo(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.3f}", err=True)
    return model.eval()


def _batches(crops: Crops, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """The crops of an epoch in random order, each batch shifted, and half of each mirrored."""
    spare = _ROOM - _SIDE
    order = rng.permutation(len(crops.images))
    for start in range(0, len(order), _BATCH):
        rows = order[start : start + _BATCH]
        left, top = rng.integers(spare + 1, size=2)
        images = crops.images[rows, top : top + _SIDE, left : left + _SIDE]
        # A mirrored object has the same names.
        mirrored = rng.random(len(images)) < 0.5
        images[mirrored] = images[mirrored, :, ::-1]
        yield as_input(images), torch.from_numpy(crops.truths[rows])


def as_input(images: np.ndarray) -> Tensor:
    """Bytes (n, side, side, 3) as floats about 0 (n, 3, side, side)."""
    floats = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 127.5 - 1
    return floats.contiguous(memory_format=torch.channels_last)


@torch.inference_mode()
def predict_names(model: Classifier, crops: Crops) -> np.ndarray:
    """The numbers of the names that a model gives each object: (n, kinds)."""
    # The middle of each crop.
    start = (_ROOM - _SIDE) // 2
    images = crops.images[:, start : start + _SIDE, start : start + _SIDE]
    # In parts, so that the activations of all crops are never in memory together.
    logits_of_parts = [model(as_input(images[i : i + 256])) for i in range(0, len(images), 256)]
    names = []
    for logits_of_kind in zip(*logits_of_parts, strict=True):
        names.append(torch.cat(logits_of_kind).argmax(-1).numpy())
    return np.stack(names, axis=1)
