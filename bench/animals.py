"""Whether a model that learned animals elsewhere recognises the built-in ones.

A small convolutional network learns only from pictures of the asset set `0ad`, each in one flat
colour and from the side, and then names the built-in animals. It has seen nothing that our builder
made. `python -m bench.animals` prints its answers. Needs `gen assets install 0ad`.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import nn
from trimesh import Trimesh

from bench.figures import Figure
from generator.assets.sets import asset_mesh, asset_names
from generator.assets.shapes import UnitMesh

SIZE = 64
"""Side of a picture, pixels."""
TURN = np.radians(30)
"""How far an animal is turned from its side view, at most."""
VIEWS = 160
"""Pictures of each animal to learn from."""
TEST_VIEWS = 60
"""Pictures of each animal to name."""
EPOCHS = 10
"""How often each picture is learnt from."""
SEEDS = (0, 1)
"""Seeds of independent trainings."""
POINTS = 40_000
"""Points drawn of a mesh: several on each pixel that it covers."""
STRETCH = 0.15
"""Largest relative stretch of a trained mesh along each axis. So the network learns an animal, and
not the one mesh of it."""
WAVE = 0.05
"""Largest height of the waves that bend a trained mesh, for the same reason."""


class Cloud:
    """Points spread evenly over a mesh, with their normals."""

    def __init__(self, mesh: UnitMesh, rng: np.random.Generator) -> None:
        solid = Trimesh(mesh.vertices, mesh.faces, process=False)
        # Triangles in proportion to their area, and in each uniform barycentric coordinates.
        chosen = rng.choice(len(solid.faces), POINTS, p=solid.area_faces / solid.area)
        weights = rng.dirichlet((1, 1, 1), POINTS)[..., None]
        self.points = (solid.triangles[chosen] * weights).sum(axis=1)
        """(POINTS, 3)."""
        self.normals = (solid.vertex_normals[solid.faces[chosen]] * weights).sum(axis=1)
        """(POINTS, 3), of about unit length."""


def picture(cloud: Cloud, rng: np.random.Generator, bend: bool) -> np.ndarray:
    """Draw one view: from the side, turned by at most `TURN`, to the left or to the right.

    Args:
        cloud: the animal.
        rng: decides the view, the light and the colours.
        bend: whether the animal is stretched and bent.

    Returns:
        float32 (3, SIZE, SIZE) in 0..1.
    """
    points = _bent(cloud.points, rng) if bend else cloud.points
    turn = rng.uniform(-TURN, TURN) + np.pi * rng.integers(2)
    turned, facing = (
        _turned(array, turn, rng.uniform(0.05, 0.3)) for array in (points, cloud.normals)
    )

    # Lambert's law, with some light from everywhere.
    light = np.array([rng.uniform(-0.7, 0.7), -0.6, 0.8])
    shade = 0.3 + 0.7 * np.clip(facing @ light / np.linalg.norm(light), 0, 1)

    # The pixel of each point: the outline fills most of the picture, about its middle.
    flat = turned[:, [0, 2]]
    low, high = flat.min(0), flat.max(0)
    scale = SIZE * rng.uniform(0.75, 0.95) / (high - low).max()
    places = (flat - (low + high) / 2) * scale + SIZE / 2 + rng.uniform(-2, 2, 2)
    pixels = places.astype(int).clip(0, SIZE - 1)

    # Points behind are painted first, so that those in front cover them.
    canvas = np.ones((SIZE, SIZE, 3)) * rng.uniform(0.2, 1, 3)
    behind_first = np.argsort(-turned[:, 1])
    colour = rng.uniform(0.1, 1, 3)
    columns, rows_from_below = pixels[behind_first].T
    canvas[SIZE - 1 - rows_from_below, columns] = shade[behind_first, None] * colour
    return canvas.transpose(2, 0, 1).astype(np.float32)


def _bent(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points (n, 3) stretched along each axis, and bent by a wave along each axis."""
    points = points * (1 + rng.uniform(-STRETCH, STRETCH, 3))
    for axis, along in ((1, 0), (2, 0), (0, 2)):
        height = rng.uniform(0, WAVE)
        frequency = rng.uniform(1, 4)
        phase = rng.uniform(0, 2 * np.pi)
        wave = height * np.sin(frequency * points[:, along] + phase)
        points = points + wave[:, None] * np.eye(3)[axis]
    return points


