"""A small network that learns to name an object and its value on images, and how well it does on others."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import click
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

_BATCH, _RATE = 64, 4e-3
_WIDTHS = (24, 48, 96, 160)
_ZOOMS = (0.8125, 1.1875)  # so that size tells nothing: sides of a batch's images, relative to what they are


class Shown(NamedTuple):
    """What images show: uint8 (n, side, side, 3); boxes (n, 4), in pixels: left, top, right, bottom, the last two
    outside; and of each image the number of its object and of its value."""

    images: np.ndarray
    boxes: np.ndarray
    things: np.ndarray
    values: np.ndarray


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
    """A residual network of half a million weights, with a head for objects and one for values."""

    def __init__(self, sizes: tuple[int, int]):
        super().__init__()
        first = (nn.Conv2d(3, _WIDTHS[0], 5, 2, 2, bias=False), nn.BatchNorm2d(_WIDTHS[0]), nn.ReLU())
        blocks = (_Block(*widths) for widths in pairwise(_WIDTHS))
        self.encoder = nn.Sequential(*first, *blocks)
        self.attention = nn.Conv2d(_WIDTHS[-1], 1, 1)
        self.heads = nn.ModuleList(nn.Linear(_WIDTHS[-1], n) for n in sizes)

    def forward(self, images: Tensor) -> list[Tensor]:
        """Logits of objects and of values."""
        grid = self.encoder(images)
        weights = self.attention(grid).flatten(2).softmax(-1)
        code = F.dropout((grid.flatten(2) * weights).sum(-1), 0.2, self.training)
        return [head(code) for head in self.heads]


def windows(shown: Shown, rng: np.random.Generator) -> np.ndarray:
    """Of each image a window half as wide and high, anywhere about the object: uint8 (n, side / 2, side / 2, 3)."""
    side = shown.images.shape[1]
    wide = side // 2
    low = (shown.boxes[:, 2:] - wide).clip(0, side - wide)
    high = shown.boxes[:, :2].clip(low, side - wide)
    starts = rng.integers(low, high + 1)
    return np.stack(
        [image[top : top + wide, left : left + wide] for image, (left, top) in zip(shown.images, starts, strict=True)]
    )


def learn(shown: Shown, sizes: tuple[int, int], epochs: int) -> Classifier:
    """A classifier trained on windows of these images, mirrored, shifted and zoomed at random."""
    torch.set_num_threads(1)  # more threads wait for one another for longer than so small a network takes
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model = Classifier(sizes).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), _RATE, weight_decay=0.05)
    steps = epochs * -(-len(shown.images) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=steps)
    for epoch in range(epochs):
        losses = []
        for images, *truths in _batches(shown, rng):
            logits = model(images)
            loss = torch.stack(
                [F.cross_entropy(said, truth, label_smoothing=0.1) for said, truth in zip(logits, truths, strict=True)]
            ).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        click.echo(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.3f}", err=True)
    return model.eval()


def _batches(shown: Shown, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    images = windows(shown, rng)
    wide = images.shape[1]
    mirrored = rng.random(len(images)) < 0.5
    images[mirrored] = images[mirrored, :, ::-1]
    order = rng.permutation(len(images))
    for start in range(0, len(order), _BATCH):
        rows = order[start : start + _BATCH]
        side = int(wide * rng.uniform(*_ZOOMS))
        zoomed = F.interpolate(as_input(images[rows]), (side, side), mode="bilinear", align_corners=False)
        yield (
            zoomed.contiguous(memory_format=torch.channels_last),
            torch.from_numpy(shown.things[rows]),
            torch.from_numpy(shown.values[rows]),
        )


def as_input(images: np.ndarray) -> Tensor:
    """Bytes (n, side, side, 3) as floats about 0 (n, 3, side, side)."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).float() / 127.5 - 1


@torch.inference_mode()
def named(model: Classifier, shown: Shown) -> tuple[np.ndarray, np.ndarray]:
    """The object and the value that the model names on a window of each image."""
    images = windows(shown, np.random.default_rng(1))
    parts = [model(as_input(images[i : i + 256])) for i in range(0, len(images), 256)]
    things, values = (torch.cat(each).argmax(-1).numpy() for each in zip(*parts, strict=True))
    return things, values


def report(names: list[str], truth: np.ndarray, said: np.ndarray) -> str:
    """Accuracy, and the confusion matrix: a row for each that is shown, a column for each that is named."""
    table = np.zeros((len(names), len(names)), int)
    np.add.at(table, (truth, said), 1)
    widest = max(map(len, names))
    head = " " * widest + "".join(f"{name[:6]:>7}" for name in names)
    lines = [f"{name:>{widest}}" + "".join(f"{n:7}" for n in row) for name, row in zip(names, table, strict=True)]
    return "\n".join([f"{100 * (truth == said).mean():.1f}% of {len(truth)}", head, *lines])
