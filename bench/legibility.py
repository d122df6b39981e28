"""Whether images show what they hold: a small classifier, trained on half of them, names animal and colour on the other half.

`python -m bench.legibility FOLDER` renders into FOLDER, continues there where it was stopped, and prints a report.
"""

from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import open_clip
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional as F

from evaluator.models.device import best_device, half_precision
from evaluator.training.scratch import SMALL
from generator.farm.local import default_workers, render_scenes
from generator.quality import read_quality
from generator.sampling import Planned
from generator.streams import Stream
from generator.vocabulary import Vocabulary, parse_vocabulary, read_vocabulary, with_assets

_BATCH, _SHIFT, _RATE = 64, 6, 2e-3
_ABOUT = 50  # images between two lines of progress


class Shown(NamedTuple):
    """What images show: uint8 (n, side, side, 3), and of each the number of its animal and of its colour."""

    images: np.ndarray
    things: np.ndarray
    values: np.ndarray


def family(name: str, assets: str | None) -> Vocabulary:
    """A family with its usual paint, its meshes from a set."""
    vocabulary = read_vocabulary(name)
    vocabulary = vocabulary.painted_with(vocabulary.tested)
    return vocabulary if assets is None else parse_vocabulary(with_assets(vocabulary.toml(), assets), name)


def singles(vocabulary: Vocabulary, n: int) -> list[Planned]:
    """`n` scenes of one object: each place, object and value as often with each other as can be, in random order."""
    kind = vocabulary.tested
    every = list(product(vocabulary.environments, vocabulary.objects, vocabulary.values(kind)))
    drawn = Stream("legibility").balanced(every, n)
    usual = {other: vocabulary.values(other)[0] for other in vocabulary.attributes}
    return [
        Planned(f"{i:06d}", "", ((thing, {**usual, kind: value}),), (0,), where)
        for i, (where, thing, value) in enumerate(drawn)
    ]


def render(vocabulary: Vocabulary, scenes: list[Planned], side: int, folder: Path) -> Shown:
    """The images of scenes, those that are not yet in the folder rendered into it. Raises RuntimeError for one that cannot be."""
    setup: dict[str, Any] = {
        "vocabulary": vocabulary.toml(), "seed": 0, "width": side, "height": side, "folder": str(folder), "outputs": [],
        "quality": read_quality("draft").model_dump(), "engine": "cycles", "device": "cpu",
    }  # fmt: skip
    paths = [folder / "images" / f"{scene.scene_id}.png" for scene in scenes]
    missing = [scene for scene, path in zip(scenes, paths, strict=True) if not path.exists()]
    for done, answer in enumerate(render_scenes(missing, setup, default_workers()), start=1):
        if "scene" not in answer:
            raise RuntimeError(answer["failed"])
        if done % _ABOUT == 0:
            click.echo(f"{done} of {len(missing)} rendered", err=True)
    objects, values = list(vocabulary.objects), vocabulary.values(vocabulary.tested)
    return Shown(
        np.stack([np.asarray(Image.open(path).convert("RGB")) for path in paths]),
        np.array([objects.index(scene.objects[0][0]) for scene in scenes]),
        np.array([values.index(scene.objects[0][1][vocabulary.tested]) for scene in scenes]),
    )


class Classifier(nn.Module):
    """The image side of the small model that is trained from scratch, with a head for objects and one for values."""

    def __init__(self, side: int, objects: int, values: int):
        super().__init__()
        vision = {**SMALL["vision_cfg"], "image_size": side}
        self.encoder = open_clip.CLIP(**{**SMALL, "vision_cfg": vision}).visual
        self.heads = nn.ModuleList(nn.Linear(SMALL["embed_dim"], n) for n in (objects, values))

    def forward(self, images: Tensor) -> list[Tensor]:
        """Logits of objects and of values."""
        code = self.encoder(images)
        return [head(code) for head in self.heads]


def learn(shown: Shown, sizes: tuple[int, int], epochs: int) -> Classifier:
    """A classifier trained on these images, mirrored and shifted at random."""
    torch.manual_seed(0)
    rng, device = np.random.default_rng(0), best_device(None)
    model = Classifier(shown.images.shape[1], *sizes).to(device, memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), _RATE, weight_decay=0.05)
    steps = epochs * (len(shown.images) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=steps)
    for epoch in range(epochs):
        order, losses = rng.permutation(len(shown.images)), []
        for start in range(0, len(order) - _BATCH + 1, _BATCH):
            rows = order[start : start + _BATCH]
            images = as_input(shown.images[rows]).to(device)
            images = images.flip(-1) if rng.random() < 0.5 else images
            down, right = (int(by) for by in rng.integers(-_SHIFT, _SHIFT + 1, 2))
            with half_precision(device):
                logits = model(images.roll((down, right), (-2, -1)).contiguous(memory_format=torch.channels_last))
            truths = (torch.from_numpy(each[rows]).to(device) for each in (shown.things, shown.values))
            loss = torch.stack([F.cross_entropy(a.float(), b) for a, b in zip(logits, truths, strict=True)]).sum()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        click.echo(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.3f}", err=True)
    return model


def as_input(images: np.ndarray) -> Tensor:
    """Bytes (n, side, side, 3) as floats about 0 (n, 3, side, side)."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).float() / 127.5 - 1


@torch.no_grad()
def named(model: Classifier, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The object and the value that the model names on each image."""
    device = next(model.parameters()).device
    model.eval()
    parts = [model(as_input(images[i : i + 256]).to(device)) for i in range(0, len(images), 256)]
    things, values = (torch.cat(each).argmax(-1).cpu().numpy() for each in zip(*parts, strict=True))
    return things, values


def report(names: list[str], truth: np.ndarray, said: np.ndarray) -> str:
    """Accuracy, and the confusion matrix: a row for each that is shown, a column for each that is named."""
    table = np.zeros((len(names), len(names)), int)
    np.add.at(table, (truth, said), 1)
    widest = max(map(len, names))
    head = " " * widest + "".join(f"{name[:6]:>7}" for name in names)
    lines = [f"{name:>{widest}}" + "".join(f"{n:7}" for n in row) for name, row in zip(names, table, strict=True)]
    return "\n".join([f"{100 * (truth == said).mean():.1f}% of {len(truth)}", head, *lines])


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--family", "name", default="pug", show_default=True, help="World family.")
@click.option("--assets", help="Asset set of the meshes.  [default: the family's own]")
@click.option("--images", default=3072, show_default=True, help="How many, half of them to learn from.")
@click.option("--side", default=96, show_default=True, help="Pixels a side.")
@click.option("--epochs", default=60, show_default=True, help="How often each image is learnt from.")
def main(folder: Path, name: str, assets: str | None, images: int, side: int, epochs: int) -> None:
    """Render single objects into FOLDER, learn from half of the images, report on the other half."""
    vocabulary = family(name, assets)
    shown = render(vocabulary, singles(vocabulary, images), side, folder)
    objects, values = list(vocabulary.objects), vocabulary.values(vocabulary.tested)
    half = images // 2
    first, second = (Shown(*(each[part] for each in shown)) for part in (slice(half), slice(half, images)))
    things, paints = named(learn(first, (len(objects), len(values)), epochs), second.images)
    click.echo(f"{vocabulary.category}: {report(objects, second.things, things)}\n")
    click.echo(f"{vocabulary.tested}: {report(values, second.values, paints)}")


if __name__ == "__main__":
    main()