def _turned(array: np.ndarray, turn: float, tilt: float) -> np.ndarray:
    """Turned about the vertical, and then tilted as seen from a little above; the camera looks
    along y."""
    x = array[:, 0] * np.cos(turn) - array[:, 1] * np.sin(turn)
    y = array[:, 0] * np.sin(turn) + array[:, 1] * np.cos(turn)
    z = array[:, 2]
    tilted_y = y * np.cos(tilt) - z * np.sin(tilt)
    tilted_z = z * np.cos(tilt) + y * np.sin(tilt)
    return np.stack([x, tilted_y, tilted_z], axis=1)


def pictures(
    assets: str, names: list[str], views: int, rng: np.random.Generator, bend: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw views of animals.

    Args:
        assets: an asset set.
        names: its animals.
        views: pictures of each.
        rng: the random numbers.
        bend: whether animals are stretched and bent.

    Returns:
        The pictures (n, 3, SIZE, SIZE), and the number of each one's name (n,).
    """
    clouds = [Cloud(asset_mesh(assets, name), rng) for name in names]
    images = np.stack([picture(cloud, rng, bend) for cloud in clouds for _ in range(views)])
    return torch.from_numpy(images), torch.arange(len(names)).repeat_interleave(views)


def network(classes: int) -> nn.Module:
    """A small convolutional network, untrained."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, 24, 5, stride=2, padding=2),
        nn.BatchNorm2d(24),
        nn.ReLU(),
        nn.MaxPool2d(2),
    ]
    for before, after in ((24, 48), (48, 96)):
        layers += [
            nn.Conv2d(before, after, 3, padding=1),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
    return nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.3), nn.Linear(96 * 16, classes))


def trained(images: torch.Tensor, labels: torch.Tensor, classes: int, seed: int) -> nn.Module:
    """Train a network on pictures (n, 3, SIZE, SIZE) with labels (n,)."""
    torch.manual_seed(seed)
    # So small a network is faster, and the same everywhere, on one thread.
    torch.set_num_threads(1)
    model = network(classes)
    steps = EPOCHS * -(-len(images) // 64)
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=steps)
    for batch in _batches(len(images)):
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch], label_smoothing=0.1)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return model.eval()


def _batches(count: int) -> Iterator[torch.Tensor]:
    for _ in range(EPOCHS):
        yield from torch.randperm(count).split(64)


def confusion(seed: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of the animals, and two matrices (true, named) of views: of other pictures of `0ad`,
    and of `builtin`."""
    rng = np.random.default_rng(seed)
    # Only animals that both sets have can be named.
    names = [name for name in asset_names("builtin") if name in asset_names("0ad")]
    # Bent for training alone: the test is on the animals as they are.
    images, labels = pictures("0ad", names, VIEWS, rng, True)
    model = trained(images, labels, len(names), seed)
    own, ours = (
        _matrix(model, *pictures(assets, names, TEST_VIEWS, rng, False), len(names))
        for assets in ("0ad", "builtin")
    )
    return names, own, ours


def _matrix(
    model: nn.Module, images: torch.Tensor, labels: torch.Tensor, classes: int
) -> np.ndarray:
    """How often each animal (row) gets each name (column)."""
    with torch.inference_mode():
        predicted = torch.cat([model(part).argmax(1) for part in images.split(256)])
    matrix = np.zeros((classes, classes), int)
    np.add.at(matrix, (labels.numpy(), predicted.numpy()), 1)
    return matrix


def figures() -> list[Figure]:
    """Shares of views that are named right, in percent, over `SEEDS`."""
    own_shares = []
    our_shares = []
    for seed in SEEDS:
        _, own, ours = confusion(seed)
        own_shares.append(100 * _share_right(own))
        our_shares.append(100 * _share_right(ours))
    return [
        Figure("animals of 0 A.D., other views", "%", tuple(own_shares)),
        Figure("built-in animals, by a network that knows 0 A.D.'s", "%", tuple(our_shares)),
    ]


def _share_right(matrix: np.ndarray) -> float:
    """The share of views that get their own name, 0..1."""
    return float(np.trace(matrix) / matrix.sum())


def main() -> None:
    """Print the shares, and what each built-in animal is taken for."""
    total: np.ndarray | int = 0
    for seed in SEEDS:
        names, own, ours = confusion(seed)
        total = total + ours
        print(
            f"seed {seed}: 0ad {_share_right(own):.1%}, builtin {_share_right(ours):.1%}",
            flush=True,
        )
        for name, row in zip(names, total, strict=True):
            others = []
            for i in np.argsort(-row):
                if row[i] and names[i] != name:
                    others.append(f"{names[i]} {row[i]}")
            share = row[names.index(name)] / row.sum()
            print(f"{name:15} {share:6.1%}  {', '.join(others)}", flush=True)


if __name__ == "__main__":
    main()
