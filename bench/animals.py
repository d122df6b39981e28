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
TURN = np.radians(30)
VIEWS, TEST_VIEWS = 160, 60
EPOCHS = 10
SEEDS = (0, 1)
POINTS = 40_000
# Of a trained mesh, so that the network learns an animal, and not the one mesh of it: relative
# stretch along each axis, and the height of waves that bend it.
STRETCH, WAVE = 0.15, 0.05


class Cloud:
    """Points spread evenly over a mesh, with their normals."""

    def __init__(self, mesh: UnitMesh, rng: np.random.Generator) -> None:
        solid = Trimesh(mesh.vertices, mesh.faces, process=False)
        chosen = rng.choice(len(solid.faces), POINTS, p=solid.area_faces / solid.area)
        weights = rng.dirichlet((1, 1, 1), POINTS)[..., None]
        self.points = (solid.triangles[chosen] * weights).sum(axis=1)
        self.normals = (solid.vertex_normals[solid.faces[chosen]] * weights).sum(axis=1)


def picture(cloud: Cloud, rng: np.random.Generator, bend: bool) -> np.ndarray:
    """One view (3, SIZE, SIZE) in [0, 1]: from the side, turned by at most `TURN`, to the left or
    to the right."""
    points, normals = cloud.points, cloud.normals
    if bend:
        points = points * (1 + rng.uniform(-STRETCH, STRETCH, 3))
        for axis, along in ((1, 0), (2, 0), (0, 2)):
            wave = rng.uniform(0, WAVE) * np.sin(
                rng.uniform(1, 4) * points[:, along] + rng.uniform(0, 2 * np.pi)
            )
            points = points + wave[:, None] * np.eye(3)[axis]
    turn = rng.uniform(-TURN, TURN) + np.pi * rng.integers(2)
    turned, facing = (_turned(array, turn, rng.uniform(0.05, 0.3)) for array in (points, normals))
    light = np.array([rng.uniform(-0.7, 0.7), -0.6, 0.8])
    shade = 0.3 + 0.7 * np.clip(facing @ light / np.linalg.norm(light), 0, 1)
    flat = turned[:, [0, 2]]
    low, high = flat.min(0), flat.max(0)
    scale = SIZE * rng.uniform(0.75, 0.95) / (high - low).max()
    places = (
        ((flat - (low + high) / 2) * scale + SIZE / 2 + rng.uniform(-2, 2, 2))
        .astype(int)
        .clip(0, SIZE - 1)
    )
    canvas = np.ones((SIZE, SIZE, 3)) * rng.uniform(0.2, 1, 3)
    behind_first = np.argsort(-turned[:, 1])
    colour = rng.uniform(0.1, 1, 3)
    canvas[SIZE - 1 - places[behind_first, 1], places[behind_first, 0]] = (
        shade[behind_first, None] * colour
    )
    return canvas.transpose(2, 0, 1).astype(np.float32)


def _turned(array: np.ndarray, turn: float, tilt: float) -> np.ndarray:
    """Turned about the vertical, and then tilted as seen from a little above; the camera looks
    along y."""
    x, y = (
        array[:, 0] * np.cos(turn) - array[:, 1] * np.sin(turn),
        array[:, 0] * np.sin(turn) + array[:, 1] * np.cos(turn),
    )
    z = array[:, 2]
    return np.stack(
        [x, y * np.cos(tilt) - z * np.sin(tilt), z * np.cos(tilt) + y * np.sin(tilt)], axis=1
    )


def pictures(
    assets: str, names: list[str], views: int, rng: np.random.Generator, bend: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    clouds = [Cloud(asset_mesh(assets, name), rng) for name in names]
    images = np.stack([picture(cloud, rng, bend) for cloud in clouds for _ in range(views)])
    return torch.from_numpy(images), torch.arange(len(names)).repeat_interleave(views)


def network(classes: int) -> nn.Module:
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
    names = [name for name in asset_names("builtin") if name in asset_names("0ad")]
    model = trained(*pictures("0ad", names, VIEWS, rng, True), len(names), seed)
    return names, *(
        _matrix(model, *pictures(assets, names, TEST_VIEWS, rng, False), len(names))
        for assets in ("0ad", "builtin")
    )


def _matrix(
    model: nn.Module, images: torch.Tensor, labels: torch.Tensor, classes: int
) -> np.ndarray:
    with torch.inference_mode():
        named = torch.cat([model(part).argmax(1) for part in images.split(256)])
    matrix = np.zeros((classes, classes), int)
    np.add.at(matrix, (labels.numpy(), named.numpy()), 1)
    return matrix


def figures() -> list[Figure]:
    """Shares of views that are named right, in percent, over `SEEDS`."""
    results = [confusion(seed) for seed in SEEDS]
    return [
        Figure(what, "%", tuple(100 * np.trace(result[i]) / result[i].sum() for result in results))
        for i, what in (
            (1, "animals of 0 A.D., other views"),
            (2, "built-in animals, by a network that knows 0 A.D.'s"),
        )
    ]


def main() -> None:
    total: np.ndarray | int = 0
    for seed in SEEDS:
        names, own, ours = confusion(seed)
        total = total + ours
        print(
            f"seed {seed}: 0ad {np.trace(own) / own.sum():.1%}, builtin "
            f"{np.trace(ours) / ours.sum():.1%}",
            flush=True,
        )
        for name, row in zip(names, total, strict=True):
            taken = ", ".join(
                f"{names[i]} {row[i]}" for i in np.argsort(-row) if row[i] and names[i] != name
            )
            print(f"{name:15} {row[names.index(name)] / row.sum():6.1%}  {taken}", flush=True)


if __name__ == "__main__":
    main()
