"""How much forms of the suite differ in difficulty: small forms, three learners that train in
seconds, and the spread between forms with its bounds (docs/suite.md).

The world is color-shape of the track bind, with fewer and smaller images. For each turn of each
form a learner is trained on the train split, and then says of each scene of `unseen` which of two
captions is true: the scene's own, or the one with exchanged colors. It fails if the lower 99% bound
of the forms' spread exceeds 3 points.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

from bench.figures import Figure
from bench.variance import LEVEL, form_spread
from generator.dataset.reader import World
from generator.holdout.holdout import Holdout
from generator.holdout.request import design_of
from generator.plan.prepare import Prepared, plan_world, prepare
from generator.render.farm import Farm, default_workers
from generator.render.run import Rendering, render_work, work_of
from generator.suite.definition import SuiteWorld, read_suite
from generator.suite.forms import STANDARD, fresh_form, seeds_of
from generator.suite.making import world_options

SUITE, TRACK, WORLD = "jackalope-1", "bind", "color-shape"
"""The world whose forms are compared."""
FORMS = 6
"""Number of forms; `JACKALOPE_FORMS` sets another."""
SCENES = "train=432,val=4,partial=8,unseen=192"
"""With these numbers all combinations are equally frequent in training and in unseen."""
SIDE = 48
"""Pixels of a side of an image."""
MOST_POINTS = 3.0
"""The lower bound of the spread that is an error, points."""
_CELLS = 12
"""Cells of a side of the reduced image that ridge and neighbour see."""
# The numbers of the learners were chosen on images of the part tiny, not on these forms.
_PENALTY = 10.0
"""Penalty of the ridge regression."""
_EPOCHS = 2
"""How often the network learns from each image."""
_BATCH = 4
"""Images of a step of its training."""
_RATE = 3e-3
"""Its learning rate."""

Images = np.ndarray
"""(n, SIDE, SIDE, 3) float32 in 0..1."""
Facts = np.ndarray
"""(n, names) 0 or 1: value and object of the left object, then of the right one, one-hot."""
Learner = Callable[[Images, Facts, Images], np.ndarray]
"""Trains on images with facts; returns predicted facts (n, names) of other images."""


def figures() -> list[Figure]:
    """The accuracy of each learner on each form, and the spread between forms.

    Raises:
        click.ClickException: Forms surely differ by more than MOST_POINTS.
    """
    n_forms = int(os.environ.get("JACKALOPE_FORMS", FORMS))
    forms = [STANDARD, *(fresh_form(seed) for seed in range(1, n_forms))]
    scores = np.zeros((len(LEARNERS), len(forms)))
    for number, form in enumerate(forms):
        scores[:, number] = _scores_of_form(form)
        click.echo(f"{form}: {_listed(scores[:, number])}", err=True)
    spread = form_spread(scores)
    rows = []
    for name, of_learner in zip(LEARNERS, scores, strict=True):
        rows.append(Figure(f"unseen, {name}", "% right", tuple(of_learner)))
    bound = f"{LEVEL:.0%} bound"
    rows += [
        Figure("spread between learners", "points", (spread.learners,)),
        Figure("spread between forms", "points", (spread.forms,)),
        Figure(f"spread between forms, lower {bound}", "points", (spread.low,)),
        Figure(f"spread between forms, upper {bound}", "points", (spread.high,)),
        Figure("spread of learner x form", "points", (spread.rest,)),
    ]
    # The lower bound: only forms that surely differ are an error.
    if spread.low > MOST_POINTS:
        raise click.ClickException(
            f"Forms differ by a standard deviation of {spread.low:.1f} points or more, expected "
            f"{MOST_POINTS:.0f} at most: {_listed(scores.mean(axis=0))}."
        )
    return rows


def _listed(numbers: np.ndarray) -> str:
    return ", ".join(f"{number:.1f}" for number in numbers)


def _scores_of_form(form: str) -> list[float]:
    """The accuracy of each learner on a form, in percent."""
    suite = read_suite(SUITE)
    declared = suite.tracks[TRACK].worlds[WORLD]
    small: SuiteWorld = declared.model_copy(
        update={"scenes": SCENES, "resolution": f"{SIDE}x{SIDE}", "quality": "draft"}
    )
    seeds = seeds_of(suite, TRACK, world=WORLD, form=form)
    prepared = prepare(world_options(small, seeds.scenes, seeds.block))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        plan = plan_world(prepared, root)
        work = work_of(plan, Rendering("draft").request)
        world = render_work(work, root, root=root, farm=Farm(default_workers()))
        return score_world(world, prepared)


def score_world(world: World, prepared: Prepared) -> list[float]:
    """Train and score all learners on a world with turns.

    Args:
        world: The rendered world.
        prepared: Its options, with the holdout of each turn.

    Returns:
        The share of right choices of each learner over all turns, in percent.
    """
    rows = [row for row in world.scenes.to_pylist() if row["status"] == "ok"]
    images = np.array([np.asarray(world.image(row["scene_id"])) for row in rows], np.float32) / 255
    arrangements = [_arrangement(row, prepared.holdout.kind) for row in rows]
    facts = np.array([_facts(arrangement, prepared.holdout) for arrangement in arrangements])
    right: list[list[bool]] = [[] for _ in LEARNERS]
    for holdout in prepared.holdouts:
        rule = design_of(holdout).rule(prepared.vocabulary, holdout)
        splits = []
        for arrangement, row in zip(arrangements, rows, strict=True):
            splits.append(rule.place(arrangement, (), row["scene_id"]).split)
        train = np.array(splits) == "train"
        unseen = np.array(splits) == "unseen"
        for outcomes, learner in zip(right, LEARNERS.values(), strict=True):
            predicted = learner(images[train], facts[train], images[unseen])
            chosen = [arrangements[i] for i in unseen.nonzero()[0]]
            for prediction, arrangement in zip(predicted, chosen, strict=True):
                outcomes.append(_is_right(prediction, arrangement, holdout))
    return [100 * float(np.mean(outcomes)) for outcomes in right]


def _arrangement(row: dict, kind: str) -> tuple[tuple[str, str], ...]:
    """Value and category of the objects of a scene, from left to right."""
    # By the middle of their boxes, which is what a learner sees.
    objects = sorted(row["objects"], key=lambda object_: sum(object_["amodal_box"][::2]))
    return tuple((dict(object_["attributes"])[kind], object_["category"]) for object_ in objects)


def _facts(arrangement: tuple[tuple[str, str], ...], holdout: Holdout) -> list[float]:
    """The one-hot facts of a scene of two objects."""
    facts: list[float] = []
    for value, category in arrangement:
        facts += [float(name == value) for name in holdout.values]
        facts += [float(name == category) for name in holdout.objects]
    return facts


def _is_right(
    prediction: np.ndarray, arrangement: tuple[tuple[str, str], ...], holdout: Holdout
) -> bool:
    """Whether the true caption gets a better score than the one with exchanged values.

    A caption does not say which object is on the left, so its score is that of the better order.
    """
    (value, category), (other_value, other_category) = arrangement
    true = (value, category), (other_value, other_category)
    false = (other_value, category), (value, other_category)
    scores = []
    for caption in (true, false):
        orders = (caption, caption[::-1])
        scores.append(max(float(prediction @ _facts(order, holdout)) for order in orders))
    return scores[0] > scores[1]


def _reduced(images: Images) -> np.ndarray:
    """Images as vectors of _CELLS x _CELLS mean colors."""
    n = len(images)
    size = SIDE // _CELLS
    cells = images.reshape(n, _CELLS, size, _CELLS, size, 3).mean(axis=(2, 4))
    return cells.reshape(n, -1)


def ridge(images: Images, facts: Facts, others: Images) -> np.ndarray:
    """Ridge regression from reduced images to facts; as Learner."""
    features = _reduced(images)
    center = features.mean(axis=0)
    mean = facts.mean(axis=0)
    features = features - center
    other_features = _reduced(others) - center
    kernel = features @ features.T + _PENALTY * np.eye(len(features))
    predicted: np.ndarray = other_features @ features.T @ np.linalg.solve(kernel, facts - mean)
    return predicted + mean


def nearest_neighbour(images: Images, facts: Facts, others: Images) -> np.ndarray:
    """The facts of the nearest training images, weighted by their distance; as Learner.

    The mean over the ten nearest: with one neighbour alone, most captions of unseen combinations
    would tie.
    """
    features, other_features = _reduced(images), _reduced(others)
    squares = np.square(other_features[:, None] - features[None]).sum(axis=2)
    nearest = np.argsort(squares, axis=1)[:, :10]
    # The least distance keeps an equal image from dividing by zero.
    weights = 1 / (np.take_along_axis(squares, nearest, axis=1) + 1e-6)
    predicted: np.ndarray = (facts[nearest] * weights[:, :, None]).sum(axis=1)
    return predicted / weights.sum(axis=1, keepdims=True)


def network(images: Images, facts: Facts, others: Images) -> np.ndarray:
    """A small convolutional network, trained for two epochs; as Learner."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    # Sums over several threads differ in their last digits, and so would scores.
    torch.set_num_threads(1)
    model = nn.Sequential(
        nn.Conv2d(3, 24, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(24, 48, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(6),
        nn.Flatten(),
        nn.Linear(48 * 36, facts.shape[1]),
    )
    optimizer = torch.optim.Adam(model.parameters(), _RATE)
    pictures = torch.from_numpy(images).permute(0, 3, 1, 2) - 0.5
    targets = torch.from_numpy(facts).float()
    for _ in range(_EPOCHS):
        for batch in torch.randperm(len(pictures)).split(_BATCH):
            loss = nn.functional.binary_cross_entropy_with_logits(
                model(pictures[batch]), targets[batch]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        predicted: np.ndarray = model(torch.from_numpy(others).permute(0, 3, 1, 2) - 0.5).numpy()
    return predicted


LEARNERS: dict[str, Learner] = {
    "pixel ridge": ridge,
    "nearest neighbour": nearest_neighbour,
    "network, two epochs": network,
}
"""The learners by name."""
