"""Recipe of Ma et al. 2023: systematicity and productivity of models trained on more and more
images."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evaluator.experiments.lab import ROTATION, Experiment, Lab
from evaluator.experiments.stages import Stage

_NETWORKS = {
    "ResNet": "",
    "ViT": "--architecture dual-vit",
    "ResNet, large": "--size small",
    "ViT, large": "--architecture dual-vit --size small",
}


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
    resolution: str = "96x96"
    quality: str = "draft"
    blocks: Sequence[int] = (0, 1, 2)
    """Block seeds."""
    seeds: Sequence[int] = (0, 1)
    """Training seeds of every block and turn."""
    scratch: str = "--texts plain,graded"
    """Options of the trainings."""


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
        scratch="--texts plain,graded --epochs 1 --batch 32",
    ),
    "tiny": Scale(
        networks=("ResNet",), sizes=(500, 2000), scratch="--texts plain,graded --epochs 12"
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
SCALES["rotation"] = replace(SCALES["tiny"], blocks=(), seeds=(0,))


def make(lab: Lab, at: Scale) -> None:
    """Declare the experiment: training worlds differ only in size, and all models are scored on one
    world per block; and on the turns of a rotation, which has one world for training and scoring.
    """
    for block in at.blocks:
        evaluated = _world_of_block(lab, at, block, at.evaluated, seed=0)
        for size in at.sizes:
            training = _world_of_block(lab, at, block, f"train={size},{at.few}", seed=1)
            for network, architecture in _NETWORKS.items():
                label = f"{size} images / {network}"
                if network not in at.networks:
                    lab.lacks(label)
                    continue
                for seed in at.seeds:
                    options = f"--benchmark crepe2023 --seed {seed} {architecture} {at.scratch}"
                    trained = lab.stage(f"score train scratch {training} {options}")
                    lab.row(
                        label,
                        f"score run {evaluated} --benchmark crepe2023 --model jackalope:{trained}",
                    )
    if at.turns:
        _add_rotation(lab, at)


def _add_rotation(lab: Lab, at: Scale) -> None:
    """Declare the rows of the rotation: each network trained on each turn."""
    world = _render(lab, at, f"--holdout turns=4 --scenes {at.rotation} --seed 2")
    for turn in at.turns:
        world = lab.stage(
            f"gen describe {world} --benchmark turn{turn} --preset crepe2023 --known-words "
            f"--name crepe-turn{turn}"
        )
    world = lab.stage(f"gen verify {world}")
    for network in at.networks:
        for turn in at.turns:
            benchmark = f"{world} --benchmark crepe-turn{turn}"
            for seed in at.seeds:
                train = f"score train scratch {benchmark} --seed {seed} {_NETWORKS[network]}"
                trained = lab.stage(f"{train} {at.scratch}")
                lab.row(
                    f"{ROTATION} / {network}", f"score run {benchmark} --model jackalope:{trained}"
                )


def _world_of_block(lab: Lab, at: Scale, block: int, scenes: str, seed: int) -> Stage:
    """A verified world of one block of compounds, with the paper's texts."""
    rendered = _render(
        lab,
        at,
        f"--design systematicity --block-seed {block} --scenes {scenes} --seed {seed}",
    )
    described = lab.stage(
        f"gen describe {rendered} --preset crepe2023 --known-words --name crepe2023"
    )
    return lab.stage(f"gen verify {described}")


def _render(lab: Lab, at: Scale, plan: str) -> Stage:
    family = f"--family clevr-many --objects {at.objects} --no-pairs"
    return lab.render(f"{family} {plan}", at.resolution, at.quality)


EXPERIMENT = Experiment(
    "Tables 4, 5 and 7 to 13 and figures 4 and 5 of Ma et al. 2023: systematicity and productivity "
    "of small and large models trained from scratch on more and more images. Training worlds "
    "differ only in size, and all models are scored on the same world. Rows of the rotation are "
    "over four turns, in which every compound is unseen once.",
    "crepe2023",
    SCALES,
    make,
)
