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

_BATCH, _RATE = 32, 4e-3
_WIDTHS = (24, 48, 96, 160)
_SIDE, _ROOM = 64, 72  # pixels of what the network sees, and of a crop, anywhere in which that lies
_MARGIN = 1.5  # of a crop, times the longer side of the object's box


class Shown(NamedTuple):
    """Objects cut out of images, and their true names."""

    crops: np.ndarray
    """uint8 (n, 72, 72, 3)."""
    truths: np.ndarray
    """The number of each object's name of each kind: (n, kinds)."""


class _Block(nn.Module):
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
    """A residual network of half a million weights, with a head for each kind of name, of so many
    names."""

    def __init__(self, sizes: Sequence[int]):
        super().__init__()
        first = (
            nn.Conv2d(3, _WIDTHS[0], 5, 2, 2, bias=False),
            nn.BatchNorm2d(_WIDTHS[0]),
            nn.ReLU(),
        )
        blocks = (_Block(*widths) for widths in pairwise(_WIDTHS))
        self.encoder = nn.Sequential(*first, *blocks, nn.Flatten(), nn.Dropout(0.3))
        # What lies where tells a cube from a cylinder; a mean over all places would not.
        self.heads = nn.ModuleList(nn.Linear(_WIDTHS[-1] * (_SIDE // 16) ** 2, n) for n in sizes)

    def forward(self, images: Tensor) -> list[Tensor]:
        """The logits of each kind."""
        code = self.encoder(images)
        return [head(code) for head in self.heads]


def crop(image: np.ndarray, box: Sequence[int]) -> np.ndarray:
    """The square about a box (left, top, right, bottom, the last two exclusive), in one size: uint8
    (72, 72, 3).

    So every object is as large in its crop, and the object in the middle is the one to name. What
    lies outside the image repeats its edge.
    """
    left, top, right, bottom = box
    wide = math.ceil(_MARGIN * max(right - left, bottom - top))
    low, high = (left + right - wide) // 2, (top + bottom - wide) // 2
    rows, columns = (np.arange(start, start + wide) for start in (high, low))
    cut = image[rows.clip(0, len(image) - 1)][:, columns.clip(0, image.shape[1] - 1)]
    return np.asarray(Image.fromarray(cut).resize((_ROOM, _ROOM), Image.Resampling.BICUBIC))


def learn(shown: Shown, sizes: Sequence[int], epochs: int) -> Classifier:
    """A classifier trained on these crops, mirrored and shifted at random."""
    torch.set_num_threads(
        1
    )  # more threads wait for one another for longer than so small a network takes
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = Classifier(sizes).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), _RATE, weight_decay=0.05)
    steps = epochs * -(-len(shown.crops) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=steps)
    for epoch in range(epochs):
        losses = []
        for images, truths in _batches(shown, rng):
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


def _batches(shown: Shown, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    spare = _ROOM - _SIDE
    order = rng.permutation(len(shown.crops))
    for start in range(0, len(order), _BATCH):
        rows = order[start : start + _BATCH]
        left, top = rng.integers(spare + 1, size=2)
        images = shown.crops[rows, top : top + _SIDE, left : left + _SIDE]
        mirrored = rng.random(len(images)) < 0.5
        images[mirrored] = images[mirrored, :, ::-1]
        yield as_input(images), torch.from_numpy(shown.truths[rows])


def as_input(images: np.ndarray) -> Tensor:
    """Bytes (n, side, side, 3) as floats about 0 (n, 3, side, side)."""
    floats = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 127.5 - 1
    return floats.contiguous(memory_format=torch.channels_last)


@torch.inference_mode()
def named(model: Classifier, shown: Shown) -> np.ndarray:
    """The numbers of the names that the model says of each crop: (n, kinds)."""
    start = (_ROOM - _SIDE) // 2
    images = shown.crops[:, start : start + _SIDE, start : start + _SIDE]
    parts = [model(as_input(images[i : i + 256])) for i in range(0, len(images), 256)]
    return np.stack(
        [torch.cat(outputs).argmax(-1).numpy() for outputs in zip(*parts, strict=True)], axis=1
    )
