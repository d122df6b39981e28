"""Recipe of Ma et al. 2023: systematicity and productivity of models trained on more and more
images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evaluator.experiments.lab import ROTATION, Experiment, Lab
from evaluator.experiments.models import trained_model
from evaluator.experiments.stages import Option, Options, Stage

_NETWORKS: Mapping[str, Options] = {
    "ResNet": {},
    "ViT": {"architecture": "dual-vit"},
    "ResNet, large": {"size": "small"},
    "ViT, large": {"architecture": "dual-vit", "size": "small"},
}
"""By label, the options that choose the network."""
_PLAIN_AND_GRADED = "plain,graded"


@dataclass(frozen=True)
class Scale:
    """What a scale renders, trains and scores."""

    networks: Sequence[str] = tuple(_NETWORKS)
    """The networks to train, keys of _NETWORKS."""
    sizes: Sequence[int] = (500, 2000, 8000)
    """Numbers of training images."""
    evaluated: str = "train=100,val=10,seen=500,partial=1,unseen=500,unseen_atoms=300"
    """Scenes of the world of each block on which all models are scored."""
    few: str = "val=10,seen=10,partial=1,unseen=10,unseen_atoms=10"
    """Scenes of training worlds besides their training images."""
    rotation: str = "train=4000,val=40,partial=40,unseen=600"
    """Scenes of the rotation: compounds that are unseen in one turn are seen in the others, so that
    SC and UC are of the same images. A rotation has no unseen atoms."""
    turns: Sequence[int] = (0, 1, 2, 3)
    """The turns of the rotation; none to leave it out."""
    objects: str = "3..6"
    """Numbers of objects of a scene."""
    resolution: str = "96x96"
    """Width and height of the images in pixels."""
    quality: str = "draft"
    """The `--quality` of `gen render`."""
    blocks: Sequence[int] = (0, 1, 2)
    """Block seeds."""
    seeds: Sequence[int] = (0, 1)
    """Training seeds of every block and turn."""
    scratch: Options = field(default_factory=lambda: {"texts": _PLAIN_AND_GRADED})
    """Options of `score train scratch`."""


SCALES = {
    "smoke": Scale(
        networks=("ResNet",),
        sizes=(80, 160),
        evaluated="train=60,val=4,seen=12,partial=1,unseen=12,unseen_atoms=9",
        few="val=4,seen=4,partial=1,unseen=4,unseen_atoms=4",
        rotation="train=160,val=8,partial=8,unseen=24",
        turns=(0,),
        objects="3",
        resolution="64x64",
        blocks=(0,),
        seeds=(0,),
        scratch={"texts": _PLAIN_AND_GRADED, "epochs": 1, "batch": 32},
    ),
    "tiny": Scale(
        networks=("ResNet",),
        sizes=(500, 2000),
        scratch={"texts": _PLAIN_AND_GRADED, "epochs": 12},
    ),
    "small": Scale(sizes=(500, 2000, 8000, 32000), resolution="128x128", seeds=(0, 1, 2)),
    "paper": Scale(
        sizes=(500, 2000, 8000, 32000, 128000),
        resolution="320x240",
        quality="standard",
        seeds=(0, 1, 2),
    ),
}
# A first sharp answer: without the paper's blocks, and with one training of each turn.
# Two trainings of each turn tell bindings from trainings, which narrows intervals by a third
# (docs/statistics.md).
SCALES["rotation"] = replace(SCALES["tiny"], blocks=(), seeds=(0, 1))


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: training worlds differ only in size, and all models are scored on one
    world per block; and on the turns of a rotation, which has one world for training and scoring.
    """
    for block in at.blocks:
        evaluated = _world_of_block(lab, at, block, scenes=at.evaluated, seed=0)
        for size in at.sizes:
            scenes = f"train={size},{at.few}"
            training = _world_of_block(lab, at, block, scenes=scenes, seed=1)
            for network in _NETWORKS:
                label = f"{size} images / {network}"
                if network not in at.networks:
                    lab.lacks(label)
                    continue
                for seed in at.seeds:
                    trained = _train(
                        lab, at, world=training, benchmark="crepe2023", network=network, seed=seed
                    )
                    run = lab.score(trained_model(trained), evaluated, benchmark="crepe2023")
                    lab.row(label, run)
    if at.turns:
        _add_rotation(lab, at)


def _add_rotation(lab: Lab, at: Scale) -> None:
    """Declare the rows of the rotation: each network trained on each turn."""
    world = _render(lab, at, holdout="turns=4", scenes=at.rotation, seed=2)
    for turn in at.turns:
        world = _describe(lab, world, name=f"crepe-turn{turn}", benchmark=f"turn{turn}")
    world = lab.stage("gen verify", world)
    for network in at.networks:
        for turn in at.turns:
            benchmark = f"crepe-turn{turn}"
            for seed in at.seeds:
                trained = _train(
                    lab, at, world=world, benchmark=benchmark, network=network, seed=seed
                )
                run = lab.score(trained_model(trained), world, benchmark=benchmark)
                lab.row(f"{ROTATION} / {network}", run)


def _train(lab: Lab, at: Scale, *, world: Stage, benchmark: str, network: str, seed: int) -> Stage:
    """The training of a network from scratch on a benchmark of a world."""
    options = {"benchmark": benchmark, "seed": seed, **_NETWORKS[network], **at.scratch}
    return lab.stage("score train scratch", world, **options)


def _world_of_block(lab: Lab, at: Scale, block: int, *, scenes: str, seed: int) -> Stage:
    """A verified world of one block of compounds, with the paper's texts."""
    rendered = _render(lab, at, design="systematicity", block_seed=block, scenes=scenes, seed=seed)
    return lab.stage("gen verify", _describe(lab, rendered, name="crepe2023"))


def _render(lab: Lab, at: Scale, **plan: Option) -> Stage:
    """A rendered world of these options of `gen plan`."""
    family: Options = {"family": "clevr-many", "objects": at.objects, "no_pairs": True}
    return lab.render({**family, **plan}, resolution=at.resolution, quality=at.quality)


def _describe(lab: Lab, world: Stage, *, name: str, benchmark: str | None = None) -> Stage:
    """The world with the texts of the paper. benchmark: whose holdout they keep; None for the only
    one."""
    return lab.stage(
        "gen describe", world, benchmark=benchmark, preset="crepe2023", known_words=True, name=name
    )


EXPERIMENT = Experiment(
    "Tables 4, 5 and 7 to 13 and figures 4 and 5 of Ma et al. 2023: systematicity and productivity "
    "of small and large models trained from scratch on more and more images. Training worlds "
    "differ only in size, and all models are scored on the same world. Rows of the rotation are "
    "over four turns, in which every compound is unseen once.",
    "crepe2023",
    SCALES,
    make,
)
